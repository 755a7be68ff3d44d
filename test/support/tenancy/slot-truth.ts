// What is really held in a simulation of admission, and the guarantees that follow from it.
import type { LinkState } from './simulated-redis.ts';
import type { Slot } from '../../../src/tenancy/admission/types.ts';
import type { VirtualClock } from '../core/virtual-clock.ts';

interface Held extends Slot {
  /** Start of its request. */
  readonly startedAt: number;
  readonly admittedAt: number;
  /** Receives its body; null once it is an execution. */
  server: string | null;
  /** The server that admitted it without Redis. */
  readonly admittedLocallyBy: string | null;
  endedAt: number;
}

interface LimitRange {
  readonly limit: number;
  readonly from: number;
  until: number;
}

interface TruthOptions {
  readonly organizations: readonly string[];
  readonly defaultLimit: number;
  readonly globalLimit: number;
  readonly leaseSeconds: number;
}

/** The longest time from a release to its execution in Redis, without disruptions. */
const releaseMs = 100;
/** The longest time until a stalled process reads that its connection was refused. */
const maxNoticeMs = 5_000;

const noHolder = { server: null, admittedLocallyBy: null };

export class SlotTruth {
  readonly violations: string[] = [];
  /** All servers lost Redis at the same moment, and none has it back. */
  isFullOutage = false;
  readonly #clock: VirtualClock;
  readonly #options: TruthOptions;
  readonly #held = new Map<string, Held>();
  readonly #ended: Held[] = [];
  readonly #limits: ReadonlyMap<string, LimitRange[]>;
  /** The server that decided last, by execution. */
  readonly #deciders = new Map<string, string>();
  readonly #brokenAt = new Map<string, number>();
  /** Servers that decide by themselves, or did until a moment ago. */
  readonly #outages = new Map<
    string,
    { readonly servers: number; readonly startedAt: number; endedAt: number }
  >();
  #servers = 1;
  #disruptedAt = 0;

  constructor(clock: VirtualClock, options: TruthOptions) {
    this.#clock = clock;
    this.#options = options;
    const first = () => [{ limit: options.defaultLimit, from: 0, until: Number.POSITIVE_INFINITY }];
    this.#limits = new Map(options.organizations.map((id) => [id, first()]));
  }

  /** Nothing happened within two leases that may leave slots without holders. */
  get isUndisturbed(): boolean {
    return (
      this.#clock.monotonic() - this.#disruptedAt > 2_000 * this.#options.leaseSeconds ||
      this.#disruptedAt === 0
    );
  }

  limitOf(organizationId: string): number {
    return this.#limits.get(organizationId)?.at(-1)?.limit ?? 0;
  }

  setServers(count: number): void {
    this.#servers = count;
  }

  violated(guarantee: string, what: string): void {
    this.violations.push(`${guarantee} at ${Math.round(this.#clock.monotonic())} ms: ${what}`);
  }

  /** Something happens that may leave slots without holders. */
  disrupted(): void {
    this.#disruptedAt = this.#clock.monotonic();
  }

