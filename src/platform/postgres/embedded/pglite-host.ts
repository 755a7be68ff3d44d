// One PGlite worker as seen by the main thread: commands and replies, until it closes, dies or is killed.
import { Worker } from 'node:worker_threads';
import { CoreError } from '../../../core/errors.ts';
import { threadModule } from '../../threads/thread-module.ts';
import { SqlError } from '../sql.ts';
import type { Command, CommandResult } from '../store.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './pglite-worker.ts';

interface PendingReply {
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (error: unknown) => void;
}

export class PgliteHost {
  readonly #worker: Worker;
  readonly #ready = Promise.withResolvers<void>();
  readonly #exited = Promise.withResolvers<void>();
  readonly #lostSignal = Promise.withResolvers<void>();
  readonly #pending = new Map<number, PendingReply>();
  readonly #onNotification: (channel: string, payload: string) => void;
  #nextId = 1;
  #lost: CoreError | undefined;
  /** As of the last reply. */
  inTransaction = false;

  constructor(settings: WorkerSettings, onNotification: (channel: string, payload: string) => void) {
    this.#onNotification = onNotification;
    this.#ready.promise.catch(() => undefined);
    this.#worker = new Worker(threadModule('./pglite-worker', import.meta.url), { workerData: settings });
    this.#worker.on('message', (message: FromWorker) => this.#receive(message));
    this.#worker.on('error', (error) => this.#lose(workerDied(error)));
    this.#worker.on('exit', () => {
      this.#lose(workerDied(undefined));
      this.#exited.resolve();
    });
  }

  /** Resolves when it accepts commands; rejects when the files cannot be opened. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves when the thread has ended, for whatever reason. */
  get exited(): Promise<void> {
    return this.#exited.promise;
  }

  /** Resolves when it accepts no more commands; the thread may end a moment later. */
  get lost(): Promise<void> {
    return this.#lostSignal.promise;
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  run(command: Command): Promise<CommandResult> {
    if (this.#lost) return Promise.reject(this.#lost);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#send({ kind: 'run', id, command });
    });
  }

  /** Flushes everything and ends the thread. */
  async close(): Promise<void> {
    if (!this.#lost) this.#send({ kind: 'close' });
    await this.#exited.promise;
  }

  /** Terminates the thread: pending commands fail with `reason`. */
  async kill(reason: CoreError): Promise<void> {
    this.#lose(reason);
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
        return this.#lose(filesUnusable(message.message));
      case 'notification':
        return this.#onNotification(message.channel, message.payload);
      case 'outcome':
        return this.#settle(message);
    }
  }

  #settle({ id, result, inTransaction }: FromWorker & { kind: 'outcome' }): void {
    this.inTransaction = inTransaction;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if ('sqlState' in result) pending?.reject(new SqlError(result));
    else pending?.resolve(result);
  }

  #lose(reason: CoreError): void {
    this.#lost ??= reason;
    this.inTransaction = false;
    this.#lostSignal.resolve();
    this.#ready.reject(this.#lost);
    for (const { reject } of this.#pending.values()) reject(this.#lost);
    this.#pending.clear();
  }
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
