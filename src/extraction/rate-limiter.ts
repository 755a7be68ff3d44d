// The rate limiter of a source: one rate for all calls to the same host with the same credential.
//
// Grants are kept in one file of the data folder: all vaults, runs and dry runs of a machine share them, and they
// survive a restart. With Redis, machines share them too; while Redis is unavailable, the file alone decides.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../core/index.ts';
import { makeFolder, createPrivateFile } from '../platform/data-folder/files.ts';
import { openSqlite } from '../platform/sqlite/open-sqlite.ts';
import type { BusyRetryOptions } from '../platform/sqlite/retry-busy.ts';
import { retryWhileBusy } from '../platform/sqlite/retry-busy.ts';
import type {
  LocalRateWindow,
  MemoryRateWindowOptions,
  RateLimits,
  RateWindow,
  WindowReply,
  WindowRequest,
  WindowState,
} from '../resilience/index.ts';
import { AdaptiveRateLimiter, FallbackRateWindow, MemoryRateWindow } from '../resilience/index.ts';
import { SqliteGrantJournal } from '../resilience/rate-limiter/sqlite-journal.ts';

/** Identifies a limiter in stores and logs. The credential appears only as a short SHA-256; null means none. */
export function limiterKey(host: string, credential: string | null): string {
  const hash =
    credential === null ? 'anonymous' : createHash('sha256').update(credential).digest('hex').slice(0, 16);
  return `${host.toLowerCase()}:${hash}`;
}

/** A process that locks the file longer than this is considered hung. */
const lockTimeoutMs = 10_000;
/** How long one try may block the thread. */
const busyTimeoutMs = 50;

export interface RedisOptions {
  readonly url: string | null;
  readonly keyPrefix: string;
  readonly commandTimeoutMs: number;
}

export interface SourceLimiterOptions {
  /** See `limiterKey`. */
  readonly key: string;
  readonly limits: RateLimits;
  readonly isAdaptive: boolean;
  readonly dataFolder: string;
  readonly redis: RedisOptions;
  readonly clock: Clock;
  readonly closing: AsyncDisposableStack;
  readonly signal: AbortSignal;
  /** Called when another process locks the file for longer than a moment. */
  readonly onLocked: (reason: string) => void;
  /** Called with the error when Redis becomes unavailable, and with undefined when it is back. */
  readonly onSharingChange: (cause: unknown) => void;
}

/**
 * Fails with DATA_FOLDER_UNUSABLE, a SqliteError, REDIS_UNUSABLE, or the signal's reason while it waits for the file.
 * A Redis that is merely unavailable is not an error.
 */
export async function openSourceLimiter(options: SourceLimiterOptions): Promise<AdaptiveRateLimiter> {
  const { key, limits, isAdaptive: adaptive, clock, closing, signal, onLocked, dataFolder } = options;
  await makeFolder(dataFolder);
  const file = join(dataFolder, 'limits.sqlite');
  const onWait = () => onLocked(`another process has locked ${file}, which keeps the rate limits`);
  const retryOptions = { clock, signal, timeoutMs: lockTimeoutMs, onWait };
  const open = () => openJournaledWindow(file, key, { limits, adaptive, clock });
  const { window: journaled, close } = await retryWhileBusy(open, retryOptions);
  closing.defer(close);
  const local = new BusyRetryWindow(journaled, retryOptions);
  const shared = await openSharedWindow(options);
  const window = shared
    ? new FallbackRateWindow({ shared, local, clock, onChange: options.onSharingChange })
    : local;
  return new AdaptiveRateLimiter(window, clock);
}

function openJournaledWindow(
  file: string,
  key: string,
  options: MemoryRateWindowOptions,
): { readonly window: MemoryRateWindow; readonly close: () => void } {
  createPrivateFile(file);
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

async function openSharedWindow(options: SourceLimiterOptions): Promise<RateWindow | null> {
  const { redis: redisOptions, key, limits, isAdaptive: adaptive, closing } = options;
  const { url, keyPrefix, commandTimeoutMs } = redisOptions;
  if (url === null) return null;
  const [{ connectRedis }, { RedisRateWindow }] = await Promise.all([
    import('../platform/redis/connection.ts'),
    import('../resilience/rate-limiter/redis-window.ts'),
  ]);
  const redis = await connectRedis({ url, keyPrefix, commandTimeoutMs, whenUnreachable: 'stay-down' });
  closing.defer(() => redis.close());
  return new RedisRateWindow({ redis, key, limits, adaptive });
}

/**
 * A window whose journal another process may lock for a while: no grants meanwhile, but the event loop runs and callers
 * can abort. Replies without a promise while the journal is free. Fails with SQLITE_BUSY after the timeout.
 */
export class BusyRetryWindow implements LocalRateWindow {
  readonly limits: RateLimits;
  readonly isLocal = true;
  readonly #window: MemoryRateWindow;
  readonly #options: BusyRetryOptions;

  constructor(window: MemoryRateWindow, options: BusyRetryOptions) {
    this.limits = window.limits;
    this.#window = window;
    this.#options = options;
  }

  exchange(request: WindowRequest): WindowReply | Promise<WindowReply> {
    return retryWhileBusy(() => this.#window.exchange(request), this.#options);
  }

  syncFrom(state: WindowState): void | Promise<void> {
    return retryWhileBusy(() => this.#window.syncFrom(state), this.#options);
  }
}
