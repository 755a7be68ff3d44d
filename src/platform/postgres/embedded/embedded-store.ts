// The one session of the embedded store, kept alive: a worker that dies or gets stuck is replaced by a new one.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../../core/clock.ts';
import { CoreError } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import { identifier } from '../sql.ts';
import type { StateTracker } from '../state-tracker.ts';
import type { Command, Session, Store } from '../store.ts';
import { scriptCommand } from '../command.ts';
import type { Subscriptions } from '../subscriptions.ts';
import { isNewStore, markInitialised } from './initialised-marker.ts';
import { PgliteHost } from './pglite-host.ts';

export interface EmbeddedStoreParts {
  readonly folder: string | undefined;
  readonly schema: string;
  readonly withAge: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly state: StateTracker;
  readonly subscriptions: Subscriptions;
  /** A command that runs longer means a stuck worker. */
  readonly stuckAfterMs: number;
}

/** New files take 3 s to set up, and a busy machine several times that. */
const longestStartMs = 120_000;

export class EmbeddedStore implements Store {
  readonly size = 1;
  readonly #parts: EmbeddedStoreParts;
  /** Workers start outside of any caller's async context: they outlive the caller. */
  readonly #outside = AsyncLocalStorage.snapshot();
  #host: PgliteHost | undefined;
  #starting: Promise<PgliteHost> | undefined;
  #isClosing = false;

  constructor(parts: EmbeddedStoreParts) {
    this.#parts = parts;
  }

  async open(): Promise<Session> {
    const host = this.#host && !this.#host.isLost ? this.#host : await this.#start();
    return this.#sessionOn(host);
  }

  async subscribe(channel: string, run: (command: Command) => Promise<unknown>): Promise<void> {
    await run(scriptCommand(`listen ${identifier(channel).compile().text}`));
  }

  async unsubscribe(channel: string, run: (command: Command) => Promise<unknown>): Promise<void> {
    await run(scriptCommand(`unlisten ${identifier(channel).compile().text}`));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const host = await this.#starting?.catch(() => undefined);
    await (host ?? this.#host)?.close();
  }

  #sessionOn(host: PgliteHost): Session {
    return {
      get inTransaction() {
        return host.inTransaction;
      },
      run: (command) => this.#watched(host, host.run(command), this.#parts.stuckAfterMs),
      // PGlite has one thread and does not look up while it works: there is nothing to tell it.
      cancel: () => Promise.resolve(),
      release: async (isSpoilt) => {
        if (isSpoilt) await host.kill(stuck('could not roll back'));
      },
    };
  }

  #start(): Promise<PgliteHost> {
    this.#starting ??= this.#outside(() => this.#startOnce()).finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #startOnce(): Promise<PgliteHost> {
    const { folder, state } = this.#parts;
    if (this.#host && folder === undefined) throw memoryLost();
    // Two workers on the same files would destroy them.
    await this.#host?.exited;
    if (folder !== undefined && (await isNewStore(folder))) await this.#initialize();
    const host = await this.#startWorker();
    state.set('up');
    void host.lost.then(() => this.#replace(host));
    return host;
  }

  /** Creates the files in a worker of its own: the memory that initdb takes is returned only when its thread ends. */
  async #initialize(): Promise<void> {
    const host = await this.#startWorker();
    await host.close();
  }

  async #startWorker(): Promise<PgliteHost> {
    const { folder, schema, withAge, subscriptions } = this.#parts;
    const host = new PgliteHost(
      { folder, schema, withAge, channels: subscriptions.channels },
      (channel, payload) => subscriptions.deliver(channel, payload),
    );
    this.#host = host;
    await this.#watched(host, host.ready, longestStartMs);
    if (folder !== undefined) await markInitialised(folder);
    return host;
  }

  /** Listeners want to hear of notifications even if nobody sends a command, so a lost worker is replaced at once. */
  async #replace(host: PgliteHost): Promise<void> {
    if (this.#isClosing || this.#host !== host) return;
    const { log, state } = this.#parts;
    state.set('down');
    log.warn('The thread of the embedded store was lost; a new one starts.');
    await this.#start().catch((error: unknown) =>
      log.error('The embedded store did not start again; the next command tries once more.', { error }),
    );
  }

  async #watched<T>(host: PgliteHost, work: Promise<T>, longestMs: number): Promise<T> {
    const stopWatching = this.#parts.clock.after(longestMs, () => {
      void host.kill(stuck(`did not answer for ${longestMs} ms`));
    });
    try {
      return await work;
    } finally {
      stopWatching();
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
