// Rate limits as a server enforces them: on arrival, in sliding windows, over what it let in.
import type { SimulatorBehaviour } from './ports.ts';
import { SlidingWindow } from '../sliding-window.ts';

export class RateGate {
  readonly #second = new SlidingWindow(1_000);
  readonly #minute = new SlidingWindow(60_000);

  /** 0 when the call may come in, which then counts; else the milliseconds after which one may. */
  enter({ perSecond, perMinute }: SimulatorBehaviour['rateLimits'], now: number): number {
    const free = Math.max(
      perSecond === undefined ? now : this.#second.below(perSecond, now),
      perMinute === undefined ? now : this.#minute.below(perMinute, now),
    );
    if (free > now) return free - now;
    this.#second.add(now);
    this.#minute.add(now);
    // Without limits nobody asks, and nothing would ever be dropped.
    this.#second.count(now);
    this.#minute.count(now);
    return 0;
  }
}
