// What can be checked without a server: when none answers and none can be started, or when the settings are wrong.
import { join } from 'node:path';
import { HeadworksError, systemClock } from '../../core/index.ts';
import type { Config } from '../../config/index.ts';
import type { DoctorReport } from '../../http/index.ts';
import { makeAll, machineChecks } from './checks.ts';
import type { Finding } from './findings.ts';
import { notConfigured, ok, problem } from './findings.ts';
import { redisRemedy } from './store-checks.ts';

/** Shorter than a check may take, so that the store's own words are the finding. */
const connectTimeoutMs = 2_000;

const remedy = 'Do what the message says; "headworks config" shows what is configured and where.';

/** `failure`: why there is no server to ask. A store that it speaks of is not asked again. Changes nothing anywhere. */
export async function examineHere(config: Config, failure: HeadworksError | null): Promise<DoctorReport> {
  const told = (prefix: string) => (failure?.code.startsWith(prefix) ? failure : null);
  return {
    checks: await makeAll([
      ...machineChecks(config),
      ['state store', () => found(told('STATE_'), () => askState(config))],
      ['redis', () => found(told('REDIS_'), () => askRedis(config))],
    ]),
  };
}

async function found(known: HeadworksError | null, ask: () => Promise<Finding>): Promise<Finding> {
  if (known) return problem(known.message, remedy);
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof HeadworksError)) throw error;
    return problem(error.message, remedy);
  }
}

async function askState({ state, data }: Config): Promise<Finding> {
  if (state.databaseUrl === null)
    return ok(`The embedded one, in ${join(data.folder, 'state')}; not opened for this.`);
  const { openServerDatabase } = await import('../../platform/postgres/server/index.ts');
  const database = await openServerDatabase({
    url: state.databaseUrl,
    schema: state.schema,
    clock: systemClock,
    poolSize: 1,
    statementTimeoutMs: connectTimeoutMs,
    connectTimeoutMs,
  });
  try {
    return ok(`Postgres ${database.capabilities.version}, ${database.capabilities.kind} answers.`);
  } finally {
    await database.close();
  }
}

async function askRedis({ redis }: Config): Promise<Finding> {
  if (redis.url === null) return notConfigured('Limits are kept in one process.', redisRemedy);
  const { connectRedis } = await import('../../platform/redis/index.ts');
  const connection = await connectRedis({
    url: redis.url,
    connectTimeoutMs,
    commandTimeoutMs: connectTimeoutMs,
  });
  await connection.close();
  return ok(`Redis at ${connection.address} answers.`);
}
