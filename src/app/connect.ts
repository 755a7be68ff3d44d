// One holder, many clients: finds the server that runs on this data folder, or becomes it for the time being.
import type { Clock, HttpTransport } from '../core/index.ts';
import { abortable, CoreError, HeadworksError, HttpFailure, messageOf, systemClock } from '../core/index.ts';
import type { Config } from '../config/index.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import { readAdminToken } from './admin-token.ts';
import type { CallOptions, HeadworksClient, StreamedAnswer, StreamedEvent } from './headworks-client.ts';
import type { ServerFile } from './server-file.ts';
import { readServerFile } from './server-file.ts';
import { ServerSession } from './server-session.ts';
import type { RunningServer } from './start-server.ts';

/** A cold embedded store opens in 5 s on two cores; a crowd of commands on a busy machine takes many times that. */
const patienceMs = 60_000;
const lookAgainMs = 50;
/** A server that takes connections and says nothing for so many times five seconds is stuck, not busy. */
const mostSilences = 3;
/** After making room for `headworks serve`, how long we leave it the first try at the data folder. */
const courtesyMs = 5_000;

export interface ConnectOptions {
  /** The command, as a person would recognise it: shown to others who find the folder held. */
  readonly purpose: string;
  /** Called when this process stays only because others still use its server. */
  readonly onWaitingForOthers?: (attached: number) => void;
  readonly signal?: AbortSignal;
  /** Calls are made with this key; default: as the admin. Only the admin can become the server, or keep it running. */
  readonly key?: string;
}

/** What `find` came up with: somebody else's server, or our own. */
interface Connection {
  readonly session: ServerSession;
  readonly own: RunningServer | null;
  readonly detach: () => void;
  isGone: boolean;
}

