// A process that requests many slots concurrently over several connections on demand, and reports who was admitted.
import type { SlotStore } from '../../src/tenancy/index.ts';
import { RedisSlotStore } from '../../src/tenancy/admission/redis/redis-slot-store.ts';
import { connectRedis } from '../../src/platform/redis/connection.ts';

interface Burst {
  readonly keyPrefix: string;
  readonly number: number;
  readonly connections: number;
  readonly callers: number;
  readonly organizations: number;
  readonly limit: number;
  readonly globalLimit: number;
}

const burst = JSON.parse(process.env['BURST'] ?? '') as Burst;
const url = process.env['REDIS_URL'] ?? '';
const stores: SlotStore[] = [];
for (let opened = 0; opened < burst.connections; opened++) {
  const redis = await connectRedis({ url, keyPrefix: burst.keyPrefix, commandTimeoutMs: 30_000 });
  stores.push(new RedisSlotStore({ redis, leaseSeconds: 60, cacheTtlSeconds: 600 }));
}

async function acquire(store: SlotStore, caller: number, round: number): Promise<string | undefined> {
  const executionId = `${round}-${burst.number}-${caller}`;
  const request = {
    organizationId: `org_${caller % burst.organizations}`,
    executionId,
    globalLimit: burst.globalLimit,
  };
  let answer = await store.acquire(request);
  if (answer.kind === 'limit-unknown')
    answer = await store.acquire({ ...request, limit: { value: burst.limit, token: answer.token } });
  if (answer.kind !== 'admitted' && answer.kind !== 'rejected')
    throw new Error(`Not decided: ${answer.kind}`);
  return answer.kind === 'admitted' ? executionId : undefined;
}

process.on('message', (round: number) => {
  const answers = stores.flatMap((store, opened) =>
    Array.from({ length: burst.callers }, (_, index) =>
      acquire(store, opened * burst.callers + index, round),
    ),
  );
  void Promise.all(answers).then((ids) => process.send?.(ids.filter((id) => id !== undefined)));
});
process.send?.([]);
