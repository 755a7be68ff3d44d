// Tells once when the job store goes away and once when it is back, however many polls fail in between.
import type { Clock, Emitter } from '../../../core/index.ts';
import { kindOf } from '../../../core/index.ts';
import type { JobEventSpecs } from '../job-events.ts';

export class StoreWatch {
  readonly #clock: Clock;
  readonly #events: Emitter<JobEventSpecs>;
  #awaySince: number | undefined;

  constructor(clock: Clock, events: Emitter<JobEventSpecs>) {
    this.#clock = clock;
    this.#events = events;
  }

  get isAway(): boolean {
    return this.#awaySince !== undefined;
  }

  failed(operation: string, error: unknown): void {
    if (this.isAway) return;
    this.#awaySince = this.#clock.monotonic();
    this.#events.emit('job:store-unavailable', { operation, cause: kindOf(error) });
  }

  worked(): void {
    if (this.#awaySince === undefined) return;
    const awayMs = Math.round(this.#clock.monotonic() - this.#awaySince);
    this.#awaySince = undefined;
    this.#events.emit('job:store-available', { awayMs });
  }
}
