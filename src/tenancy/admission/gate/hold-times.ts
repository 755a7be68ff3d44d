// When a slot will probably be free: from how long those that are held have been, and how long such executions took.

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
  /** If not, its request is still being read. */
  readonly isExecution: boolean;
}

interface Estimate {
  readonly at: number;
  /** Until each slot that is known here is free, the first in front. */
  readonly leftMs: readonly number[];
}

/** All times in milliseconds of a clock that never runs backwards. */
export class HoldTimes {
  readonly #running = new Map<string, Running>();
  /** By work, by organization, and (null) of all. */
  readonly #lengths = new Map<string | null, readonly number[]>();
  readonly #estimates = new Map<string | null, Estimate>();

  /** A slot was taken for a request. Slots of the same `work` are expected to be held about as long. */
  begin(executionId: string, running: Omit<Running, 'isExecution'>): void {
    if (!this.#running.has(executionId))
      remember(this.#running, executionId, { ...running, isExecution: false });
  }

  /** The request was accepted: from now on the slot is held for an execution. */
  accepted(executionId: string, now: number): void {
    const running = this.#running.get(executionId);
    if (running && !running.isExecution)
      this.#running.set(executionId, { ...running, since: now, isExecution: true });
  }

  /** It is free again. What was not begun here, has ended already or never was an execution says nothing. */
  end(executionId: string, now: number): void {
    const ended = this.#running.get(executionId);
    this.#running.delete(executionId);
    if (!ended?.isExecution) return;
    const { work, organizationId, since } = ended;
    for (const whose of new Set([work, organizationId, null]))
      this.#measured(whose, Math.max(0, now - since));
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
    const { organizationId, held, ahead } = wish;
    const { leftMs } = this.#estimate(organizationId, wish.now);
    const known = leftMs.length;
    const usualMs = median(this.#lengths.get(organizationId) ?? []) ?? unmeasuredMs;
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
    const leftMs = own.map((running) => this.#leftMs(running, now)).sort((a, b) => a - b);
    const estimate = { at: now, leftMs };
    this.#estimates.delete(organizationId);
    remember(this.#estimates, organizationId, estimate);
    return estimate;
  }

  /**
   * By the executions that took longer than this has. What outlasts everything is expected to take as long again, and
   * so is the reading of a request: nobody knows whether it becomes an execution.
   */
  #leftMs({ work, organizationId, since, isExecution }: Running, now: number): number {
    const ageMs = now - since;
    if (!isExecution) return ageMs;
    const lengths = this.#lengths.get(work) ?? this.#lengths.get(organizationId) ?? [unmeasuredMs];
    const usualMs = median(lengths.filter((length) => length > ageMs));
    return usualMs === undefined ? ageMs : usualMs - ageMs;
  }

  #measured(whose: string | null, lengthMs: number): void {
    const lengths = this.#lengths.get(whose) ?? [];
    this.#lengths.delete(whose);
    remember(this.#lengths, whose, [...lengths, lengthMs].slice(-mostMeasured));
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
