// headworks/admission: slots for concurrent work, limited per organization and in all, in this process or over Redis.
import { optionValues } from '../core/options.ts';
import { CoreError, silentEmitter, systemClock, systemIds } from '../core/index.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { admissionOptions, maxLimit } from '../tenancy/options.ts';
import { MemorySlotStore } from '../tenancy/admission/memory-slot-store.ts';
import { openAdmission } from '../tenancy/admission/open-admission.ts';
import { RedisSlotStore } from '../tenancy/admission/redis/redis-slot-store.ts';
import type { LimitStore, OrganizationLimit, Slot } from '../tenancy/admission/types.ts';
import { checkNames } from './check-names.ts';

/**
 * Settings of {@link createAdmission}.
 *
 * @example const options: AdmissionOptions = { globalLimit: 100, limits: { acme: 5 } };
 */
export interface AdmissionOptions {
  /** Slots of all organizations together. Default: 100. */
  readonly globalLimit?: number;
  /** Slots of an organization without a limit of its own. Default: 20. */
  readonly defaultLimit?: number;
  /** Slots by organization; whole numbers from 1. The same in all processes that share slots. */
  readonly limits?: Readonly<Record<string, number>>;
  /** Shares the slots between processes. Default: this process counts alone. */
  readonly redisUrl?: string;
  /** Prefix of the keys in Redis; the same in all processes that share slots. Default: `headworks:`. */
  readonly keyPrefix?: string;
  /**
   * During a confirmed outage of Redis. `open` (default): admit within a share of each limit; a process that never
   * reached Redis counts alone. `closed`: admit nothing.
   */
  readonly redisFailureMode?: 'open' | 'closed';
}

/**
 * A slot; `release` frees it.
 *
 * @example
 * const admission = await createAdmission({ limits: { acme: 5 } });
 * const slot: AdmissionSlot = await admission.acquire('acme');
 * await slot.release();
 */
export interface AdmissionSlot {
  /** Frees the slot. Never fails; a second call has no effect. */
  release(): Promise<void>;
}

/**
 * Slots per organization and in all. One implementation: what `createAdmission` returns, without its internals.
 *
 * @example
 * const admission: Admission = await createAdmission({ limits: { acme: 5 } });
 * await admission.close();
 */
export interface Admission {
  /**
   * Acquires a slot, waiting up to `waitMs` (default: 0) in a queue that is fair between organizations. Fails with an
   * error whose `code` is `ADMISSION_ORG_LIMIT` or `ADMISSION_GLOBAL_LIMIT`, and `retryAfterMs` an estimate.
   */
  acquire(
    organization: string,
    options?: { readonly waitMs?: number; readonly signal?: AbortSignal },
  ): Promise<AdmissionSlot>;
  /** Sets the limit of an organization; applies at once. */
  setLimit(organization: string, limit: number): Promise<void>;
  /** Rejects those who wait, and stops renewing slots. */
  close(): Promise<void>;
}

/**
 * Creates an admission controller: never more slots are held than the limits allow.
 *
 * @example
 * const admission = await createAdmission({ globalLimit: 100, limits: { acme: 5 } });
 * const slot = await admission.acquire('acme', { waitMs: 10_000 });
 * try {
 *   console.log('at most five of these run at once');
 * } finally {
 *   await slot.release();
 * }
 */
