// Limits as people handle them: changed in the state store first, then forgotten by every process at once.
import type { Clock } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { LimitDesk, LimitView } from '../desk-ports.ts';
import { largestLimit } from '../options.ts';
import type { LimitStore, OrganizationLimit, SlotStore, Usage } from '../ports.ts';

export interface LimitDeskParts {
  readonly clock: Clock;
  readonly store: LimitStore;
  readonly slots: SlotStore;
  readonly defaultLimit: number;
  readonly globalLimit: number;
  /** If not, what the store of slots says is not true. */
  readonly countsSlots: boolean;
  /** The store of slots failed: cached limits are forgotten when it is back. */
  readonly onStoreFailed: (error: unknown) => void;
}

interface Observed {
  readonly cached: ReadonlyMap<string, number>;
  readonly usage: Awaited<ReturnType<SlotStore['usage']>> | null;
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
    await this.#forget([organizationId]);
    return { view: await this.#view(organizationId, stored), isNew };
  }

  async get(organizationId: string, options: { readonly clearCache?: boolean } = {}): Promise<LimitView> {
    if (options.clearCache === true) await this.#refresh(organizationId);
    return this.#view(organizationId, await this.#parts.store.get(organizationId));
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
    await this.#forget([organizationId]);
    return this.#view(organizationId, null);
  }

  async clearCache(which: readonly string[] | 'custom' | 'all'): Promise<number> {
    const { store, slots } = this.#parts;
    if (which !== 'custom') return slots.forgetLimits(which);
    return slots.forgetLimits((await store.list()).map(({ organizationId }) => organizationId));
  }

  /**
   * Asks for a slot where a global limit of 0 lets nobody have one: the store forgets, gives a token and caches the
   * limit exactly as it does for requests. A limit that is changed meanwhile is left to the next of those.
   */
  async #refresh(organizationId: string): Promise<void> {
    const { slots, store } = this.#parts;
    await slots.forgetLimits([organizationId]);
    const question = { organizationId, executionId: 'nobody', globalLimit: 0 };
    const answer = await slots.acquire(question);
    if (answer.kind !== 'limit-unknown') return;
    const own = await store.get(organizationId);
    const value = own?.concurrentRequestLimit ?? this.defaultLimit;
    await slots.acquire({ ...question, limit: { value, token: answer.token } });
  }

  /** The change is committed whether or not the cache can be reached. */
  async #forget(organizationIds: readonly string[]): Promise<void> {
    try {
      await this.#parts.slots.forgetLimits(organizationIds);
    } catch (error) {
      this.#parts.onStoreFailed(error);
    }
  }

  async #view(organizationId: string, own: OrganizationLimit | null): Promise<LimitView> {
    return this.#viewOf(organizationId, own, await this.#observe([organizationId], true));
  }

  async #observe(organizationIds: readonly string[], withUsage: boolean): Promise<Observed> {
    const { slots, countsSlots } = this.#parts;
    if (!countsSlots) return { cached: new Map(), usage: null };
    try {
      const [cached, usage] = await Promise.all([
        slots.cachedLimits(organizationIds),
        withUsage ? slots.usage(organizationIds) : null,
      ]);
      return { cached, usage };
    } catch {
      return { cached: new Map(), usage: null };
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
      cachedLimit: cached.get(organizationId) ?? null,
      usage: usage && this.#usageOf(usage, organizationId, limit),
    };
  }

  #usageOf(usage: NonNullable<Observed['usage']>, organizationId: string, organizationLimit: number): Usage {
    return {
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
