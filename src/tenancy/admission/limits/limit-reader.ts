// Reads what an organization may do at once, and remembers it for when nobody can be asked.
import type { Clock } from '../../../core/index.ts';
import { CoreError } from '../../../core/index.ts';
import type { LimitStore } from '../ports.ts';
import { within } from '../within.ts';

/** A state store that takes longer is as good as away; requests do not wait for it. */
const longestReadMs = 2_000;
const mostRemembered = 10_000;

export interface LimitReaderParts {
  readonly clock: Clock;
  readonly store: LimitStore;
  readonly defaultLimit: number;
}

export class LimitReader {
  readonly #parts: LimitReaderParts;
  readonly #reads = new Map<string, Promise<number>>();
  #known = new Map<string, number>();
  /** Everything that is not known has the default limit. */
  #isComplete = false;

  constructor(parts: LimitReaderParts) {
    this.#parts = parts;
  }

  /**
   * From the state store. Those who ask with the same token share one reading: it began after the token was given.
   * Fails with STATE_UNAVAILABLE.
   */
  read(organizationId: string, token: string): Promise<number> {
    const key = `${token} ${organizationId}`;
    const underWay = this.#reads.get(key);
    if (underWay) return underWay;
    const reading = this.#read(organizationId).finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  /** What it was when it was last seen; null when nobody ever looked. */
  known(organizationId: string): number | null {
    return this.#known.get(organizationId) ?? (this.#isComplete ? this.#parts.defaultLimit : null);
  }

  learn(organizationId: string, limit: number): void {
    if (this.#known.get(organizationId) === limit) return;
    this.#known.set(organizationId, limit);
    if (this.#known.size <= mostRemembered) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#isComplete = false;
  }

  /** All of them, now. Fails with STATE_UNAVAILABLE. */
  async refresh(): Promise<void> {
    const all = await this.#bounded(this.#parts.store.list());
    this.#known = new Map(
      all.map(({ organizationId, concurrentRequestLimit }) => [organizationId, concurrentRequestLimit]),
    );
    this.#isComplete = true;
  }

  async #read(organizationId: string): Promise<number> {
    const { store, defaultLimit } = this.#parts;
    const found = await this.#bounded(store.get(organizationId));
    const limit = found?.concurrentRequestLimit ?? defaultLimit;
    this.learn(organizationId, limit);
    return limit;
  }

  #bounded<T>(work: Promise<T>): Promise<T> {
    return within(this.#parts.clock, longestReadMs, work, () => stateIsSlow(longestReadMs));
  }
}

function stateIsSlow(ms: number): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `The state store did not tell a limit within ${ms} ms. It is asked again with the next request.`,
    { isRetryable: true, retryAfterMs: ms },
  );
}
