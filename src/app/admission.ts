// Plugs admission into the house: where slots are counted, what is under way, and work beside requests.
import type { Config } from '../config/index.ts';
import { CoreError, systemClock, systemIds } from '../core/index.ts';
import type { LedgerRecorder } from '../ledger/index.ts';
import type { Database } from '../platform/postgres/index.ts';
import { checkNotifyRoundTrip, poolerRemedy, ChangeFeed } from '../platform/postgres/change-feed.ts';
import { RedisSlotStore } from '../tenancy/admission/redis/redis-slot-store.ts';
import type { AdmissionDeps, ExecutionIndex, OpenAdmission } from '../tenancy/index.ts';
import { AdmissionError, MemorySlotStore, openAdmission } from '../tenancy/index.ts';
import { PostgresLimitStore, limitsChannel, limitsTopic } from '../tenancy/postgres/postgres-limit-store.ts';
import { serverLockName } from '../platform/postgres/server/session-lock.ts';
import type { ServerRole } from './client/server-file.ts';
import type { Stores } from './stores.ts';
import type { Telemetry } from './telemetry.ts';

export interface AdmissionHouseParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  readonly ledger: LedgerRecorder;
  readonly executions: ExecutionIndex & {
    /** Calls back with the id of every execution that ends, in any process. */
    onEnded(listener: (executionId: string) => void): Promise<() => Promise<void>>;
  };
  /** Ends an execution that has held its slot for as long as it may; that frees the slot. */
  readonly endOverdue: AdmissionDeps['endOverdue'];
  /** Redis is back and knows everything: the ledger's row of this kind can be closed. */
  readonly onRedisBack: (kind: string) => void;
}

export interface HouseAdmission extends OpenAdmission {
  /**
   * May this process run executions? Without Redis only the one server that counts slots may: elsewhere they would
   * run without one.
   */
  readonly takesExecutions: boolean;
}

/** Slots that must not be counted here: why. */
type Refusal = () => AdmissionError | null;

/**
 * Fails with ADMISSION_NEEDS_REDIS when this server or another one on the same database counts slots in its own memory,
 * or when that could not be known.
 */
export async function startAdmission(
  parts: AdmissionHouseParts,
  closing: AsyncDisposableStack,
): Promise<HouseAdmission> {
  const { config, stores, telemetry, role, ledger, executions, endOverdue } = parts;
  const { database, redis } = stores;
  const refusal = await guard(parts, closing);
  const store = { ...config.admission, clock: systemClock };
  const slots = redis ? new RedisSlotStore({ ...store, redis }) : new MemorySlotStore(store);
  const probe = await openProbe(config);
  closing.defer(() => probe?.close());
  const admission = await openAdmission({
    clock: systemClock,
    events: telemetry.events,
    ledger,
    slots,
    probe,
    limits: new PostgresLimitStore(database, systemIds),
    executions,
    options: config.admission,
    serverId: isLasting(role) ? systemIds.uuid() : null,
    storeName: redis?.address ?? 'this process',
    countsSlots: refusal() === null,
    endOverdue,
    checkReady: () => {
      const refused = refusal();
      if (refused) throw refused;
      if (database.state === 'down') throw stateIsDown();
    },
  });
  closing.defer(() => admission.close());
  closing.defer(await executions.onEnded((executionId) => admission.controller.executionEnded(executionId)));
  // With Redis whoever changes a limit clears the cache for all; this process's own memory only it can reach.
  if (!redis) closing.defer(await limitChanges(database).watch(() => void slots.invalidateLimits('all')));
  if (redis) closing.defer(redis.onStateChange((state) => admission.connectionChanged(state === 'up')));
  closing.defer(
    telemetry.events.listen(({ name }) => {
      if (name === 'admission:outage-ended') parts.onRedisBack(admission.repair.kind);
    }),
  );
  for (const gauge of admission.gauges) telemetry.metrics.gauge(gauge);
  return { ...admission, takesExecutions: refusal() === null };
}

/** Loaded only when it is used. */
async function openProbe({ redis }: Config) {
  if (redis.url === null) return undefined;
  const { RedisProbe } = await import('../platform/redis/index.ts');
  return new RedisProbe({ url: redis.url, keyPrefix: redis.keyPrefix });
}

/** A server that callers know, unlike a worker, or a command that is a server for a moment. */
const isLasting = (role: ServerRole): boolean => role === 'serve' || role === 'demo';

const limitChanges = (database: Database) =>
  new ChangeFeed(database, limitsChannel(database.schema), [limitsTopic]);

/**
 * Without Redis one server alone may count. On a database that others can reach it holds a lock alone, which servers
 * with Redis share, and which dies with its holder. A command that is a server for a moment, or a worker, takes no part
 * in that: without Redis it leaves counting to the server.
 */
async function guard(
  { config, stores, telemetry, role }: AdmissionHouseParts,
  closing: AsyncDisposableStack,
): Promise<Refusal> {
  const { databaseUrl, schema } = config.state;
  const hasRedis = stores.redis !== null;
  if (databaseUrl === null || !stores.database.capabilities.isShared) return () => null;
  if (!isLasting(role)) return () => (hasRedis ? null : needsRedis('This process is no server that stays.'));
  const { takeSessionLock } = await import('../platform/postgres/server/index.ts');
  const lock = await takeSessionLock({
    url: databaseUrl,
    name: serverLockName(schema),
    mode: hasRedis ? 'shared' : 'exclusive',
    clock: systemClock,
    onChange: (state) => telemetry.events.emit('admission:server-lock-changed', { state }),
  });
  const other = hasRedis ? 'Another server without Redis' : 'Another server';
  if (!lock) throw needsRedis(`${other} uses the same database.`);
  closing.defer(() => lock.close());
  if (!hasRedis && !(await checkNotifyRoundTrip(stores.database))) throw lockDoesNotHold();
  return () => (lock.state === 'taken' ? needsRedis(`${other} took over this database.`) : null);
}

function lockDoesNotHold(): AdmissionError {
  return new AdmissionError(
    'ADMISSION_NEEDS_REDIS',
    'Between this server and its database seems to be a connection pooler that lends connections by the transaction: ' +
      'what the database tells does not arrive, and the lock that keeps a second server away does not hold. ' +
      `${poolerRemedy} Or set REDIS_URL.`,
  );
}

function needsRedis(why: string): AdmissionError {
  return new AdmissionError(
    'ADMISSION_NEEDS_REDIS',
    `${why} Without Redis a server counts requests in its own memory, so that two would admit more than the limit. ` +
      'Set REDIS_URL to the same Redis for all servers, or stop the other one.',
  );
}

function stateIsDown(): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    'The state store is away, so that nothing can be accepted. Try again in a moment.',
    { isRetryable: true, retryAfterMs: 2_000 },
  );
}
