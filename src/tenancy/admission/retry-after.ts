// Estimates Retry-After: from the age of held slots and the duration of earlier executions of the same workload.

/** Durations kept per workload. */
const maxSamples = 20;
/** Assumed while there is no sample. */
const defaultMs = 5_000;
const minMs = 1_000;
const maxMs = 60_000;
/** Workloads and slots kept; the oldest are dropped first. */
const maxEntries = 10_000;
/** Estimates are reused for this long, so that a burst of rejections does not sort all slots each time. */
const cacheMs = 250;

interface HeldSlot {
  readonly organizationId: string;
  readonly workload: string;
  readonly since: number;
  /** False while the body of its request is being received. */
  readonly isExecution: boolean;
}

interface Estimate {
  readonly at: number;
  /** Remaining time of each slot known here, shortest first. */
  readonly remainingMs: readonly number[];
}

/** All times are monotonic milliseconds. */
export class RetryAfterEstimator {
  readonly #slots = new Map<string, HeldSlot>();
  /** By workload, by organization, and (null) of all. */
  readonly #durations = new Map<string | null, readonly number[]>();
  readonly #estimates = new Map<string | null, Estimate>();

  /** A request has a slot. Equal workloads are expected to take about equally long. */
  requestStarted(executionId: string, slot: Omit<HeldSlot, 'isExecution'>): void {
    if (!this.#slots.has(executionId)) setBounded(this.#slots, executionId, { ...slot, isExecution: false });
  }

  /** The request was accepted: from now on the duration of an execution is measured. */
  executionStarted(executionId: string, now: number): void {
    const slot = this.#slots.get(executionId);
    if (slot && !slot.isExecution) this.#slots.set(executionId, { ...slot, since: now, isExecution: true });
  }

  /** Only executions are measured: requests that fail validation would make the estimate too short. */
  ended(executionId: string, now: number): void {
    const slot = this.#slots.get(executionId);
    this.#slots.delete(executionId);
    if (!slot?.isExecution) return;
    const { workload, organizationId, since } = slot;
    for (const key of new Set([workload, organizationId, null]))
      this.#addSample(key, Math.max(0, now - since));
  }

  /**
   * When a rejected request has a chance, from 1 to 60 seconds. `organizationId` null: any slot will do. `held`: slots in
   * use on all servers. `ahead`: requests already queued.
   */
  estimateMs(request: {
    readonly organizationId: string | null;
    readonly held: number;
    readonly ahead: number;
    readonly now: number;
  }): number {
    const { organizationId, held, ahead } = request;
    const { remainingMs } = this.#estimate(organizationId, request.now);
    const known = remainingMs.length;
    const typicalMs = median(this.#durations.get(organizationId) ?? []) ?? defaultMs;
    if (known === 0) return clamp((typicalMs * (ahead + 1)) / Math.max(held, 1));
    // Slots that other servers release serve the queue as well.
    const position = Math.floor((ahead * known) / Math.max(held, known));
    const rounds = Math.floor(position / known);
    return clamp((remainingMs[position % known] ?? 0) + rounds * typicalMs);
  }

  #estimate(organizationId: string | null, now: number): Estimate {
    const last = this.#estimates.get(organizationId);
    if (last && now - last.at < cacheMs) return last;
    const slots = [...this.#slots.values()].filter(
      (slot) => organizationId === null || slot.organizationId === organizationId,
    );
    const remainingMs = slots.map((slot) => this.#remainingMs(slot, now)).sort((a, b) => a - b);
    const estimate = { at: now, remainingMs };
    this.#estimates.delete(organizationId);
    setBounded(this.#estimates, organizationId, estimate);
    return estimate;
  }

  /**
   * From the executions that took longer than this one has so far. One that outlasts all samples, or a request still
   * being received, is expected to take as long again as it already did.
   */
  #remainingMs({ workload, organizationId, since, isExecution }: HeldSlot, now: number): number {
    const ageMs = now - since;
    if (!isExecution) return ageMs;
    const durations = this.#durations.get(workload) ?? this.#durations.get(organizationId) ?? [defaultMs];
    const typicalMs = median(durations.filter((duration) => duration > ageMs));
    return typicalMs === undefined ? ageMs : typicalMs - ageMs;
  }

  #addSample(key: string | null, durationMs: number): void {
    const durations = this.#durations.get(key) ?? [];
    this.#durations.delete(key);
    setBounded(this.#durations, key, [...durations, durationMs].slice(-maxSamples));
  }
}

const clamp = (ms: number): number => Math.min(maxMs, Math.max(minMs, Math.ceil(ms)));

function median(numbers: readonly number[]): number | undefined {
  return numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)];
}

function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.set(key, value);
  if (map.size <= maxEntries) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
