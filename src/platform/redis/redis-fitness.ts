// Is this Redis one we can work with?
import type { CoreError } from '../../core/errors.ts';
import { notRedis, unusable } from './redis-errors.ts';

const oldestMajor = 6;

/** What is wrong with the server that gave this INFO text; undefined if nothing is. */
export function unfitness(info: string, address: string): CoreError | undefined {
  const fields = new Map(
    info.split(/\r?\n/).map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)] as const;
    }),
  );
  const version = fields.get('redis_version');
  if (version === undefined) return notRedis(address);
  const mode = fields.get('redis_mode');
  if (mode === 'cluster')
    return unusable(
      address,
      'Redis Cluster is not supported: one decision touches two keys, which a cluster may keep on two machines. ' +
        'Use a single Redis; one does tens of thousands of decisions a second.',
    );
  if (mode === 'sentinel')
    return unusable(
      address,
      'it is a Sentinel, which stores nothing. Point REDIS_URL at the Redis it watches.',
    );
  if (Number.parseInt(version, 10) < oldestMajor)
    return unusable(address, `it is version ${version}. Use Redis ${oldestMajor} or newer.`);
  if (fields.get('role') === 'slave' && fields.get('slave_read_only') !== '0')
    return unusable(address, 'it is a read-only replica. Point REDIS_URL at the primary.');
  return undefined;
}
