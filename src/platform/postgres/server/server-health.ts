// Up or down: a failure marks the server down and starts a probe, again and again, until it answers.
import type { Clock } from '../../../core/clock.ts';
import { CoreError, kindOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { StateTracker } from '../state-tracker.ts';
import { unavailable } from './server-errors.ts';

const firstDelayMs = 100;
const longestDelayMs = 5000;

export interface ServerHealthParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly state: StateTracker;
  readonly target: string;
  /** One round trip; resolves when everything is as it was before. */
  readonly probe: () => Promise<void>;
}

export class ServerHealth {
  readonly #parts: ServerHealthParts;
  readonly #closing = new AbortController();
  #probing: Promise<void> | undefined;
  #delayMs = firstDelayMs;
  #lastError: unknown;

  constructor(parts: ServerHealthParts) {
    this.#parts = parts;
  }

  /** Fails at once while the server is down: waiting for a connection would only make a line of callers. */
  assertUp(): void {
    if (this.#parts.state.state !== 'down') return;
    if (this.#lastError instanceof CoreError) throw this.#lastError;
    throw unavailable(this.#parts.target, kindOf(this.#lastError), this.#lastError, this.#delayMs);
  }

  reportFailure(failure: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#lastError = failure;
    this.#parts.state.set('down');
    this.#probing ??= this.#probeUntilUp().finally(() => (this.#probing = undefined));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#probing;
  }

  async #probeUntilUp(): Promise<void> {
    const { clock, log, state, probe } = this.#parts;
    log.warn('The Postgres server went away.', { kind: kindOf(this.#lastError) });
    const since = clock.monotonic();
    for (this.#delayMs = firstDelayMs; !this.#closing.signal.aborted;) {
      try {
        await probe();
        log.info('The Postgres server is back.', { awayMs: Math.round(clock.monotonic() - since) });
        state.set('up');
        return;
      } catch (error) {
        this.#lastError = error;
      }
      await clock.sleep(this.#delayMs, this.#closing.signal).catch(() => undefined);
      this.#delayMs = Math.min(this.#delayMs * 2, longestDelayMs);
    }
  }
}
