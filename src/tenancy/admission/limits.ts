// Limits of organizations: administration, and the reads that decisions need.
//
// A change is committed to the state store first and then invalidated in every cache, so that it applies at once.
import { CoreError, withTimeout } from '../../core/index.ts';
import { AdmissionError } from '../errors.ts';
import { maxLimit } from '../options.ts';
import type { AdmissionDeps, OrganizationLimit, SlotCounts, Usage } from './types.ts';

/** A state store that takes longer counts as unavailable; requests do not wait for it. */
const readTimeoutMs = 2_000;
const maxKnown = 10_000;

/** `executions`: the slot store cannot be reached, so unfinished executions were counted in the state store. */
export interface LimitUsage extends Usage {
  readonly countedBy: 'slots' | 'executions';
}

export interface LimitView {
  readonly organizationId: string;
  /** Null when the organization has none and the default applies. */
  readonly customLimit: number | null;
  readonly createdAt: Date | null;
  readonly modifiedAt: Date | null;
  /** The effective limit. */
  readonly limit: number;
  /** Null when no limit is cached, or the cache cannot be read. */
  readonly cachedLimit: number | null;
  /** False when the cache cannot be read: Redis is down, or another process counts slots. */
  readonly isCacheKnown: boolean;
  /** Null when it was not requested, or neither store could be read. */
  readonly usage: LimitUsage | null;
}

interface Observed {
  /** Null when the cache cannot be read. */
  readonly cached: ReadonlyMap<string, number> | null;
  readonly usage: (SlotCounts & Pick<LimitUsage, 'countedBy'>) | null;
}

/** What the API and the CLI use of the service. */
export type LimitAdministration = Pick<
  LimitService,
  'defaultLimit' | 'globalLimit' | 'set' | 'get' | 'overview' | 'list' | 'delete' | 'clearCache'
>;

export class LimitService {
  readonly #deps: AdmissionDeps;
  readonly #onStoreFailed: (error: unknown) => void;
  readonly #reads = new Map<string, Promise<number>>();
  #known = new Map<string, number>();

  /** `onStoreFailed`: cached limits are invalidated when the slot store is up again. */
  constructor(deps: AdmissionDeps, onStoreFailed: (error: unknown) => void) {
    this.#deps = deps;
    this.#onStoreFailed = onStoreFailed;
  }

  get defaultLimit(): number {
    return this.#deps.options.defaultLimit;
  }

  get globalLimit(): number {
    return this.#deps.options.globalLimit;
  }

  /**
   * The limit from the state store. Callers with the same token share one read, which began after the token was issued.
   * Fails with STATE_UNAVAILABLE.
   */
  read(organizationId: string, token: string): Promise<number> {
    const key = `${token} ${organizationId}`;
    const running = this.#reads.get(key);
    if (running) return running;
    const reading = this.#read(organizationId).finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  /** The limit when it was last read; the default when it never was. */
  known(organizationId: string): number {
    return this.#known.get(organizationId) ?? this.defaultLimit;
  }

  /** Reads all limits. Fails with STATE_UNAVAILABLE. */
  async refreshKnown(): Promise<void> {
    const all = await this.#withReadTimeout(this.#deps.limits.list());
    this.#known = new Map(
      all.map(({ organizationId, concurrentRequestLimit }) => [organizationId, concurrentRequestLimit]),
    );
  }

