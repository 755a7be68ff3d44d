// PostgreSQL inside this process: PGlite in a worker thread, on files or in memory. A worker that dies or is stuck is
// replaced by a new one.
import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../core/clock.ts';
import { CoreError, shortageTexts } from '../../../core/errors.ts';
import { silentLog } from '../../../core/telemetry.ts';
import type { Log } from '../../../core/telemetry.ts';
import { folderUnusable, makeFolder, writeFileAtomic } from '../../data-folder/files.ts';
import { threadModule } from '../../threads/thread-pool.ts';
import type { SessionDatabase } from '../session-database.ts';
import { openSessionDatabase } from '../session-database.ts';
import { SqlError } from '../sql.ts';
import type { Command, CommandResult, Session, StateTracker, Store, Subscriptions } from '../store.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './pglite-worker.ts';

/** Files in a folder that no other process has open (hold the lock of the data folder), or memory. */
export type EmbeddedLocation = { readonly folder: string } | { readonly memory: true };

export type EmbeddedDatabaseOptions = EmbeddedLocation & {
  readonly schema: string;
  readonly clock: Clock;
  readonly log?: Log;
  /** A command that takes longer restarts the worker. Default: 60 s. */
  readonly stuckAfterMs?: number;
  /** Offer the extension age if its package is installed. Default: false, because it makes the store larger. */
  readonly withAge?: boolean;
};

/** Ready when it resolves: 0.5 s for files that exist, 3 s for new ones. Fails with STATE_UNUSABLE. */
export async function openEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<SessionDatabase> {
  const { schema, clock, log = silentLog, stuckAfterMs = 60_000, withAge = false } = options;
  const folder = 'folder' in options ? options.folder : undefined;
  if (folder !== undefined) await makeFolder(folder);
  return openSessionDatabase(
    { kind: 'embedded', schema, clock, log },
    (state, subscriptions) =>
      new EmbeddedStore({ folder, schema, withAge, clock, log, state, subscriptions, stuckAfterMs }),
  );
}

interface EmbeddedStoreDeps extends Omit<WorkerSettings, 'channels'> {
  readonly clock: Clock;
  readonly log: Log;
  readonly state: StateTracker;
  readonly subscriptions: Subscriptions;
  /** A command that runs longer means a stuck worker. */
  readonly stuckAfterMs: number;
}

/** New files take 3 s to create, several times that on a busy machine. */
const startTimeoutMs = 120_000;

class EmbeddedStore implements Store {
  readonly size = 1;
  readonly #deps: EmbeddedStoreDeps;
  /** Workers outlive their caller, so they start outside its async context. */
  readonly #runOutside = AsyncLocalStorage.snapshot();
  #host: PgliteHost | undefined;
  #starting: Promise<PgliteHost> | undefined;
  #isClosing = false;

  constructor(deps: EmbeddedStoreDeps) {
    this.#deps = deps;
  }

  async open(): Promise<Session> {
    const host = this.#host && !this.#host.lostBy ? this.#host : await this.#start();
    return this.#sessionOn(host);
  }

  async connect(): Promise<void> {
    await this.#start();
  }

  listen(command: Command, run: (command: Command) => Promise<unknown>): Promise<unknown> {
    return run(command);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const host = await this.#starting?.catch(() => undefined);
    await (host ?? this.#host)?.close();
  }

  #sessionOn(host: PgliteHost): Session {
    return {
      get isInTransaction() {
        return host.isInTransaction;
      },
      get lostBy() {
        return host.lostBy;
      },
      run: (command) => this.#withKillTimer(host, host.run(command), this.#deps.stuckAfterMs),
      // PGlite cannot be interrupted.
      cancel: () => Promise.resolve(),
      release: async (isBroken) => {
        if (isBroken) await host.kill(stuck('could not roll back'));
      },
    };
  }

