// Connects to the server of the data folder, or becomes it while none is running.
import type { ApiPath } from '../../api/client.ts';
import type { Config } from '../../config/index.ts';
import type { Clock, HttpTransport } from '../../core/index.ts';
import {
  CoreError,
  HeadworksError,
  HttpFailure,
  abortable,
  messageOf,
  systemClock,
} from '../../core/index.ts';
import { checkDataFolder } from '../../platform/data-folder/files.ts';
import { createUndiciTransport } from '../../platform/http-client/undici-transport.ts';
import type { ServerFile } from './local-server.ts';
import { localSession, readServerFile } from './local-server.ts';
import type { RunningServer } from '../start.ts';
import type { CallMethod, CallOptions, HeadworksClient, StreamedResponse, StreamedEvent } from './session.ts';
import { ServerSession } from './session.ts';

/** A new embedded store opens in 5 s on two cores; many commands on a busy machine take a multiple of that. */
const connectTimeoutMs = 60_000;
const retryMs = 50;
/** A server that accepts connections but times out this often, 5 s each, is stuck, not busy. */
const maxTimeouts = 3;
/** After a handover to `headworks serve`: how long this process does not compete for the data folder. */
const yieldMs = 5_000;

export interface ConnectOptions {
  /** The command line, shown in errors of other processes while this one holds the data folder. */
  readonly purpose: string;
  /** Called when this process keeps running only because others use its server. */
  readonly onWaitingForOthers?: (attached: number) => void;
  /** Cancels connecting, and calls that bring no signal of their own. */
  readonly signal?: AbortSignal;
  /** Credential of the calls; default: the admin token. Only the admin can become the server or keep it running. */
  readonly key?: string;
}

/** `own` is set when this process is the server. */
interface Connection {
  readonly session: ServerSession;
  readonly own: RunningServer | null;
  readonly detach: () => void;
  isLost: boolean;
}

