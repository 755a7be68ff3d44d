// Limits as people handle them: changed in the state store first, then forgotten by every process at once.
import type { Clock } from '../../../core/index.ts';
import { CoreError } from '../../../core/index.ts';
import type { LimitDesk, LimitUsage, LimitView } from '../desk-ports.ts';
import { AdmissionError } from '../errors.ts';
import { largestLimit } from '../options.ts';
import type { ExecutionsView, LimitStore, OrganizationLimit, SlotStore } from '../ports.ts';

export interface LimitDeskParts {
  readonly clock: Clock;
  readonly store: LimitStore;
  readonly slots: SlotStore;
  readonly executions: Pick<ExecutionsView, 'unfinished'>;
  readonly defaultLimit: number;
  readonly globalLimit: number;
  /** If not, the store of slots is not the one that servers use. */
  readonly countsSlots: boolean;
  /** The store of slots failed: cached limits are forgotten when it is back. */
  readonly onStoreFailed: (error: unknown) => void;
}

type Counts = Awaited<ReturnType<SlotStore['usage']>>;

interface Observed {
  /** Null when the cache is not reached. */
  readonly cached: ReadonlyMap<string, number> | null;
  readonly usage: (Counts & Pick<LimitUsage, 'countedBy'>) | null;
}

export class StoredLimitDesk implements LimitDesk {
  readonly defaultLimit: number;
  readonly globalLimit: number;
  readonly #parts: LimitDeskParts;

  constructor(parts: LimitDeskParts) {
    this.#parts = parts;
    this.defaultLimit = parts.defaultLimit;
    this.globalLimit = parts.globalLimit;
  }

  async set(
    organizationId: string,
    limit: number,
  ): Promise<{ readonly view: LimitView; readonly isNew: boolean }> {
    checkLimit(limit);
    const { store, clock } = this.#parts;
    const { limit: stored, isNew } = await store.set(organizationId, limit, new Date(clock.now()));
    return { view: await this.#changed(organizationId, stored), isNew };
  }

  async get(organizationId: string, options: { readonly clearCache?: boolean } = {}): Promise<LimitView> {
    if (options.clearCache === true) await this.#refresh(organizationId);
    const own = await this.#parts.store.get(organizationId);
    return this.#viewOf(organizationId, own, await this.#observe([organizationId], true));
  }

  async overview(
    organizationIds: readonly string[],
  ): Promise<{ readonly globalUsed: number | null; readonly limits: readonly LimitView[] }> {
    const [limits, observed] = await Promise.all([
      this.#parts.store.list(),
      this.#observe(organizationIds, true),
    ]);
    const own = new Map(limits.map((limit) => [limit.organizationId, limit]));
    return {
      globalUsed: observed.usage?.global ?? null,
      limits: organizationIds.map((id) => this.#viewOf(id, own.get(id) ?? null, observed)),
    };
  }

  async list(options: { readonly withUsage?: boolean } = {}): Promise<readonly LimitView[]> {
    const limits = await this.#parts.store.list();
    const ids = limits.map(({ organizationId }) => organizationId);
    const observed = await this.#observe(ids, options.withUsage === true);
    return limits.map((limit) => this.#viewOf(limit.organizationId, limit, observed));
  }

  async delete(organizationId: string): Promise<LimitView> {
    const removed = await this.#parts.store.remove(organizationId);
    if (removed === null)
      throw new CoreError(
        'NOT_FOUND',
        `The organization ${organizationId} has no limit of its own; the default of ${this.defaultLimit} counts.`,
      );
    return this.#changed(organizationId, null);
  }

  async clearCache(which: readonly string[] | 'custom' | 'all'): Promise<number> {
    const { store, slots, countsSlots } = this.#parts;
    if (!countsSlots) throw cacheNotReached();
    if (which !== 'custom') return slots.forgetLimits(which);
    return slots.forgetLimits((await store.list()).map(({ organizationId }) => organizationId));
  }

  /**
   * Asks for a slot where a global limit of 0 lets nobody have one: the store forgets, gives a token and caches the
   * limit exactly as it does for requests. A limit that is changed meanwhile is left to the next of those.
   */
  async #refresh(organizationId: string): Promise<void> {
    const { slots, store, countsSlots } = this.#parts;
    if (!countsSlots) throw cacheNotReached();
    await slots.forgetLimits([organizationId]);
    const question = { organizationId, executionId: 'nobody', globalLimit: 0 };
    const answer = await slots.acquire(question);
    if (answer.kind !== 'limit-unknown') return;
    const own = await store.get(organizationId);
    const value = own?.concurrentRequestLimit ?? this.defaultLimit;
    await slots.acquire({ ...question, limit: { value, token: answer.token } });
  }

  /** The change is committed, whether or not the cache can be reached. */
  async #changed(organizationId: string, own: OrganizationLimit | null): Promise<LimitView> {
    const ids = [organizationId];
    try {
      await this.#parts.slots.forgetLimits(ids);
    } catch (error) {
      this.#parts.onStoreFailed(error);
      return this.#viewOf(organizationId, own, await this.#observeState(true));
    }
    return this.#viewOf(organizationId, own, await this.#observe(ids, true));
  }

  async #observe(organizationIds: readonly string[], withUsage: boolean): Promise<Observed> {
    const { slots, countsSlots } = this.#parts;
    if (!countsSlots) return this.#observeState(withUsage);
    try {
      const [cached, usage] = await Promise.all([
        slots.cachedLimits(organizationIds),
        withUsage ? slots.usage(organizationIds) : null,
      ]);
      return { cached, usage: usage && { ...usage, countedBy: 'slots' } };
    } catch {
      return this.#observeState(withUsage);
    }
  }