/** Attaches to the server of this data folder (or the one at `client.serverUrl`), becoming it if there is none. */
export async function connect(config: Config, options: ConnectOptions): Promise<HeadworksClient> {
  const client = new FollowingClient(config, options, systemClock, createUndiciTransport({}));
  try {
    // Opening a store cannot be interrupted half-way; whoever gives up does not wait for it.
    await abortable(client.connection(), options.signal);
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

/** Follows the server: when it goes away, the next call finds its successor, or becomes it. */
class FollowingClient implements HeadworksClient {
  readonly #config: Config;
  readonly #options: ConnectOptions;
  readonly #clock: Clock;
  readonly #transport: HttpTransport;
  #connecting: Promise<Connection> | null = null;
  #current: Connection | null = null;

  constructor(config: Config, options: ConnectOptions, clock: Clock, transport: HttpTransport) {
    this.#config = config;
    this.#options = options;
    this.#clock = clock;
    this.#transport = transport;
  }

  get url(): string {
    return this.#current?.session.url ?? '';
  }

  get isOwnServer(): boolean {
    return this.#current?.own !== null && this.#current?.own !== undefined;
  }

  async call<T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options: CallOptions = {},
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.connection();
      try {
        return await connection.session.call<T>(method, path, options);
      } catch (error) {
        if (!isGone(error)) throw error;
        connection.isGone = true;
        const isSafeToRepeat = method === 'GET' || isRefused(error);
        if (!isSafeToRepeat || attempt === 3) throw gone(connection.session.url, method, error);
      }
    }
  }

  stream(path: string, body: unknown, signal: AbortSignal): Promise<StreamedAnswer> {
    return this.#once((session) => session.stream(path, body, signal), signal);
  }

  download(path: string, body: unknown, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return this.#once((session) => session.download(path, body, signal), signal);
  }

  async #once<T>(work: (session: ServerSession) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { session } = await this.connection();
    try {
      return await work(session);
    } catch (error) {
      throw isGone(error) && !signal.aborted ? gone(session.url, 'POST', error) : error;
    }
  }

  async *events(signal: AbortSignal): AsyncGenerator<StreamedEvent> {
    let last: string | undefined;
    while (!signal.aborted) {
      const connection = await this.connection();
      try {
        for await (const event of connection.session.events(last, signal)) {
          if (event.id !== '') last = event.id;
          yield event;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!isGone(error)) throw error;
      }
      connection.isGone = true;
      last = undefined;
      await this.#clock.sleep(lookAgainMs, signal).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    const connection = this.#current;
    this.#current = null;
    connection?.detach();
    if (connection?.own) await this.#leaveWhenAlone(connection.own);
    await this.#transport.close();
  }

  /** The live connection, made anew when the last one is gone. Callers at the same time share one search. */
  async connection(): Promise<Connection> {
    if (this.#current && !this.#current.isGone) return this.#current;
    this.#connecting ??= this.#find().finally(() => (this.#connecting = null));
    this.#current = await this.#connecting;
    return this.#current;
  }

  async #leaveWhenAlone(own: RunningServer): Promise<void> {
    if (own.presence.attached > 0) this.#options.onWaitingForOthers?.(own.presence.attached);
    const stopped = Promise.withResolvers<void>();
    this.#options.signal?.addEventListener('abort', () => stopped.resolve(), { once: true });
    if (this.#options.signal?.aborted) stopped.resolve();
    await Promise.race([own.presence.whenAlone(), own.stopped, stopped.promise]);
    await own.stop();
  }

  async #find(): Promise<Connection> {
    const previous = this.#current;
    previous?.detach();
    const remote = this.#config.client.serverUrl;
    if (remote !== null) return this.#attachRemote(remote);
    let silent = 0;
    const giveUpAt = this.#clock.monotonic() + patienceMs;
    const mayBecomeAt = this.#clock.monotonic() + (previous?.own ? courtesyMs : 0);
    for (;;) {
      const found = await this.#attachLocal();
      if (typeof found === 'object' && found) return found;
      if (found === 'silent' && ++silent === mostSilences)
        throw frozen(await readServerFile(this.#config.data.folder));
      if (this.#clock.monotonic() >= mayBecomeAt) {
        const own = await this.#become(this.#clock.monotonic() >= giveUpAt);
        if (own) return own;
      }
      await this.#clock.sleep(lookAgainMs, this.#options.signal);
    }
  }

  async #attachRemote(url: string): Promise<Connection> {
    const { key } = this.#options;
    // Whoever has only a key is no reason for a server elsewhere to stay.
    if (key !== undefined) return this.#visit(this.#session(url, key));
    // The token in our own folder is of our own server: it is not sent to another one.
    const token = this.#config.server.adminToken;
    if (token === null)
      throw new CoreError(
        'UNAUTHENTICATED',
        `Set HEADWORKS_ADMIN_TOKEN to the token of the server at ${url}.`,
      );
    try {
      return await this.#attach(this.#session(url, token));
    } catch (error) {
      throw isGone(error) ? gone(url, 'GET', error) : error;
    }
  }

  /** The server that `server.json` names, if it lives and lets us in; `null` and `silent` mean look again. */
  async #attachLocal(): Promise<Connection | 'silent' | null> {
    const folder = this.#config.data.folder;
    const file = await readServerFile(folder);
    if (!file) return null;
    const token = await readAdminToken(folder, this.#config.server.adminToken);
    if (token === null) return null;
    const session = this.#session(file.url, token);
    try {
      if ((await session.identity(this.#options.signal)).instance !== file.instance) return null;
      return await this.#attach(session);
    } catch (error) {
      if (error instanceof HttpFailure && error.kind === 'timeout') return 'silent';
      if (isGone(error)) return null;
      throw error;
    }
  }

  #session(url: string, token: string): ServerSession {
    return new ServerSession(url, token, this.#transport, this.#options.key);
  }

  /** Uses the server without being attached to it. */
  async #visit(session: ServerSession): Promise<Connection> {
    try {
      await session.identity(this.#options.signal);
    } catch (error) {
      throw isGone(error) ? gone(session.url, 'GET', error) : error;
    }
    return { session, own: null, detach: () => undefined, isGone: false };
  }

  async #attach(session: ServerSession): Promise<Connection> {
    const connection: Connection = { session, own: null, detach: () => release(), isGone: false };
    const release = await session.attach(() => (connection.isGone = true));
    return connection;
  }

  /** Our own server; `null` while another process holds the folder and we are still patient. */
  async #become(isLastTry: boolean): Promise<Connection | null> {
    // Loaded only now: a command that finds a server never pays for the stores.
    const { startServer } = await import('./start-server.ts');
    try {
      const { purpose, signal } = this.#options;
      const own = await startServer(this.#config, {
        role: 'command',
        purpose,
        ...(signal ? { signal } : {}),
      });
      const session = this.#session(own.url, own.adminToken);
      const connection: Connection = { session, own, detach: () => undefined, isGone: false };
      void own.stopped.then(() => (connection.isGone = true));
      return connection;
    } catch (error) {
      if (!isLastTry && error instanceof HeadworksError && error.code === 'DATA_FOLDER_BUSY') return null;
      throw error;
    }
  }
}

function frozen(file: ServerFile | null): CoreError {
  return new CoreError(
    'SERVER_UNREACHABLE',
    `The Headworks server${file ? ` (process ${file.pid})` : ''} holds the data folder but does not answer. ` +
      'Look whether it is stopped or overloaded; if it is stuck, end it and try again.',
    { isRetryable: true },
  );
}

/** The server is not there, or is leaving: look for its successor. */
function isGone(error: unknown): boolean {
  if (error instanceof HttpFailure) return error.kind === 'network' || error.kind === 'timeout';
  return (
    error instanceof HeadworksError && (error.code === 'SHUTTING_DOWN' || error.code === 'SERVER_UNREACHABLE')
  );
}

/** Nothing was sent, so nothing can have been done twice. */
function isRefused(error: unknown): boolean {
  if (error instanceof HeadworksError) return error.code === 'SHUTTING_DOWN';
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return (cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED';
}

function gone(url: string, method: string, cause: unknown): CoreError {
  const what =
    method === 'GET' ? 'does not answer' : 'went away during the call; it may or may not have been done';
  return new CoreError(
    'SERVER_UNREACHABLE',
    `The Headworks server at ${url} ${what} (${messageOf(cause)}). Check that it runs (headworks doctor), then try again.`,
    { cause, isRetryable: true },
  );
}