/** Attaches to the server of this data folder (or the one at `client.serverUrl`), becoming it if there is none. */
export async function connect(config: Config, options: ConnectOptions): Promise<HeadworksClient> {
  const client = new ReconnectingClient(config, options, systemClock, createUndiciTransport({}));
  try {
    // Opening a store cannot be interrupted; a canceled command does not wait for it.
    await abortable(client.connection(), options.signal);
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

/** When the server is lost, the next call connects to its successor or becomes it. */
class ReconnectingClient implements HeadworksClient {
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
    return Boolean(this.#current?.own);
  }

  async call<T>(method: CallMethod, path: string, options: CallOptions = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.connection();
      try {
        return await connection.session.call<T>(method, path, { signal: this.#options.signal, ...options });
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        connection.isLost = true;
        const isSafeToRepeat = method === 'GET' || wasNotSent(error);
        if (!isSafeToRepeat || attempt === 3) throw serverUnreachable(connection.session.url, method, error);
      }
    }
  }

  stream(path: ApiPath, body: unknown, signal: AbortSignal): Promise<StreamedResponse> {
    return this.#once((session) => session.stream(path, body, signal), signal);
  }

  download(path: ApiPath, body: unknown, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return this.#once((session) => session.download(path, body, signal), signal);
  }

  async #once<T>(work: (session: ServerSession) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { session } = await this.connection();
    try {
      return await work(session);
    } catch (error) {
      throw isConnectionLost(error) && !signal.aborted
        ? serverUnreachable(session.url, 'POST', error)
        : error;
    }
  }

  async *events(signal: AbortSignal, onReconnect?: () => void): AsyncGenerator<StreamedEvent> {
    let connections = 0;
    const onOpen = () => {
      if (++connections > 1) onReconnect?.();
    };
    while (!signal.aborted) {
      const connection = await this.connection();
      try {
        yield* connection.session.events(signal, onOpen);
      } catch (error) {
        if (signal.aborted) return;
        if (!isConnectionLost(error)) throw error;
      }
      connection.isLost = true;
      await this.#clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    const connection = this.#current;
    this.#current = null;
    connection?.detach();
    if (connection?.own) await this.#stopWhenIdle(connection.own);
    await this.#transport.close();
  }

  /** The current connection, replaced when it is lost. Concurrent callers share one attempt. */
  async connection(): Promise<Connection> {
    if (this.#current && !this.#current.isLost) return this.#current;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = null));
    this.#current = await this.#connecting;
    return this.#current;
  }

  async #stopWhenIdle(own: RunningServer): Promise<void> {
    if (own.presence.attached > 0) this.#options.onWaitingForOthers?.(own.presence.attached);
    const stopped = Promise.withResolvers<void>();
    this.#options.signal?.addEventListener('abort', () => stopped.resolve(), { once: true });
    if (this.#options.signal?.aborted) stopped.resolve();
    await Promise.race([own.presence.onIdle(), own.stopped, stopped.promise]);
    await own.stop();
  }

  async #connect(): Promise<Connection> {
    const previous = this.#current;
    previous?.detach();
    const remote = this.#config.client.serverUrl;
    if (remote !== null) return this.#attachRemote(remote);
    await checkDataFolder(this.#config.data.folder);
    let timeouts = 0;
    const deadline = this.#clock.monotonic() + connectTimeoutMs;
    const mayBecomeServerAt = this.#clock.monotonic() + (previous?.own ? yieldMs : 0);
    for (;;) {
      const found = await this.#attachLocal();
      if (typeof found === 'object' && found) return found;
      if (found === 'timeout' && ++timeouts === maxTimeouts)
        throw serverStuck(await readServerFile(this.#config.data.folder));
      if (this.#clock.monotonic() >= mayBecomeServerAt) {
        const own = await this.#become(this.#clock.monotonic() >= deadline);
        if (own) return own;
      }
      await this.#clock.sleep(retryMs, this.#options.signal);
    }
  }

  async #attachRemote(url: string): Promise<Connection> {
    const { key } = this.#options;
    // A client with only a key does not keep a remote server running.
    if (key !== undefined) return this.#use(this.#session(url, key));
    // The token in the data folder belongs to the local server: it is never sent to another one.
    const token = this.#config.server.adminToken;
    if (token === null)
      throw new CoreError(
        'UNAUTHENTICATED',
        `Set HEADWORKS_ADMIN_TOKEN to the token of the server at ${url}.`,
      );
    try {
      return await this.#attach(this.#session(url, token));
    } catch (error) {
      throw isConnectionLost(error) ? serverUnreachable(url, 'GET', error) : error;
    }
  }

  /** Attaches to the server that `server.json` names; `null` and `timeout` mean try again. */
  async #attachLocal(): Promise<Connection | 'timeout' | null> {
    try {
      const session = await localSession(this.#config, this.#transport, this.#options);
      return session && (await this.#attach(session));
    } catch (error) {
      if (error instanceof HttpFailure && error.kind === 'timeout') return 'timeout';
      if (isConnectionLost(error)) return null;
      throw error;
    }
  }

  #session(url: string, token: string): ServerSession {
    return new ServerSession(url, token, this.#transport, this.#options.key);
  }

  /** Uses the server without attaching to it. */
  async #use(session: ServerSession): Promise<Connection> {
    try {
      await session.identity(this.#options.signal);
    } catch (error) {
      throw isConnectionLost(error) ? serverUnreachable(session.url, 'GET', error) : error;
    }
    return { session, own: null, detach: () => undefined, isLost: false };
  }

  async #attach(session: ServerSession): Promise<Connection> {
    const connection: Connection = { session, own: null, detach: () => release(), isLost: false };
    const release = await session.attach(() => (connection.isLost = true));
    return connection;
  }

  /** Starts a server in this process; `null` while another process holds the folder and there is time to retry. */
  async #become(isLastTry: boolean): Promise<Connection | null> {
    // Imported here: a command that finds a server never loads the stores.
    const { startServer } = await import('../start.ts');
    try {
      const { purpose, signal } = this.#options;
      const own = await startServer(this.#config, { role: 'command', purpose, signal });
      const session = this.#session(own.url, own.adminToken);
      const connection: Connection = { session, own, detach: () => undefined, isLost: false };
      void own.stopped.then(() => (connection.isLost = true));
      return connection;
    } catch (error) {
      if (!isLastTry && error instanceof HeadworksError && error.code === 'DATA_FOLDER_BUSY') return null;
      throw error;
    }
  }
}

function serverStuck(file: ServerFile | null): CoreError {
  return new CoreError(
    'SERVER_UNREACHABLE',
    `The Headworks server${file ? ` (process ${file.pid})` : ''} holds the data folder but does not respond. ` +
      'Check whether it is suspended or overloaded; if it is stuck, kill it and try again.',
    { isRetryable: true },
  );
}

/** The server does not exist any more or is stopping: connect to its successor. */
function isConnectionLost(error: unknown): boolean {
  if (error instanceof HttpFailure) return error.kind === 'network' || error.kind === 'timeout';
  return (
    error instanceof HeadworksError && (error.code === 'SHUTTING_DOWN' || error.code === 'SERVER_UNREACHABLE')
  );
}

/** The request was not processed, so repeating it does nothing twice. */
function wasNotSent(error: unknown): boolean {
  if (error instanceof HeadworksError) return error.code === 'SHUTTING_DOWN';
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return (cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED';
}

function serverUnreachable(url: string, method: string, cause: unknown): CoreError {
  const what =
    method === 'GET'
      ? 'does not respond'
      : 'was lost during the call, which may or may not have been executed';
  return new CoreError(
    'SERVER_UNREACHABLE',
    `The Headworks server at ${url} ${what} (${messageOf(cause)}). Check that it runs (headworks doctor), then try again.`,
    { cause, isRetryable: true },
  );
}
