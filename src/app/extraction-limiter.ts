// The rate limiter of an extraction: one rate for all that ask the same server with the same credentials.
//
// Grants are kept in one file of the data folder, so that all vaults, runs and dry runs of a machine share them and a
// restart forgets none. With REDIS_URL machines share them too; while Redis is away the file alone decides.
import { join } from 'node:path';
import type { Config } from '../config/index.ts';
import { systemClock } from '../core/index.ts';
import { makeOwnFile } from '../platform/data-folder/make-own-file.ts';
import { makeFolder } from '../platform/data-folder/make-folder.ts';
import { openSqlite } from '../platform/sqlite/index.ts';
import type { MemoryRateWindowOptions, RateLimits, RateWindow } from '../resilience/index.ts';
import {
  AdaptiveRateLimiter,
  FallbackRateWindow,
  MemoryRateWindow,
  onceFileIsFree,
  PatientRateWindow,
} from '../resilience/index.ts';
import { SqliteGrantJournal } from '../resilience/rate-limiter/sqlite/sqlite-grant-journal.ts';

/** Whoever holds the file longer than this is not deciding but hanging. */
const patienceMs = 10_000;
/** As long as one try may block the thread. */
const busyTimeoutMs = 50;

export interface ExtractionLimiterOptions {
  /** See `limiterKey`: no credential in clear. */
  readonly key: string;
  readonly closing: AsyncDisposableStack;
  readonly signal: AbortSignal;
  /** Told when another process holds the file for longer than a moment. */
  readonly onHeld: (why: string) => void;
  /** Told when Redis goes away, with the cause, and when it is back (undefined). */
  readonly onChange: (cause: unknown) => void;
}

/**
 * Fails with DATA_FOLDER_UNUSABLE, a SqliteError, REDIS_UNUSABLE, or the signal's reason while it waits for the file; a
 * Redis that is only away is no failure.
 */
export async function openExtractionLimiter(
  config: Config,
  { key, closing, signal, onHeld, onChange }: ExtractionLimiterOptions,
): Promise<AdaptiveRateLimiter> {
  const { rateLimitPerMinute, rateLimitPerSecond, adaptive } = config.extraction;
  const limits = { perMinute: rateLimitPerMinute, perSecond: rateLimitPerSecond };
  await makeFolder(config.data.folder);
  const file = join(config.data.folder, 'limits.sqlite');
  const onWait = () => onHeld(`another process holds ${file}, which keeps the rate limits`);
  const wait = { clock: systemClock, signal, patienceMs, onWait };
  const open = () => openWindow(file, key, { limits, adaptive, clock: systemClock });
  const { window: kept, close } = await onceFileIsFree(open, wait);
  closing.defer(close);
  const local = new PatientRateWindow(kept, wait);
  const shared = await openShared(config, key, limits, closing);
  const window = shared ? new FallbackRateWindow({ shared, local, clock: systemClock, onChange }) : local;
  return new AdaptiveRateLimiter(window, systemClock);
}

function openWindow(
  file: string,
  key: string,
  options: MemoryRateWindowOptions,
): { readonly window: MemoryRateWindow; readonly close: () => void } {
  makeOwnFile(file);
  const db = openSqlite(file, { busyTimeoutMs });
  try {
    const journal = new SqliteGrantJournal(db, key);
    const window = new MemoryRateWindow({ ...options, journal });
    return { window, close: () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}

async function openShared(
  { redis: { url, keyPrefix, commandTimeoutMs }, extraction: { adaptive } }: Config,
  key: string,
  limits: RateLimits,
  closing: AsyncDisposableStack,
): Promise<RateWindow | null> {
  if (url === null) return null;
  const [{ connectRedis }, { RedisRateWindow }] = await Promise.all([
    import('../platform/redis/index.ts'),
    import('../resilience/rate-limiter/redis/redis-rate-window.ts'),
  ]);
  const redis = await connectRedis({ url, keyPrefix, commandTimeoutMs, whenUnreachable: 'stay-down' });
  closing.defer(() => redis.close());
  return new RedisRateWindow({ redis, key, limits, adaptive });
}