  #start(): Promise<PgliteHost> {
    this.#starting ??= this.#runOutside(() => this.#startOnce()).finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #startOnce(): Promise<PgliteHost> {
    const { folder, state } = this.#deps;
    if (this.#host && folder === undefined) throw memoryLost();
    // Two workers on the same files would destroy them.
    await this.#host?.exited;
    // New files are created in a worker of their own: the memory that initdb takes is returned only when its thread ends.
    if (folder !== undefined && isNewStore(folder)) await (await this.#startWorker()).close();
    const host = await this.#startWorker();
    state.set('up');
    void host.lost.then(() => this.#replace(host));
    return host;
  }

  async #startWorker(): Promise<PgliteHost> {
    const { folder, schema, withAge, subscriptions } = this.#deps;
    const host = new PgliteHost(
      { folder, schema, withAge, channels: subscriptions.channels },
      (channel, payload) => subscriptions.deliver(channel, payload),
    );
    this.#host = host;
    await this.#withKillTimer(host, host.ready, startTimeoutMs);
    if (folder !== undefined) await markInitialized(folder);
    return host;
  }

  /** Listeners need notifications even if no command is sent, so a lost worker is replaced at once. */
  async #replace(host: PgliteHost): Promise<void> {
    if (this.#isClosing || this.#host !== host) return;
    const { log, state } = this.#deps;
    state.set('down');
    log.warn('The thread of the embedded store ended; a new one starts.');
    await this.#start().catch((error: unknown) =>
      log.error('The embedded store did not restart; the next command tries again.', { error }),
    );
  }

  async #withKillTimer<T>(host: PgliteHost, work: Promise<T>, timeoutMs: number): Promise<T> {
    const cancelTimer = this.#deps.clock.after(timeoutMs, () => {
      void host.kill(stuck(`did not reply for ${timeoutMs} ms`));
    });
    try {
      return await work;
    } finally {
      cancelTimer();
    }
  }
}

/** A new worker would come up empty, and look as if nothing had ever been stored. */
function memoryLost(): CoreError {
  return new CoreError(
    'STATE_UNUSABLE',
    'The embedded store was in memory only, and is lost with its thread. Start again, with a data folder.',
  );
}

function stuck(what: string): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `The embedded store ${what} and is being started again. Try once more; if it happens again, the statement needs a LIMIT.`,
    { isRetryable: true, retryAfterMs: 1000 },
  );
}

// PGlite writes PG_VERSION last and takes a folder without it for a new store: over a damaged store it would create an
// empty one. The marker distinguishes a damaged store from one whose first setup was interrupted.
const markerIn = (folder: string): string => join(folder, 'initialized');

/** Whether the folder has a store, intact or damaged. Read-only. */
export function hasEmbeddedStore(folder: string): boolean {
  return existsSync(join(folder, 'PG_VERSION')) || existsSync(markerIn(folder));
}

/**
 * Whether opening this folder creates a new store. Writes nothing; fails with STATE_UNUSABLE when a store that was
 * once open has lost its PG_VERSION.
 */
function isNewStore(folder: string): boolean {
  if (existsSync(join(folder, 'PG_VERSION'))) return false;
  if (!existsSync(markerIn(folder))) return true;
  throw new CoreError(
    'STATE_UNUSABLE',
    `The embedded store in ${folder} is damaged: its file PG_VERSION is missing. Restore the folder from a backup, or move it away to start with an empty store.`,
    { details: { folder } },
  );
}

/** The store has been opened: from now on a missing PG_VERSION means damage. */
async function markInitialized(folder: string): Promise<void> {
  if (existsSync(markerIn(folder))) return;
  const text =
    'Headworks has opened this store. Keep this file: it distinguishes a damaged store from a new one.\n';
  await writeFileAtomic(markerIn(folder), text).catch((error: unknown) => {
    throw folderUnusable(folder, error);
  });
}

/** One PGlite worker as seen by the main thread: commands and replies, until it closes, dies or is killed. */
class PgliteHost {
  readonly #folder: string | undefined;
  readonly #worker: Worker;
  readonly #ready = Promise.withResolvers<void>();
  readonly #exited = Promise.withResolvers<void>();
  readonly #lostSignal = Promise.withResolvers<void>();
  /** Resolves when it accepts commands; rejects when the files cannot be opened. */
  readonly ready = this.#ready.promise;
  /** Resolves when the thread has ended, for whatever reason. */
  readonly exited = this.#exited.promise;
  /** Resolves when it accepts no more commands; the thread may end a moment later. */
  readonly lost = this.#lostSignal.promise;
  readonly #pending = new Map<number, PromiseWithResolvers<CommandResult>>();
  readonly #onNotification: (channel: string, payload: string) => void;
  #nextId = 1;
  #lost: CoreError | undefined;
  /** As of the last reply. */
  isInTransaction = false;

