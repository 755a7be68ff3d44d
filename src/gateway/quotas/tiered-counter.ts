// Counts in this process first, then in the counter that all processes share, if there is one. At the limit here means at
// the limit everywhere. While the shared counter is unavailable each process uses its own count: one process alone never
// exceeds a limit, n of them exceed it at most n times, and what a process took meanwhile still counts for it afterwards.
import type { Clock, Emitter } from '../../core/index.ts';
import { CoreError, kindOf, withTimeout } from '../../core/index.ts';
import type { GatewayEvents } from '../events.ts';
import type { QuotaCounter, QuotaWindow } from './quota-counter.ts';
import { MemoryQuotaCounter } from './quota-counter.ts';

export interface TieredCounterDeps {
  readonly clock: Clock;
  readonly events: Emitter<GatewayEvents>;
  /** Shared with other processes. Default: none. */
  readonly shared?: QuotaCounter | undefined;
}

/** Counted, or not: then it may be after `waitMs`. */
export type CountDecision =
  | { readonly waitMs: number }
  | {
      readonly waitMs: 0;
      /** Adds to what was counted; negative amounts refund. */
      readonly correct: (amounts: readonly number[]) => void;
    };

/** A shared counter that takes longer is ignored, and not called again for a while. */
const sharedTimeoutMs = 250;
const sharedPauseMs = 5_000;
/** Counts of other processes that may still be corrected; requests without an actual cost never are. */
const maxCorrections = 20_000;

export class TieredCounter {
  readonly local: MemoryQuotaCounter;
  readonly #deps: TieredCounterDeps;
  /** Monotonic. */
  #sharedPausedUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: TieredCounterDeps) {
    this.#deps = deps;
    this.local = new MemoryQuotaCounter(deps.clock);
  }

  /** Never waits for the limit. At once where no counter is shared. */
  count(
    name: string,
    windows: readonly QuotaWindow[],
    costs: readonly number[],
  ): CountDecision | Promise<CountDecision> {
    const { waitMs, stamp } = this.local.count(name, windows, costs);
    if (waitMs > 0) return { waitMs };
    const correctLocal = (amounts: readonly number[]) => this.local.correct(name, windows, amounts, stamp);
    if (!this.#deps.shared) return { waitMs: 0, correct: correctLocal };
    return this.#countShared(name, windows, costs, correctLocal);
  }

  /** Milliseconds until these costs may be counted; 0: now. Counts nothing. */
  async wait(name: string, windows: readonly QuotaWindow[], costs: readonly number[]): Promise<number> {
    const localMs = this.local.wait(name, windows, costs);
    const sharedMs = await this.#callShared((shared) => shared.wait(name, windows, costs));
    return Math.max(localMs, sharedMs ?? 0);
  }

  /** For processes that count through this one: a decision here is one for all. */
  asShared(): QuotaCounter {
    const corrections = new Map<number, (amounts: readonly number[]) => void>();
    let last = 0;
    return {
      count: async (name, windows, costs) => {
        const decision = await this.count(name, windows, costs);
        const stamp = ++last;
        if (!('correct' in decision)) return { waitMs: decision.waitMs, stamp };
        corrections.set(stamp, decision.correct);
        const [oldest = stamp] = corrections.keys();
        if (corrections.size > maxCorrections) corrections.delete(oldest);
        return { waitMs: 0, stamp };
      },
      wait: (name, windows, costs) => this.wait(name, windows, costs),
      correct: (_name, _windows, amounts, stamp) => {
        corrections.get(stamp)?.(amounts);
        corrections.delete(stamp);
      },
    };
  }

  async #countShared(
    name: string,
    windows: readonly QuotaWindow[],
    costs: readonly number[],
    correctLocal: (amounts: readonly number[]) => void,
  ): Promise<CountDecision> {
    const counted = await this.#callShared((shared) => shared.count(name, windows, costs));
    if (!counted) return { waitMs: 0, correct: correctLocal };
    if (counted.waitMs > 0) {
      correctLocal(costs.map((cost) => -cost));
      return { waitMs: counted.waitMs };
    }
    const { shared } = this.#deps;
    return {
      waitMs: 0,
      correct: (amounts) => {
        correctLocal(amounts);
        // If it fails, what was counted stays.
        Promise.try(() => shared?.correct(name, windows, amounts, counted.stamp)).catch(() => undefined);
      },
    };
  }

  /** Undefined when the shared counter is absent or unavailable. */
  async #callShared<T extends object | number>(
    call: (shared: QuotaCounter) => T | Promise<T>,
  ): Promise<T | undefined> {
    const { clock, events, shared } = this.#deps;
    if (!shared || clock.monotonic() < this.#sharedPausedUntil) return undefined;
    try {
      return await withTimeout(() => call(shared), {
        clock,
        timeoutMs: shared.timeoutMs ?? sharedTimeoutMs,
        onTimeout: () =>
          new CoreError('DEADLINE_EXCEEDED', 'The shared quota counter did not respond in time.'),
      });
    } catch (error) {
      this.#sharedPausedUntil = clock.monotonic() + sharedPauseMs;
      events.emit('gateway:store-failed', { what: 'shared quotas', cause: kindOf(error), waiting: 0 });
      return undefined;
    }
  }
}
