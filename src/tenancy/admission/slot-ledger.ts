// The slots this process holds, those it must still release in the store, how many servers are alive, and how long slots are
// held.
import type { Clock } from '../../core/index.ts';
import type { Snapshot } from './slot-policy.ts';
import { LocalBudget } from './slot-policy.ts';
import type { Slot, SlotStore, WorkloadSlot } from './types.ts';

/** Releases beyond this are left to the end of their leases. */
const maxPending = 10_000;

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

export class SlotLedger {
  readonly budget = new LocalBudget();
  readonly retryAfter: RetryAfterEstimator;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #held = new Map<string, { readonly slot: Slot; readonly since: number }>();
  /** Releases that the store did not confirm. An acquisition without a reply is one as well: it may have been executed. */
  readonly #pending = new Map<string, Slot>();
  #servers = { count: 1, seenAt: Number.NEGATIVE_INFINITY };

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.retryAfter = new RetryAfterEstimator(clock);
    this.#leaseMs = leaseMs;
  }

  /** Servers that are alive, including this one. */
  get servers(): number {
    return this.#servers.count;
  }

  /** Slots whose leases this process renews. */
  get held(): readonly Slot[] {
    return [...this.#held.values()].map(({ slot }) => slot);
  }

  holds(executionId: string): boolean {
    return this.#held.has(executionId);
  }

  heldSinceBefore(moment: number): readonly Slot[] {
    return [...this.#held.values()].filter(({ since }) => since < moment).map(({ slot }) => slot);
  }

  /** A smaller count within a lease of a larger one comes from a store that was flushed and lost its servers. */
  setServers(count: number): void {
    const seenAt = this.#clock.monotonic();
    if (count < this.#servers.count && seenAt - this.#servers.seenAt < this.#leaseMs) return;
    this.#servers = { count, seenAt };
  }

  /** From now on this process renews the slot. */
  add({ organizationId, executionId }: Slot): void {
    if (!this.#held.has(executionId))
      this.#held.set(executionId, {
        slot: { organizationId, executionId },
        since: this.#clock.monotonic(),
      });
    this.#pending.delete(executionId);
  }

  /** Another process renews the slot, or it needs no renewal. */
  remove(executionId: string): void {
    this.#held.delete(executionId);
  }

  /** The slot is free, in whichever process it was held. */
  released(executionId: string): void {
    this.#held.delete(executionId);
    this.budget.released(executionId);
    this.retryAfter.ended(executionId);
  }

  addPendingRelease({ organizationId, executionId }: Slot): void {
    if (this.#pending.size < maxPending) this.#pending.set(executionId, { organizationId, executionId });
  }

  /** The slot is requested once more. */
  dropPendingRelease(executionId: string): void {
    this.#pending.delete(executionId);
  }

  /** Fails when the store does; the rest stays pending. */
  async sendPendingReleases(store: Pick<SlotStore, 'release'>): Promise<void> {
    for (const slot of this.#pending.values()) {
      await store.release(slot);
      this.#pending.delete(slot.executionId);
    }
  }

  /** Reads slots, with those this process held before or after: the list may lack what was just taken. */
  async snapshot<Listed extends Slot>(
    read: () => Promise<readonly Listed[]>,
  ): Promise<Snapshot & { readonly slots: readonly Listed[] }> {
    const before = new Set(this.#held.keys());
    const slots = await read();
    return { slots, isOwn: (executionId) => before.has(executionId) || this.#held.has(executionId) };
  }
}

interface WorkingSlot {
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

/** Estimates Retry-After from the age of held slots and the duration of earlier executions of the same workload. */
class RetryAfterEstimator {
  readonly #clock: Clock;
  readonly #slots = new Map<string, WorkingSlot>();
  /** Durations by workload, by organization, and (null) of all. */
  readonly #durations = new Map<string | null, readonly number[]>();
  readonly #estimates = new Map<string | null, Estimate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A request has a slot. Equal workloads are expected to take about equally long. */
  requestStarted({ organizationId, executionId, workload = organizationId }: WorkloadSlot): void {
    if (this.#slots.has(executionId)) return;
    const since = this.#clock.monotonic();
    setBounded(this.#slots, executionId, { organizationId, workload, since, isExecution: false });
  }

  /** The request was accepted: from now on the duration of an execution is measured. */
  executionStarted(executionId: string): void {
    const slot = this.#slots.get(executionId);
    if (slot && !slot.isExecution)
      this.#slots.set(executionId, { ...slot, since: this.#clock.monotonic(), isExecution: true });
  }

  /** Only executions are measured: requests that fail validation would make the estimate too short. */
  ended(executionId: string): void {
    const slot = this.#slots.get(executionId);
    this.#slots.delete(executionId);
    if (!slot?.isExecution) return;
    const durationMs = Math.max(0, this.#clock.monotonic() - slot.since);
    for (const key of new Set([slot.workload, slot.organizationId, null])) {
      const durations = this.#durations.get(key) ?? [];
      this.#durations.delete(key);
      setBounded(this.#durations, key, [...durations, durationMs].slice(-maxSamples));
    }
  }

  /**
   * Estimated delay until a slot is free, 1 to 60 s. `organizationId` null: any slot will do. `held`: slots in use on
   * all servers. `ahead`: requests already queued.
   */
  estimateMs(organizationId: string | null, held: number, ahead: number): number {
    const { remainingMs } = this.#estimate(organizationId);
    const known = remainingMs.length;
    const typicalMs = median(this.#durations.get(organizationId) ?? []) ?? defaultMs;
    if (known === 0) return clamp((typicalMs * (ahead + 1)) / Math.max(held, 1));
    // Slots that other servers release serve the queue as well.
    const position = Math.floor((ahead * known) / Math.max(held, known));
    const rounds = Math.floor(position / known);
    return clamp((remainingMs[position % known] ?? 0) + rounds * typicalMs);
  }

  #estimate(organizationId: string | null): Estimate {
    const now = this.#clock.monotonic();
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
   * Estimated from the executions that took longer than this one has so far. One that outlasts all samples, or a
   * request still being received, is expected to take as long again as it already did.
   */
  #remainingMs({ workload, organizationId, since, isExecution }: WorkingSlot, now: number): number {
    const ageMs = now - since;
    if (!isExecution) return ageMs;
    const durations = this.#durations.get(workload) ?? this.#durations.get(organizationId) ?? [defaultMs];
    const typicalMs = median(durations.filter((duration) => duration > ageMs));
    return typicalMs === undefined ? ageMs : typicalMs - ageMs;
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
