// Slots in Redis, shared by all servers, on the clock of Redis. Calls of the same tick share one round trip.
import type { RedisConnection } from '../../../platform/redis/connection.ts';
import { redisScript } from '../../../platform/redis/script.ts';
import type {
  RestoreResult,
  RestoringPeers,
  Slot,
  SlotCounts,
  SlotDecision,
  SlotRequest,
  SlotStore,
} from '../types.ts';

const script = (name: string) => redisScript(new URL(`./${name}.lua`, import.meta.url));
const acquireSlots = script('acquire-slots');
const releaseSlots = script('release-slots');
const renewSlots = script('renew-slots');
const listHolders = script('list-holders');
const countSlots = script('count-slots');
const invalidateLimits = script('invalidate-limits');
const countServers = script('count-servers');

export interface RedisSlotStoreOptions {
  readonly redis: RedisConnection;
  /** Whole seconds. */
  readonly leaseSeconds: number;
  /** Whole seconds. */
  readonly cacheTtlSeconds: number;
}

/** Occupies Redis for about a millisecond. */
const maxBatch = 256;

/** A lease lasts up to a second longer than configured: scores are whole seconds (see acquire-slots.lua). */
export class RedisSlotStore implements SlotStore {
  readonly #redis: RedisConnection;
  readonly #keys: ReturnType<typeof slotKeys>;
  /** As text, so that the client does not convert it for every call. */
  readonly #lease: string;
  readonly #cacheTtl: string;
  readonly #acquisitions = new CallBatch<SlotRequest, SlotDecision>({
    send: (waiting) => this.#sendAcquisitions(waiting),
    read: readDecision,
    maxSize: maxBatch,
  });
  readonly #releases = new CallBatch<Slot, boolean>({
    send: (waiting) => this.#sendReleases(waiting),
    read: (replies, index) => replies[index] === 1,
    maxSize: maxBatch,
  });

  constructor({ redis, leaseSeconds, cacheTtlSeconds }: RedisSlotStoreOptions) {
    this.#redis = redis;
    this.#keys = slotKeys((name) => redis.key(name));
    this.#lease = String(leaseSeconds);
    this.#cacheTtl = String(cacheTtlSeconds);
  }

  acquire(request: SlotRequest): Promise<SlotDecision> {
    return this.#acquisitions.add(request);
  }

  async renew(slots: readonly Slot[]): Promise<readonly string[]> {
    return slots.length === 0 ? [] : (await this.#renew(slots, ['0', '', '0'], []))[2];
  }

  release(slot: Slot): Promise<boolean> {
    return this.#releases.add(slot);
  }

  async restore(slots: readonly Slot[], peers?: RestoringPeers): Promise<RestoreResult> {
    const { serverId, awaited = [], unreachable = [] } = peers ?? {};
    const mode = ['1', serverId ?? '', String(awaited.length), ...awaited];
    const [wasEmpty, isComplete] = await this.#renew(slots, mode, unreachable);
    return { wasEmpty: wasEmpty === 1, isComplete: isComplete === 1 };
  }

  async holders(): Promise<readonly Slot[]> {
    const { global, organizations, slotsOf, limitOf } = this.#keys;
    const args = [this.#lease, slotsOf, limitOf];
    const reply = (await this.#redis.run(listHolders, [global, organizations], args)) as readonly unknown[];
    return reply.flatMap((each) => {
      const [organizationId, ...executionIds] = each as readonly string[];
      return executionIds.map((executionId) => ({ organizationId: organizationId ?? '', executionId }));
    });
  }

  async usage(organizationIds: readonly string[]): Promise<SlotCounts> {
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

  async invalidateLimits(organizationIds: readonly string[] | 'all'): Promise<number> {
    const { epoch, organizations, limitOf } = this.#keys;
    const isAll = organizationIds === 'all';
    const named = isAll ? [] : organizationIds.map((id) => limitOf + id);
    const keys = [epoch, organizations, ...named];
    return Number(await this.#redis.run(invalidateLimits, keys, isAll ? [limitOf] : []));
  }

  async heartbeat(serverId: string): Promise<number | null> {
    const { servers, epoch } = this.#keys;
    const count = Number(await this.#redis.run(countServers, [servers, epoch], [this.#lease, serverId]));
    return count === 0 ? null : count;
  }

  #sendAcquisitions(waiting: readonly { readonly call: SlotRequest }[]): Promise<readonly unknown[]> {
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
    // A release must not overtake the acquisition of the same slot.
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
    mode: readonly string[],
    unreachable: RestoringPeers['unreachable'],
  ): Promise<readonly [wasEmpty: number, isComplete: number, missing: readonly string[]]> {
    const { global, organizations, epoch, servers, slotsOf } = this.#keys;
    const keys = [global, organizations, epoch, servers];
    const args = [this.#lease, ...mode];
    for (const each of [{ serverId: '', slots }, ...unreachable])
      for (const [id, held] of Map.groupBy(each.slots, ({ organizationId }) => organizationId)) {
        keys.push(slotsOf + id);
        args.push(id, each.serverId, String(held.length), ...held.map(({ executionId }) => executionId));
      }
    return (await this.#redis.run(renewSlots, keys, args)) as [number, number, readonly string[]];
  }
}

/** The four values of a call (see acquire-slots.lua). */
function readDecision(
  replies: readonly unknown[],
  index: number,
  { globalLimit }: SlotRequest,
): SlotDecision {
  const at = 4 * index;
  const verdict = replies[at];
  if (verdict === 0) return { kind: 'not-restored' };
  if (verdict === 1) return { kind: 'limit-unknown', token: String(replies[at + 2]) };
  const usage = {
    organization: Number(replies[at + 1]),
    organizationLimit: Number(replies[at + 2]),
    global: Number(replies[at + 3]),
    globalLimit,
  };
  if (verdict === 2) return { kind: 'admitted', usage };
  return { kind: 'rejected', limitedBy: verdict === 3 ? 'organization' : 'global', usage };
}

/** Names of the founding document; the connection adds its prefix. */
function slotKeys(key: (name: string) => string) {
  return {
    global: key('api_deployment:rate_limit:global'),
    epoch: key('api_deployment:rate_limit:epoch'),
    /** Organizations that may have slots or cached limits, so that no script has to scan all keys. */
    organizations: key('api_deployment:rate_limit:organizations'),
    servers: key('api_deployment:rate_limit:servers'),
    /** Prefixes of the organization id. */
    slotsOf: key('api_deployment:rate_limit:org:'),
    limitOf: key('rate_limit:cache:org_limit:'),
  };
}

/** A call without a reply yet. */
interface PendingCall<Call, Result> {
  readonly call: Call;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

interface CallBatchOptions<Call, Result> {
  /** Sends the calls as one, in their order. A rejection applies to all of them. */
  readonly send: (calls: readonly PendingCall<Call, Result>[]) => Promise<readonly unknown[]>;
  /** The result of the call at `index` from the common reply. */
  readonly read: (replies: readonly unknown[], index: number, call: Call) => Result;
  /** More calls go out in several batches, so that one does not occupy the server for long. */
  readonly maxSize: number;
}

/** Calls made in the same tick travel in one batch. */
export class CallBatch<Call, Result> {
  readonly #options: CallBatchOptions<Call, Result>;
  readonly #flush = (): void => this.flush();
  #calls: PendingCall<Call, Result>[] = [];

  constructor(options: CallBatchOptions<Call, Result>) {
    this.#options = options;
  }

  add(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      const length = this.#calls.push({ call, resolve, reject });
      if (length === 1) queueMicrotask(this.#flush);
      else if (length === this.#options.maxSize) this.flush();
    });
  }

  /** Sends what is pending now. */
  flush(): void {
    const calls = this.#calls;
    if (calls.length === 0) return;
    this.#calls = [];
    const { send, read } = this.#options;
    send(calls).then(
      (replies) => calls.forEach(({ call, resolve }, index) => resolve(read(replies, index, call))),
      (error: unknown) => calls.forEach(({ reject }) => reject(error)),
    );
  }
}