  constructor(settings: WorkerSettings, onNotification: (channel: string, payload: string) => void) {
    this.#folder = settings.folder;
    this.#onNotification = onNotification;
    this.ready.catch(() => undefined);
    this.#worker = new Worker(threadModule('./pglite-worker', import.meta.url), { workerData: settings });
    this.#worker.on('message', (message: FromWorker) => this.#receive(message));
    this.#worker.on('error', (error) =>
      this.#markLost(fullDisk(settings.folder, error) ?? workerDied(error)),
    );
    this.#worker.on('exit', () => {
      this.#markLost(fullDisk(settings.folder) ?? workerDied(undefined));
      this.#exited.resolve();
    });
  }

  get lostBy(): CoreError | undefined {
    return this.#lost;
  }

  run(command: Command): Promise<CommandResult> {
    if (this.#lost) return Promise.reject(this.#lost);
    const id = this.#nextId++;
    const reply = Promise.withResolvers<CommandResult>();
    this.#pending.set(id, reply);
    this.#send({ kind: 'run', id, command });
    return reply.promise;
  }

  /** Flushes everything and ends the thread. */
  async close(): Promise<void> {
    if (!this.#lost) this.#send({ kind: 'close' });
    await this.exited;
  }

  /** Terminates the thread: pending commands fail with `reason`. */
  async kill(reason: CoreError): Promise<void> {
    this.#markLost(reason);
    await this.#worker.terminate();
  }

  #send(message: ToWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
    this.#worker.postMessage(message);
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'ready':
        return this.#ready.resolve();
      case 'unusable':
        return this.#markLost(fullDisk(this.#folder) ?? filesUnusable(message.message));
      case 'notification':
        return this.#onNotification(message.channel, message.payload);
      case 'outcome':
        return this.#settle(message);
    }
  }

  #settle({ id, result, isInTransaction }: FromWorker & { kind: 'outcome' }): void {
    this.isInTransaction = isInTransaction;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if ('sqlState' in result) pending?.reject(new SqlError(result));
    else pending?.resolve(result);
  }

  #markLost(reason: CoreError): void {
    this.#lost ??= reason;
    this.isInTransaction = false;
    this.#lostSignal.resolve();
    this.#ready.reject(this.#lost);
    for (const { reject } of this.#pending.values()) reject(this.#lost);
    this.#pending.clear();
  }
}

/** Postgres writes its log in files of 16 MB: with less free space PGlite aborts, without a reason. */
const minFreeBytes = 32_000_000;

/** The reason why the thread ended, if the disk is full. */
function fullDisk(folder: string | undefined, cause?: unknown): CoreError | undefined {
  if (folder === undefined) return undefined;
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize >= minFreeBytes) return undefined;
  } catch {
    return undefined;
  }
  const { problem, remedy } = shortageTexts.disk;
  return new CoreError('STATE_UNAVAILABLE', `The embedded store in ${folder} ${problem}. ${remedy}`, {
    isRetryable: true,
    retryAfterMs: 2_000,
    details: { shortage: 'disk' },
    cause,
  });
}

function workerDied(cause: unknown): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    'The thread of the embedded store ended unexpectedly and is restarting. Try again.',
    { isRetryable: true, retryAfterMs: 1000, cause },
  );
}

function filesUnusable(message: string): CoreError {
  return new CoreError(
    'STATE_UNUSABLE',
    `The embedded store cannot be opened: ${explained(message)}. If its files are damaged, restore them from a backup or move the folder away.`,
    { cause: new Error(message) },
  );
}

/** Messages of internal failures of PGlite mean nothing to users. */
function explained(message: string): string {
  if (/^Aborted\(|failed to initialize|RuntimeError|unreachable/.test(message))
    return 'its files cannot be read (PGlite failed)';
  return message.replace(/[.\s]+$/, '');
}
