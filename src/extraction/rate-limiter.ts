// The rate limiter of a source: one rate for all calls to the same host with the same credential.
//
// Grants are kept in one file of the data folder: all vaults, runs and dry runs of a machine share them, and they
// survive a restart. With Redis, machines share them too; while Redis is unavailable, the file alone decides.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock, Emitter } from '../core/index.ts';
import { makeFolder, createPrivateFile } from '../platform/data-folder/files.ts';
import type { BusyRetryOptions } from '../platform/sqlite/open-sqlite.ts';
import { isSqliteBusy, openSqlite, retryWhileBusy } from '../platform/sqlite/open-sqlite.ts';
import type {
  LateGrant,
  LocalRateWindow,
  MemoryRateWindowOptions,
  RateLimiterSnapshot,
  RateLimits,
  RateWindow,
  WindowReply,
  WindowRequest,
  WindowState,
} from '../resilience/index.ts';
import { AdaptiveRateLimiter, FallbackRateWindow, MemoryRateWindow } from '../resilience/index.ts';
import { SqliteGrantJournal } from '../resilience/rate-limiter/sqlite-journal.ts';
import type { ExtractionEvents, WaitReason } from './events.ts';

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
  /** Drops what was learned from 429s. */
  readonly isReset: boolean;
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
  const limiter = new AdaptiveRateLimiter(window, clock);
  if (options.isReset) await limiter.resetBackoff();
  return limiter;
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

  /** Null while another process has the journal: the call then waits for another grant. */
  sendLate(grant: LateGrant): string | null {
    try {
      return this.#window.sendLate(grant);
    } catch (error) {
      if (isSqliteBusy(error)) return null;
      throw error;
    }
  }

  syncFrom(state: WindowState): void | Promise<void> {
    return retryWhileBusy(() => this.#window.syncFrom(state), this.#options);
  }
}

/** Share of a second over which calls are spread; the rest allows catching up. */
const share = 0.8;
/** Timers cannot wait for less. */
const shortestMs = 1;

/**
 * Spreads calls over the second instead of making them all at its beginning. Servers count arrivals: the calls of a burst
 * delay each other, those of the next burst do not, and a limit that was kept here is exceeded there (measured: 5 to
 * 25 ms apart in bursts of 50, with 10 ms to spare).
 */
export class Pacer {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#spacingMs = (share * 1000) / perSecond;
  }

  /** Resolves when the next call is due; the limiter still has to grant it. Rejects when the signal aborts first. */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.#spacingMs < shortestMs) return;
    const now = this.#clock.monotonic();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#spacingMs;
    if (at > now) await this.#clock.sleep(at - now, signal);
  }
}

/** Shorter waits are not reported. */
const reportAfterMs = 1_000;

/** Reports what an extraction waits for before it has progress to show: a login may wait a minute for a permit. */
export class WaitReporter {
  readonly #events: Emitter<ExtractionEvents>;
  readonly #clock: Clock;
  #reported = 0;
  #hasEnded = false;

  constructor(events: Emitter<ExtractionEvents>, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  report(reason: WaitReason, why: string, waitMs: number | null = null): void {
    if (this.#hasEnded) return;
    this.#reported += 1;
    this.#events.emit('extraction:waiting', { reason, why, waitMs });
  }

  /** Runs `acquire`, and reports the rate limit when that takes long and no other reason was reported. */
  async whileAcquiring<T>(limiter: AdaptiveRateLimiter, acquire: () => Promise<T>): Promise<T> {
    const before = this.#reported;
    const cancel = this.#clock.after(reportAfterMs, () => {
      if (this.#reported === before) this.report('rate-limit', limitReason(limiter.snapshot()));
    });
    try {
      return await acquire();
    } finally {
      cancel();
    }
  }

  /** Ends the reports: from now on progress is reported instead. */
  end(): void {
    this.#hasEnded = true;
  }
}

function limitReason(snapshot: RateLimiterSnapshot): string {
  const { paused_until: pausedUntil, permitted_per_second: second, permitted_per_minute: minute } = snapshot;
  if (pausedUntil !== null) return `the source requested a pause until ${pausedUntil}`;
  const rates = [
    ...(minute === null ? [] : [`${rounded(minute)} calls per minute`]),
    ...(second === null ? [] : [`${rounded(second)} per second`]),
  ];
  return `earlier calls have used up the rate limit (${rates.join(', ')})`;
}

const rounded = (rate: number): string => String(Math.round(rate * 10) / 10);
