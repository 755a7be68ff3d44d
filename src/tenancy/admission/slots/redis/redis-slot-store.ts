// Slots in Redis: all servers share one count, on Redis's clock. One round trip a call, shared by calls of one moment.
import type { RedisConnection } from '../../../../platform/redis/ports.ts';
import { redisScript } from '../../../../platform/redis/redis-script.ts';
import type { Acquired, AcquireRequest, HeldSlot, Slot, SlotStore } from '../../ports.ts';
import { CallBatch } from './call-batch.ts';
import { slotKeys } from './slot-keys.ts';
import type { SlotKeys } from './slot-keys.ts';

const script = (name: string) => redisScript(new URL(`./${name}.lua`, import.meta.url));
const acquireSlots = script('acquire-slots');
const releaseSlots = script('release-slots');
const renewSlots = script('renew-slots');
const listHolders = script('list-holders');
const countSlots = script('count-slots');
const forgetLimits = script('forget-limits');
const countServers = script('count-servers');

export interface RedisSlotStoreOptions {
  readonly redis: RedisConnection;
  /** Whole seconds. */
  readonly leaseSeconds: number;
  /** Whole seconds. */
  readonly cacheTtlSeconds: number;
}

/** Redis does nothing else for about a millisecond. */
const largestBatch = 256;

