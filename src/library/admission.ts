// headworks/admission: slots for concurrent work, limited per organization and in all, in this process or over Redis.
import { z } from 'zod';
import { redisOptions } from '../app/options.ts';
import { withDefaults } from '../core/options.ts';
import { silentEmitter, systemClock, systemIds } from '../core/index.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { admissionOptions, maxLimit } from '../tenancy/options.ts';
import { MemorySlotStore } from '../tenancy/admission/memory-slot-store.ts';
import { openAdmission } from '../tenancy/admission/open-admission.ts';
import { RedisSlotStore } from '../tenancy/admission/redis/redis-slot-store.ts';
import type { LimitStore, OrganizationLimit, Slot } from '../tenancy/admission/types.ts';
import {
  amount,
  checkInput,
  object,
  OpenCalls,
  redisSettings,
  run,
  setting,
  settingNames,
  signal,
  text,
  whole,
} from './boundary.ts';

export { HeadworksError } from '../core/errors.ts';

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
 * await admission.close();
 */
export interface AdmissionSlot {
  /** Frees the slot. Never fails; a second call has no effect. */
  release(): Promise<void>;
}

/**
 * Slots per organization and in all.
 *
 * @example
 * const admission: Admission = await createAdmission({ limits: { acme: 5 } });
 * await admission.close();
 */
export interface Admission {
  /**
   * Acquires a slot, waiting up to `waitMs` (default: 0) in a queue that is fair between organizations. Fails with
   * ADMISSION_ORG_LIMIT or ADMISSION_GLOBAL_LIMIT, and `retryAfterMs` is an estimate.
   */
  acquire(
    organization: string,
    options?: { readonly waitMs?: number; readonly signal?: AbortSignal },
  ): Promise<AdmissionSlot>;
  /** Sets the limit of an organization; applies at once. */
  setLimit(organization: string, limit: number): Promise<void>;
  /** Rejects waiting requests with CLOSED, and stops renewing slots. */
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
 * await admission.close();
 */
export async function createAdmission(options: AdmissionOptions = {}): Promise<Admission> {
  const given = checkInput('createAdmission', createInput, options);
  return run(names, () => open(given));
}

const limit = whole(1, maxLimit);
const { globalLimit, defaultLimit, redisFailureMode } = admissionOptions.fields;

const createInput = object({
  globalLimit: setting(globalLimit),
  defaultLimit: setting(defaultLimit),
  limits: z.record(z.string().min(1, 'needs an organization'), limit).optional(),
  redisUrl: setting(redisOptions.fields.url),
  keyPrefix: setting(redisOptions.fields.keyPrefix),
  redisFailureMode: setting(redisFailureMode),
});

const acquireInput = object({
  organization: text,
  options: object({ waitMs: amount(0).optional(), signal: signal.optional() }).optional(),
});

const setLimitInput = object({ organization: text, limit });

const names = {
  settings: { ...redisSettings, redisFailureMode: settingNames(admissionOptions, 'redisFailureMode') },
};

async function open(given: z.output<typeof createInput>): Promise<Admission> {
  const { limits = {}, redisUrl, keyPrefix = 'headworks:', ...rest } = given;
  const options = withDefaults(admissionOptions, rest);
  await using closing = new AsyncDisposableStack();
  const redis = redisUrl === undefined ? null : await openRedis(redisUrl, keyPrefix, closing);
  const store = { ...options, clock: systemClock };
  const held = new Map<string, Slot & { readonly acceptedAt: Date }>();
  const admission = await openAdmission({
    clock: systemClock,
    options,
    slots: redis ? new RedisSlotStore({ ...store, redis: redis.connection }) : new MemorySlotStore(store),
    probe: redis?.probe,
    limits: new FixedLimits(limits),
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
  const calls = new OpenCalls('admission controller', closing.move(), names);
  return {
    acquire: async (...[organization, given]) => {
      const input = checkInput('acquire', acquireInput, { organization, options: given });
      const { waitMs = 0, signal: stopped = new AbortController().signal } = input.options ?? {};
      const slot = { organizationId: organization, executionId: systemIds.uuid() };
      await calls.run(() => admission.controller.acquire({ ...slot, waitMs, signal: stopped }), stopped);
      held.set(slot.executionId, { ...slot, acceptedAt: new Date(systemClock.now()) });
      return {
        release: async () => {
          if (held.delete(slot.executionId)) await admission.controller.release(slot);
        },
      };
    },
    setLimit: async (...[organization, given]) => {
      const input = checkInput('setLimit', setLimitInput, { organization, limit: given });
      await calls.run(() => admission.limits.set(input.organization, input.limit));
    },
    close: () => calls.close(),
  };
}

async function openRedis(url: string, keyPrefix: string, closing: AsyncDisposableStack) {
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
