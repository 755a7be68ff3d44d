// When a slot will probably be free: from how long those that are held have been, and how long such work took lately.

/** So many of the last measurements of a kind of work are kept. */
const mostMeasured = 20;
/** Taken as long as nothing was measured. */
const unmeasuredMs = 5_000;
const shortestMs = 1_000;
const longestMs = 60_000;
/** Kinds of work and slots that are remembered; the oldest go first. */
const mostRemembered = 10_000;
/** An estimate in whole seconds may be so old: a storm of refusals does not count all slots each time. */
const freshMs = 250;

interface Running {
  readonly organizationId: string;
  readonly work: string;
  readonly since: number;
}

interface Estimate {
  readonly at: number;
  /** Until each slot that is known here is free, the first in front. */
  readonly leftMs: readonly number[];
}

/** All times in milliseconds of a clock that never runs backwards. */
export class HoldTimes {
  readonly #running = new Map<string, Running>();
  readonly #lengths = new Map<string, readonly number[]>();
  readonly #estimates = new Map<string | null, Estimate>();
  #lengthsOfAll: readonly number[] = [];

  /** A slot was taken. Slots of the same `work` are expected to be held about as long. */
  begin(executionId: string, { organizationId, work, since }: Running): void {
    if (this.#running.has(executionId)) return;
    remember(this.#running, executionId, { organizationId, work, since });
  }

  /** It is free again. What was not begun here, or has ended already, says nothing. */
  end(executionId: string, now: number): void {
    const ended = this.#running.get(executionId);
    if (!ended) return;
    this.#running.delete(executionId);
    const { work, since } = ended;
    const lengthMs = Math.max(0, now - since);
    const lengths = this.#lengths.get(work) ?? [];
    this.#lengths.delete(work);
    remember(this.#lengths, work, [...lengths, lengthMs].slice(-mostMeasured));
    this.#lengthsOfAll = [...this.#lengthsOfAll, lengthMs].slice(-mostMeasured);
  }

  /**
   * When one who is turned away has a chance, from 1 to 60 seconds. `organizationId` null: any slot will do. `held`
   * slots there are in all, those of other servers included; `ahead` others wait already.
   */
  retryAfterMs(wish: {
    readonly organizationId: string | null;
    readonly held: number;
    readonly ahead: number;
    readonly now: number;
  }): number {
    const { held, ahead } = wish;
    const { leftMs } = this.#estimate(wish.organizationId, wish.now);
    const known = leftMs.length;
    const usualMs = median(this.#lengthsOfAll) ?? unmeasuredMs;
    if (known === 0) return bounded((usualMs * (ahead + 1)) / Math.max(held, 1));
    // Those who wait share in what other servers free as well.
    const position = Math.floor((ahead * known) / Math.max(held, known));
    const rounds = Math.floor(position / known);
    return bounded((leftMs[position % known] ?? 0) + rounds * usualMs);
  }

  #estimate(organizationId: string | null, now: number): Estimate {
    const last = this.#estimates.get(organizationId);
    if (last && now - last.at < freshMs) return last;
    const own = [...this.#running.values()].filter(
      (running) => organizationId === null || running.organizationId === organizationId,
    );
    const leftMs = own.map(({ work, since }) => this.#leftMs(work, now - since)).sort((a, b) => a - b);
    const estimate = { at: now, leftMs };
    this.#estimates.delete(organizationId);
    remember(this.#estimates, organizationId, estimate);
    return estimate;
  }

  /** By the work that took longer than this has; what outlasts everything is expected to take as long again. */
  #leftMs(work: string, ageMs: number): number {
    const measured = this.#lengths.get(work) ?? this.#lengthsOfAll;
    const lengths = measured.length > 0 ? measured : [unmeasuredMs];
    const usualMs = median(lengths.filter((length) => length > ageMs));
    return usualMs === undefined ? ageMs : usualMs - ageMs;
  }
}

const bounded = (ms: number): number => Math.min(longestMs, Math.max(shortestMs, Math.ceil(ms)));

function median(numbers: readonly number[]): number | undefined {
  return numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)];
}

function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.set(key, value);
  if (map.size <= mostRemembered) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