/** A lease lasts up to a second longer than asked: Redis keeps whole seconds (see acquire-slots.lua). */
export class RedisSlotStore implements SlotStore {
  readonly #redis: RedisConnection;
  readonly #keys: SlotKeys;
  /** As text: the client need not convert it for every call. */
  readonly #lease: string;
  readonly #cacheTtl: string;
  readonly #acquisitions = new CallBatch<AcquireRequest, Acquired>({
    send: (waiting) => this.#sendAcquisitions(waiting),
    answer: acquired,
    largest: largestBatch,
  });
  readonly #releases = new CallBatch<Slot, boolean>({
    send: (waiting) => this.#sendReleases(waiting),
    answer: (replies, index) => replies[index] === 1,
    largest: largestBatch,
  });

  constructor({ redis, leaseSeconds, cacheTtlSeconds }: RedisSlotStoreOptions) {
    this.#redis = redis;
    this.#keys = slotKeys((name) => redis.key(name));
    this.#lease = String(leaseSeconds);
    this.#cacheTtl = String(cacheTtlSeconds);
  }

  acquire(request: AcquireRequest): Promise<Acquired> {
    return this.#acquisitions.ask(request);
  }

  async renew(slots: readonly Slot[]): Promise<readonly string[]> {
    return slots.length === 0 ? [] : (await this.#renew(slots, '0'))[1];
  }

  release(slot: Slot): Promise<boolean> {
    return this.#releases.ask(slot);
  }

  async restore(slots: readonly Slot[]): Promise<{ readonly wasEmpty: boolean }> {
    return { wasEmpty: (await this.#renew(slots, '1'))[0] === 1 };
  }

  async holders(): Promise<readonly HeldSlot[]> {
    const { global, organizations, slotsOf, limitOf } = this.#keys;
    const args = [this.#lease, slotsOf, limitOf];
    const reply = (await this.#redis.run(listHolders, [global, organizations], args)) as readonly unknown[];
    return pairs(reply).flatMap(([organizationId, held]) =>
      pairs(held as readonly unknown[]).map(([executionId, seconds]) => ({
        organizationId: String(organizationId),
        executionId: String(executionId),
        renewedAt: new Date(Number(seconds) * 1_000),
      })),
    );
  }

  async usage(
    organizationIds: readonly string[],
  ): Promise<{ readonly global: number; readonly organizations: ReadonlyMap<string, number> }> {
    const { global, slotsOf } = this.#keys;
    const keys = [global, ...organizationIds.map((id) => slotsOf + id)];
    const counts = (await this.#redis.run(countSlots, keys, [this.#lease])) as readonly number[];
    const organizations = new Map(organizationIds.map((id, index) => [id, counts[index + 1] ?? 0]));
    return { global: counts[0] ?? 0, organizations };
  }

  async cachedLimits(organizationIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (organizationIds.length === 0) return new Map();
    const names = organizationIds.map((id) => this.#keys.limitOf + id);
    const texts = (await this.#redis.command('mget', names)) as readonly (string | null)[];
    return new Map(
      organizationIds.flatMap((id, index) => {
        const text = texts[index] ?? null;
        return text === null ? [] : [[id, Number(text)]];
      }),
    );
  }

  async forgetLimits(organizationIds: readonly string[] | 'all'): Promise<number> {
    const { epoch, organizations, limitOf } = this.#keys;
    const isAll = organizationIds === 'all';
    const named = isAll ? [] : organizationIds.map((id) => limitOf + id);
    const keys = [epoch, organizations, ...named];
    return Number(await this.#redis.run(forgetLimits, keys, isAll ? [limitOf] : []));
  }

  async heartbeat(serverId: string): Promise<number> {
    return Number(await this.#redis.run(countServers, [this.#keys.servers], [this.#lease, serverId]));
  }

  #sendAcquisitions(waiting: readonly { readonly call: AcquireRequest }[]): Promise<readonly unknown[]> {
    const { global, epoch, organizations, slotsOf, limitOf } = this.#keys;
    const keys = [global, epoch, organizations];
    const args = [this.#lease, this.#cacheTtl];
    for (const { call } of waiting) {
      const { organizationId, executionId, globalLimit, limit } = call;
      keys.push(slotsOf + organizationId, limitOf + organizationId);
      const reading = limit ? `${limit.value} ${limit.token} ${organizationId}` : '';
      args.push(executionId, String(globalLimit), reading);
    }
    return this.#redis.run(acquireSlots, keys, args, 'at-once') as Promise<readonly unknown[]>;
  }

  #sendReleases(waiting: readonly { readonly call: Slot }[]): Promise<readonly unknown[]> {
    // What is still to be taken comes first: nobody frees a slot before it was taken.
    this.#acquisitions.flush();
    const keys = [this.#keys.global];
    const executions: string[] = [];
    for (const { call } of waiting) {
      keys.push(this.#keys.slotsOf + call.organizationId);
      executions.push(call.executionId);
    }
    return this.#redis.run(releaseSlots, keys, executions, 'at-once') as Promise<readonly unknown[]>;
  }

  async #renew(
    slots: readonly Slot[],
    opens: '0' | '1',
  ): Promise<readonly [opened: number, missing: readonly string[]]> {
    const { global, organizations, epoch, slotsOf } = this.#keys;
    const byOrganization = Map.groupBy(slots, ({ organizationId }) => organizationId);
    const keys = [global, organizations, epoch, ...Array.from(byOrganization.keys(), (id) => slotsOf + id)];
    const args = [this.#lease, opens];
    for (const [id, held] of byOrganization)
      args.push(id, String(held.length), ...held.map(({ executionId }) => executionId));
    return (await this.#redis.run(renewSlots, keys, args)) as [number, readonly string[]];
  }
}

/** Reads the four values of a call (see acquire-slots.lua). */
function acquired(replies: readonly unknown[], index: number, { globalLimit }: AcquireRequest): Acquired {
  const at = 4 * index;
  const verdict = replies[at];
  if (verdict === 0) return { kind: 'unrestored' };
  if (verdict === 1) return { kind: 'limit-unknown', token: String(replies[at + 2]) };
  const usage = {
    organization: Number(replies[at + 1]),
    organizationLimit: Number(replies[at + 2]),
    global: Number(replies[at + 3]),
    globalLimit,
  };
  if (verdict === 2) return { kind: 'admitted', usage };
  return { kind: 'refused', layer: verdict === 3 ? 'organization' : 'global', usage };
}

function pairs(flat: readonly unknown[]): (readonly [unknown, unknown])[] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index], flat[2 * index + 1]]);
}
