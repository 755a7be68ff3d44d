// Connections to a PostgreSQL server: settings, and the control connection beside the pool, which receives notifications,
// cancels statements and checks whether the server is reachable.
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig } from 'pg';
import type { ClientBase } from 'pg';
import { CoreError } from '../../../core/errors.ts';
import { quoted } from '../sql.ts';
import { parserOf } from '../values.ts';
import { tooOld, translateConnectError } from './server-errors.ts';

export interface ConnectionSettings {
  readonly url: string;
  readonly schema: string;
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** The server rolls back a transaction that is idle for so long, in case this process hangs. */
const idleInTransactionMs = 60_000;

export function clientConfig(settings: ConnectionSettings): ClientConfig {
  if (!/^postgres(ql)?:\/\//.test(settings.url))
    throw new CoreError(
      'STATE_UNUSABLE',
      'The database URL does not begin with postgres://. It should look like postgres://host:5432/database, with user:password@ before the host.',
    );
  return {
    connectionString: settings.url,
    application_name: 'headworks',
    connectionTimeoutMillis: settings.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: (oid: number) => parserOf(oid) },
  };
}

/** Sent as SET after connecting: connection poolers drop start-up parameters. */
export function sessionSetup(settings: ConnectionSettings): string {
  return [
    `set search_path = ${quoted(settings.schema)}, public`,
    `set timezone = 'UTC'`,
    `set datestyle = 'ISO'`,
    `set intervalstyle = 'postgres'`,
    `set bytea_output = 'hex'`,
    `set jit = off`,
    `set client_min_messages = warning`,
    `set statement_timeout = ${Math.ceil(settings.statementTimeoutMs)}`,
    `set idle_in_transaction_session_timeout = ${idleInTransactionMs}`,
  ].join('; ');
}

/** Host, port, database and user, without the password. */
export function describeTarget(settings: ConnectionSettings): string {
  const { host, port, database, user } = new Client(clientConfig(settings));
  return `${host}:${port}, database ${database}, user ${user}`;
}

export interface ControlEvents {
  onNotification(channel: string, payload: string): void;
  /** An established connection ended. */
  onLost(error: unknown): void;
  /** The channels to listen to on a new connection. */
  channels(): readonly string[];
}

export class ControlConnection {
  readonly #settings: ConnectionSettings;
  readonly #events: ControlEvents;
  readonly target: string;
  #client: Client | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(settings: ConnectionSettings, events: ControlEvents) {
    this.#settings = settings;
    this.#events = events;
    this.target = describeTarget(settings);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    await this.#client?.end();
    this.#client = undefined;
  }

  /** Ends it without waiting for the server. */
  destroy(): void {
    if (this.#client) destroyConnection(this.#client);
  }

  /**
   * Connects if needed. Fails with STATE_UNAVAILABLE or STATE_UNUSABLE. In order: pg expects no second query before the
   * first has a reply.
   */
  query(text: string, values: unknown[] = []): Promise<void> {
    const result = this.#last.then(() => this.#queryNow(text, values));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #queryNow(text: string, values: unknown[]): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    try {
      await client.query(text, values);
    } catch (error) {
      if (this.#drop(client)) this.#events.onLost(error);
      throw translateConnectError(error, this.target);
    }
  }

  async #connect(): Promise<Client> {
    // Every query here is quick; on a half-open connection it would wait forever without a timeout.
    const query_timeout = this.#settings.connectTimeoutMs;
    const client = new Client({ ...clientConfig(this.#settings), query_timeout });
    client.on('error', (error) => {
      if (this.#drop(client)) this.#events.onLost(error);
    });
    client.on('notification', ({ channel, payload }) => this.#events.onNotification(channel, payload ?? ''));
    try {
      await client.connect();
      await this.#checkVersion(client);
      await client.query(sessionSetup(this.#settings));
      for (const channel of this.#events.channels()) await client.query(`listen ${quoted(channel)}`);
    } catch (error) {
      destroyConnection(client);
      throw translateConnectError(error, this.target);
    }
    this.#client = client;
    return client;
  }

  async #checkVersion(client: Client): Promise<void> {
    const { rows } = await client.query<{ number: number; version: string }>(
      `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
    );
    if ((rows[0]?.number ?? 0) < 150_000) throw tooOld(this.target, rows[0]?.version ?? 'unknown');
  }

  /** False if another connection has replaced it. */
  #drop(client: Client): boolean {
    if (this.#client !== client) return false;
    this.#client = undefined;
    destroyConnection(client);
    return !this.#isClosed;
  }
}

/** Closes the socket without waiting for the server; pending queries fail. pg has no public method for this. */
export function destroyConnection(client: ClientBase): void {
  (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream.destroy();
}