  /** Applies at once, in all processes. Fails with INPUT_INVALID for anything but a whole number from 1 on. */
  async set(
    organizationId: string,
    limit: number,
  ): Promise<{ readonly view: LimitView; readonly isNew: boolean }> {
    checkLimit(limit);
    const { limits, clock } = this.#deps;
    const { limit: stored, isNew } = await limits.set(organizationId, limit, new Date(clock.now()));
    return { view: await this.#changed(organizationId, stored), isNew };
  }

  /**
   * `clearCache` invalidates the cached limit and caches the current one. Only then it fails with REDIS_UNAVAILABLE, or
   * with ADMISSION_NEEDS_REDIS where another process counts slots.
   */
  async get(organizationId: string, options: { readonly clearCache?: boolean } = {}): Promise<LimitView> {
    if (options.clearCache === true) await this.#refresh(organizationId);
    const own = await this.#deps.limits.get(organizationId);
    return this.#viewOf(organizationId, own, await this.#observe([organizationId], true));
  }

  /** These organizations in their order, and the global usage (null when no store could be read), in one read. */
  async overview(
    organizationIds: readonly string[],
  ): Promise<{ readonly globalUsed: number | null; readonly limits: readonly LimitView[] }> {
    const [limits, observed] = await Promise.all([
      this.#deps.limits.list(),
      this.#observe(organizationIds, true),
    ]);
    const own = new Map(limits.map((limit) => [limit.organizationId, limit]));
    return {
      globalUsed: observed.usage?.global ?? null,
      limits: organizationIds.map((id) => this.#viewOf(id, own.get(id) ?? null, observed)),
    };
  }

  /** Organizations with a custom limit. */
  async list(options: { readonly withUsage?: boolean } = {}): Promise<readonly LimitView[]> {
    const limits = await this.#deps.limits.list();
    const ids = limits.map(({ organizationId }) => organizationId);
    const observed = await this.#observe(ids, options.withUsage === true);
    return limits.map((limit) => this.#viewOf(limit.organizationId, limit, observed));
  }

  /** The organization's limit after the deletion. Fails with NOT_FOUND when it had no custom limit. */
  async delete(organizationId: string): Promise<LimitView> {
    const deleted = await this.#deps.limits.delete(organizationId);
    if (deleted === null)
      throw new CoreError(
        'NOT_FOUND',
        `The organization ${organizationId} has no custom limit; the default of ${this.defaultLimit} applies.`,
      );
    return this.#changed(organizationId, null);
  }

  /**
   * Returns how many cached limits were cleared. `custom`: those of organizations with a custom limit. Fails with
   * REDIS_UNAVAILABLE, or with ADMISSION_NEEDS_REDIS where another process counts slots.
   */
  async clearCache(which: readonly string[] | 'custom' | 'all'): Promise<number> {
    const { limits, slots, countsSlots } = this.#deps;
    if (!countsSlots) throw cacheUnreachable();
    if (which !== 'custom') return slots.invalidateLimits(which);
    return slots.invalidateLimits((await limits.list()).map(({ organizationId }) => organizationId));
  }

  /**
   * Requests a slot with a global limit of 0, which admits no request: the store issues a token and caches the limit exactly
   * as it does for requests. A limit that changes meanwhile is left to the next of those.
   */
  async #refresh(organizationId: string): Promise<void> {
    const { slots, limits, countsSlots } = this.#deps;
    if (!countsSlots) throw cacheUnreachable();
    await slots.invalidateLimits([organizationId]);
    const request = { organizationId, executionId: 'cache-refresh', globalLimit: 0 };
    const decision = await slots.acquire(request);
    if (decision.kind !== 'limit-unknown') return;
    const own = await limits.get(organizationId);
    const value = own?.concurrentRequestLimit ?? this.defaultLimit;
    await slots.acquire({ ...request, limit: { value, token: decision.token } });
  }

  /** The change is committed, whether or not the cache can be invalidated. */
  async #changed(organizationId: string, own: OrganizationLimit | null): Promise<LimitView> {
    const ids = [organizationId];
    try {
      await this.#deps.slots.invalidateLimits(ids);
    } catch (error) {
      this.#onStoreFailed(error);
      return this.#viewOf(organizationId, own, await this.#observeState(true));
    }
    return this.#viewOf(organizationId, own, await this.#observe(ids, true));
  }

  async #observe(organizationIds: readonly string[], withUsage: boolean): Promise<Observed> {
    const { slots, countsSlots } = this.#deps;
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

  /** Unfinished executions: all slots but those of requests whose body is still being received. */
  async #observeState(withUsage: boolean): Promise<Observed> {
    if (!withUsage) return { cached: null, usage: null };
    try {
      const unfinished = await this.#deps.executions.unfinished();
      const groups = Map.groupBy(unfinished, ({ organizationId }) => organizationId);
      const organizations = new Map([...groups].map(([id, slots]) => [id, slots.length]));
      return { cached: null, usage: { global: unfinished.length, organizations, countedBy: 'executions' } };
    } catch {
      return { cached: null, usage: null };
    }
  }

  async #read(organizationId: string): Promise<number> {
    const found = await this.#withReadTimeout(this.#deps.limits.get(organizationId));
    const limit = found?.concurrentRequestLimit ?? this.defaultLimit;
    if (this.#known.size < maxKnown) this.#known.set(organizationId, limit);
    return limit;
  }

  #withReadTimeout<T>(work: Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    return withTimeout(work, { clock, timeoutMs: readTimeoutMs, onTimeout: stateUnavailable });
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
      usage: usage && {
        countedBy: usage.countedBy,
        organization: usage.organizations.get(organizationId) ?? 0,
        organizationLimit: limit,
        global: usage.global,
        globalLimit: this.globalLimit,
      },
    };
  }
}

function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return;
  throw new CoreError(
    'INPUT_INVALID',
    `A limit must be a whole number from 1 to ${maxLimit}, not ${limit}. ` +
      'To stop an organization, revoke its keys or disable its deployments.',
  );
}

const stateUnavailable = (): CoreError =>
  new CoreError(
    'STATE_UNAVAILABLE',
    `The state store did not return a limit within ${readTimeoutMs} ms. Try again in a moment.`,
    { isRetryable: true, retryAfterMs: readTimeoutMs },
  );

function cacheUnreachable(): AdmissionError {
  return new AdmissionError(
    'ADMISSION_NEEDS_REDIS',
    'No cached limit was cleared: this process has no Redis and cannot reach the cache of the servers. ' +
      'Set REDIS_URL to the Redis of the servers, or HEADWORKS_URL to the URL of one of them.',
  );
}