export async function createAdmission(given: AdmissionOptions = {}): Promise<Admission> {
  checkNames('createAdmission', given, optionNames);
  const options = optionValues(admissionOptions, {
    globalLimit: given.globalLimit,
    defaultLimit: given.defaultLimit,
    redisFailureMode: given.redisFailureMode,
  });
  for (const [organization, limit] of Object.entries(given.limits ?? {})) checkLimit(organization, limit);
  await using closing = new AsyncDisposableStack();
  const redis = given.redisUrl === undefined ? null : await openRedis(given.redisUrl, given, closing);
  const store = { ...options, clock: systemClock };
  const held = new Map<string, Slot & { readonly acceptedAt: Date }>();
  const admission = await openAdmission({
    clock: systemClock,
    options,
    slots: redis ? new RedisSlotStore({ ...store, redis: redis.connection }) : new MemorySlotStore(store),
    probe: redis?.probe,
    limits: new FixedLimits(given.limits ?? {}),
    // Slots of other processes are unknown here: their own renewals and leases decide about them.
    executions: { unfinished: async () => [...held.values()], ended: async () => [] },
    events: silentEmitter,
    ledger: { record: async () => undefined },
    serverId: systemIds.uuid(),
    storeName: redis?.connection.address ?? 'this process',
    countsSlots: true,
    endOverdue: async () => undefined,
    checkReady: () => undefined,
  });
  closing.defer(() => admission.close());
  if (redis)
    closing.defer(redis.connection.onStateChange((state) => admission.connectionChanged(state === 'up')));
  const open = closing.move();
  return {
    acquire: async (organizationId, { waitMs = 0, signal = new AbortController().signal } = {}) => {
      const slot = { organizationId, executionId: systemIds.uuid() };
      await admission.controller.acquire({ ...slot, waitMs, signal });
      held.set(slot.executionId, { ...slot, acceptedAt: new Date(systemClock.now()) });
      return {
        release: async () => {
          if (held.delete(slot.executionId)) await admission.controller.release(slot);
        },
      };
    },
    setLimit: async (organizationId, limit) => {
      await admission.limits.set(organizationId, limit);
    },
    close: () => open.disposeAsync(),
  };
}

async function openRedis(
  url: string,
  { keyPrefix = 'headworks:' }: AdmissionOptions,
  closing: AsyncDisposableStack,
) {
  const { connectRedis } = await import('../platform/redis/connection.ts');
  const { RedisProbe } = await import('../platform/redis/probe.ts');
  const connection: RedisConnection = await connectRedis({
    url,
    keyPrefix,
    commandTimeoutMs: 1_000,
    whenUnreachable: 'stay-down',
  });
  closing.defer(() => connection.close());
  const probe = new RedisProbe({ url, keyPrefix });
  closing.defer(() => probe.close());
  return { connection, probe };
}

const optionNames = ['globalLimit', 'defaultLimit', 'limits', 'redisUrl', 'keyPrefix', 'redisFailureMode'];

function checkLimit(organization: string, limit: unknown): void {
  if (organization !== '' && Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= maxLimit)
    return;
  throw new CoreError(
    'CONFIG_INVALID',
    `limits.${organization} must be a whole number from 1 to ${maxLimit}, not ${String(limit)}.`,
  );
}

/** Limits of this process: given at the start, changed by `setLimit`. */
class FixedLimits implements LimitStore {
  readonly #limits: Map<string, OrganizationLimit>;

  constructor(limits: Readonly<Record<string, number>>) {
    const at = new Date(systemClock.now());
    this.#limits = new Map(Object.entries(limits).map(([id, limit]) => [id, limitOf(id, limit, at)]));
  }

  async get(organizationId: string): Promise<OrganizationLimit | null> {
    return this.#limits.get(organizationId) ?? null;
  }

  async list(): Promise<readonly OrganizationLimit[]> {
    return [...this.#limits.values()];
  }

  async set(organizationId: string, limit: number, at: Date) {
    const isNew = !this.#limits.has(organizationId);
    const stored = limitOf(organizationId, limit, at);
    this.#limits.set(organizationId, stored);
    return { limit: stored, isNew };
  }

  async delete(organizationId: string): Promise<OrganizationLimit | null> {
    const limit = await this.get(organizationId);
    this.#limits.delete(organizationId);
    return limit;
  }
}

const limitOf = (organizationId: string, concurrentRequestLimit: number, at: Date): OrganizationLimit => ({
  id: organizationId,
  organizationId,
  concurrentRequestLimit,
  createdAt: at,
  modifiedAt: at,
});