  /** What the state store knows of slots: all but those of requests that are still being read. */
  async #observeState(withUsage: boolean): Promise<Observed> {
    if (!withUsage) return { cached: null, usage: null };
    try {
      const unfinished = await this.#parts.executions.unfinished();
      const groups = Map.groupBy(unfinished, ({ organizationId }) => organizationId);
      const organizations = new Map([...groups].map(([id, slots]) => [id, slots.length]));
      return { cached: null, usage: { global: unfinished.length, organizations, countedBy: 'executions' } };
    } catch {
      return { cached: null, usage: null };
    }
  }

  #viewOf(organizationId: string, own: OrganizationLimit | null, { cached, usage }: Observed): LimitView {
    const limit = own?.concurrentRequestLimit ?? this.defaultLimit;
    return {
      organizationId,
      customLimit: own?.concurrentRequestLimit ?? null,
      createdAt: own?.createdAt ?? null,
      modifiedAt: own?.modifiedAt ?? null,
      limit,
      cachedLimit: cached?.get(organizationId) ?? null,
      isCacheKnown: cached !== null,
      usage: usage && this.#usageOf(usage, organizationId, limit),
    };
  }

  #usageOf(
    usage: NonNullable<Observed['usage']>,
    organizationId: string,
    organizationLimit: number,
  ): LimitUsage {
    return {
      countedBy: usage.countedBy,
      organization: usage.organizations.get(organizationId) ?? 0,
      organizationLimit,
      global: usage.global,
      globalLimit: this.globalLimit,
    };
  }
}

function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= largestLimit) return;
  throw new CoreError(
    'INPUT_INVALID',
    `A limit must be a whole number from 1 to ${largestLimit}, not ${limit}. ` +
      'To stop an organization, revoke its keys or switch its deployments off.',
  );
}

function cacheNotReached(): AdmissionError {
  return new AdmissionError(
    'ADMISSION_NEEDS_REDIS',
    'No cached limit was forgotten: this process has no Redis, and does not reach what servers remember. ' +
      'Set REDIS_URL as the servers have it, or name one of them with --server (HEADWORKS_URL).',
  );
}
