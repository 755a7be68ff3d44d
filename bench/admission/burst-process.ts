// One of the processes of a burst: requests many slots at once on a message, and reports how many it acquired.
import { connectRedis } from '../../src/platform/redis/connection.ts';
import { RedisSlotStore } from '../../src/tenancy/admission/redis/redis-slot-store.ts';
import type { Burst } from './bursts.ts';

const [url = '', keyPrefix = '', number = ''] = process.argv.slice(2);
const redis = await connectRedis({ url, keyPrefix, commandTimeoutMs: 30_000 });
const store = new RedisSlotStore({ redis, leaseSeconds: 600, cacheTtlSeconds: 600 });

async function acquire(
  { round, organizations, limit, globalLimit }: Burst,
  caller: number,
): Promise<boolean> {
  const request = {
    organizationId: `${round}_${caller % organizations}`,
    executionId: `${round}:${number}:${caller}`,
    globalLimit,
  };
  let answer = await store.acquire(request);
  if (answer.kind === 'limit-unknown')
    answer = await store.acquire({ ...request, limit: { value: limit, token: answer.token } });
  if (answer.kind !== 'admitted' && answer.kind !== 'rejected')
    throw new Error(`Not decided: ${answer.kind}`);
  return answer.kind === 'admitted';
}

process.on('message', (burst: Burst) => {
  const requests = Array.from({ length: burst.callers }, (_, caller) => acquire(burst, caller));
  void Promise.all(requests).then((answers) => process.send?.(answers.filter(Boolean).length));
});
process.send?.(0);
