// One decision: by the store of slots, or by this process while the store is away.
import { CoreError, kindOf } from '../../../core/index.ts';
import type { LocalDecision } from '../budget/local-budget.ts';
import { AdmissionError } from '../errors.ts';
import type { LimitReader } from '../limits/limit-reader.ts';
import type { AdmissionParts } from '../parts.ts';
import type { Acquired, AcquireRequest, Slot } from '../ports.ts';
import { within } from '../within.ts';
import type { SlotBooks } from './slot-books.ts';
import type { StoreReturn } from './store-return.ts';
import type { StoreWatch } from './store-watch.ts';

/** Told to those who are turned away because Redis is away: it is looked for every second. */
const awayRetryMs = 2_000;
/** A limit that is changed, or a store that is flushed, again and again while we ask. */
const mostQuestions = 6;
/** A store that goes and comes back between question and answer. */
const mostRounds = 4;

export type Verdict = LocalDecision;

export interface Decision {
  readonly verdict: Verdict;
  readonly decider: 'store' | 'local';
  /** Was the limit cached? Null when the store did not decide. */
  readonly isCached: boolean | null;
  readonly decisionMs: number;
}

type Undated = Omit<Decision, 'decisionMs'>;

export interface DeciderHelp {
  readonly books: SlotBooks;
  readonly reader: LimitReader;
  readonly watch: StoreWatch;
  readonly storeReturn: StoreReturn;
}

export class Decider {
  readonly #parts: AdmissionParts;
  readonly #help: DeciderHelp;

  constructor(parts: AdmissionParts, help: DeciderHelp) {
    this.#parts = parts;
    this.#help = help;
  }

  /**
   * An admission is held by this process. Fails with ADMISSION_UNAVAILABLE or STATE_UNAVAILABLE, and then holds
   * nothing.
   */
  async decide(slot: Slot): Promise<Decision> {
    const { clock } = this.#parts;
    const startedAt = clock.monotonic();
    const decided = await this.#decide(slot);
    return { ...decided, decisionMs: clock.monotonic() - startedAt };
  }

  async #decide(slot: Slot): Promise<Undated> {
    const { watch, reader, storeReturn } = this.#help;
    const { options, storeName } = this.#parts;
    for (let rounds = 1; ; rounds++) {
      const asked = watch.isAway ? null : await this.#askStore(slot);
      if (asked) return asked;
      if (options.whenRedisIsAway === 'closed') throw closed(storeName);
      await storeReturn.sighted();
      const { organizationId } = slot;
      const limit = reader.known(organizationId) ?? (await reader.read(organizationId, 'alone'));
      // It may be back by now, and then would not be told of what is decided here.
      if (watch.isAway || rounds === mostRounds) return this.#decideAlone(slot, limit);
    }
  }

  /** Null when the store cannot say. */
  async #askStore(slot: Slot): Promise<Undated | null> {
    const { reader, books } = this.#help;
    const { globalLimit } = this.#parts.options;
    const { organizationId, executionId } = slot;
    let limit: AcquireRequest['limit'];
    for (let questions = 0; questions < mostQuestions; questions++) {
      const request = { organizationId, executionId, globalLimit, ...(limit ? { limit } : {}) };
      const answer = await this.#acquire(request);
      if (answer === null) return null;
      if (answer.kind === 'limit-unknown') {
        limit = { value: await reader.read(organizationId, answer.token), token: answer.token };
      } else if (answer.kind === 'unrestored') {
        if (!(await this.#restore())) return null;
      } else if (this.#help.watch.isAway) {
        // It went away for others while it answered us: what they were given alone, it did not count.
        books.releases.remember(slot);
        return null;
      } else {
        reader.learn(organizationId, answer.usage.organizationLimit);
        if (answer.kind === 'admitted') books.hold(slot);
        books.budget.decided(slot, answer.kind === 'admitted', answer.usage);
        return { verdict: answer, decider: 'store', isCached: limit === undefined };
      }
    }
    return null;
  }

  async #acquire(request: AcquireRequest): Promise<Acquired | null> {
    const { clock, slots, options } = this.#parts;
    const { decisionTimeoutMs } = options;
    // If an earlier question was remembered to be undone: this one is not.
    this.#help.books.releases.forget(request.executionId);
    try {
      return await within(clock, decisionTimeoutMs, slots.acquire(request), () =>
        tooSlow(this.#parts.storeName, decisionTimeoutMs),
      );
    } catch (error) {
      this.#help.watch.fail(error);
      // It may have been carried out after all: unless it is held, it is freed when the store is back.
      this.#help.books.releases.remember(request);
      return null;
    }
  }

  /** False when the store cannot say. Fails with STATE_UNAVAILABLE when nobody knows what is under way. */
  async #restore(): Promise<boolean> {
    try {
      await this.#help.storeReturn.restore();
      return true;
    } catch (error) {
      if (kindOf(error).startsWith('STATE_')) throw error;
      this.#help.watch.fail(error);
      return false;
    }
  }

  #decideAlone(slot: Slot, organizationLimit: number): Undated {
    const { books, storeReturn } = this.#help;
    const { options } = this.#parts;
    const verdict = books.budget.decide(slot, { organizationLimit, globalLimit: options.globalLimit });
    if (verdict.kind === 'admitted') {
      books.hold(slot);
      storeReturn.admittedLocally(slot);
    }
    return { verdict, decider: 'local', isCached: null };
  }
}

const tooSlow = (storeName: string, ms: number): CoreError =>
  new CoreError('REDIS_UNAVAILABLE', `Redis at ${storeName} did not decide within ${ms} ms.`, {
    isRetryable: true,
  });

const closed = (storeName: string): AdmissionError =>
  new AdmissionError(
    'ADMISSION_UNAVAILABLE',
    `Redis at ${storeName} is away, and nobody is admitted without it (HEADWORKS_ADMISSION_WHEN_REDIS_IS_AWAY). ` +
      'Try again in a moment.',
    { isRetryable: true, retryAfterMs: awayRetryMs },
  );