  /** The returned function ends the time in which the limit before may still apply. */
  limitChanges(organizationId: string, limit: number): () => void {
    const ranges = this.#limits.get(organizationId) ?? [];
    const earlier = ranges.filter(({ until }) => until === Number.POSITIVE_INFINITY);
    ranges.push({ limit, from: this.#clock.monotonic(), until: Number.POSITIVE_INFINITY });
    return () => {
      for (const range of earlier) range.until = Math.min(range.until, this.#clock.monotonic());
    };
  }

  emitted(
    server: string,
    name: string,
    payload: Readonly<Record<string, unknown>>,
    link: { readonly state: LinkState; readonly brokenSince: number | null },
  ): void {
    const now = this.#clock.monotonic();
    if (link.state !== 'up') this.#brokenAt.set(server, now);
    if (name === 'admission:request-admitted' || name === 'admission:request-rejected')
      this.#deciders.set(String(payload['executionId']), String(payload['decider']));
    if (name === 'admission:outage-confirmed') {
      const brokenAt = this.#brokenAt.get(server) ?? Number.NEGATIVE_INFINITY;
      if (now - brokenAt > maxNoticeMs)
        this.violated('L3', `${server} confirmed an outage although its connections were never broken`);
      this.#outages.set(server, {
        servers: this.#servers,
        startedAt: now,
        endedAt: Number.POSITIVE_INFINITY,
      });
    }
    const outage = this.#outages.get(server);
    if (name === 'admission:outage-ended' && outage) outage.endedAt = now;
  }

  admitted(slot: Slot, server: string, startedAt: number): void {
    const admittedAt = this.#clock.monotonic();
    const isLocal = this.#deciders.get(slot.executionId) === 'local';
    const admittedLocallyBy = isLocal ? server : null;
    this.#held.set(slot.executionId, {
      ...slot,
      startedAt,
      admittedAt,
      server,
      admittedLocallyBy,
      endedAt: Number.POSITIVE_INFINITY,
    });
    const { globalLimit } = this.#options;
    const limit = this.#limitBetween(slot.organizationId, startedAt, admittedAt, Math.max);
    for (const [name, max, held] of [
      [slot.organizationId, limit, this.#heldBy(slot.organizationId)],
      ['all', globalLimit, [...this.#held.values()]],
    ] as const)
      if (isLocal) this.#checkLocal(name, max, held, server);
      else this.#checkStore(name, max, held, startedAt);
  }

  /** Redis counts all slots but those admitted by servers that do not reach it. */
  #checkStore(name: string, max: number, held: readonly Held[], startedAt: number): void {
    const known = held.filter(({ admittedLocallyBy, admittedAt }) => {
      if (admittedLocallyBy === null) return true;
      const outage = this.#outages.get(admittedLocallyBy);
      return admittedAt < startedAt && outage !== undefined && outage.endedAt < startedAt;
    });
    if (known.length > max) this.violated('L3', `${known.length} held of ${max} for ${name}`);
  }

  #checkLocal(name: string, max: number, held: readonly Held[], server: string): void {
    if (this.isFullOutage && held.length > max)
      this.violated('L4', `${held.length} held of ${max} for ${name} while all servers lost Redis`);
    const { servers, startedAt } = this.#outages.get(server) ?? { servers: 1, startedAt: 0 };
    const own = held.filter(
      ({ admittedLocallyBy, admittedAt }) => admittedLocallyBy === server && admittedAt >= startedAt,
    ).length;
    const share = Math.floor(max / servers);
    if (own > share) this.violated('L4', `${server} admitted ${own} for ${name}, with a share of ${share}`);
  }

  accepted({ executionId }: Slot): void {
    const held = this.#held.get(executionId);
    if (held) held.server = null;
  }

  ended({ executionId }: Slot): void {
    const held = this.#held.get(executionId);
    if (!held) return;
    this.#held.delete(executionId);
    held.endedAt = this.#clock.monotonic();
    this.#ended.push(held);
  }

  /** The requests that it was receiving are gone. */
  crashed(server: string): void {
    this.#servers--;
    for (const held of this.#held.values()) if (held.server === server) this.ended(held);
  }

  /** Without disruptions a request is rejected only because the limit is used. */
  rejected(
    slot: Slot,
    {
      code,
      startedAt,
      waitMs,
    }: { readonly code: string; readonly startedAt: number; readonly waitMs: number },
  ): void {
    const rejectedAt = this.#clock.monotonic();
    // It may get a slot at the moment in which it gives up waiting, and releases it at once.
    if (waitMs > 0)
      this.#ended.push({ ...slot, ...noHolder, startedAt, admittedAt: rejectedAt, endedAt: rejectedAt });
    if (!this.isUndisturbed) return;
    if (code === 'ADMISSION_UNAVAILABLE') return this.violated('L3', 'no decision without a disruption');
    if (waitMs > 0 || this.#deciders.get(slot.executionId) !== 'store') return;
    const isOwn = code === 'ADMISSION_ORG_LIMIT';
    // Admissions that were decided before this rejection, but are read later, count as well.
    this.#clock.after(releaseMs, () => {
      const used = [...this.#held.values(), ...this.#ended].filter(
        (held) =>
          (!isOwn || held.organizationId === slot.organizationId) &&
          held.startedAt < rejectedAt &&
          held.endedAt + releaseMs > startedAt,
      ).length;
      const max = isOwn
        ? this.#limitBetween(slot.organizationId, startedAt, rejectedAt, Math.min)
        : this.#options.globalLimit;
      if (used < max) this.violated('L3', `rejected as ${code} although ${used} of ${max} slots are held`);
    });
  }

  #heldBy(organizationId: string): readonly Held[] {
    return [...this.#held.values()].filter((held) => held.organizationId === organizationId);
  }

  #limitBetween(
    organizationId: string,
    from: number,
    until: number,
    choose: (...limits: number[]) => number,
  ): number {
    const ranges = (this.#limits.get(organizationId) ?? []).filter(
      (range) => range.from <= until && range.until >= from,
    );
    return choose(...ranges.map(({ limit }) => limit));
  }
}
