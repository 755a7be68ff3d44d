// The connection beside the pool: it hears notifications, cancels statements, and tells whether the server is there.
import { Client } from 'pg';
import { identifier } from '../sql.ts';
import {
  clientConfig,
  describeTarget,
  sessionSetup,
  type ConnectionSettings,
} from './connection-settings.ts';
import { cutConnection } from './cut-connection.ts';
import { tooOld, translateConnectError } from './server-errors.ts';

export interface ControlEvents {
  onNotification(channel: string, payload: string): void;
  /** The connection was up and is gone. */
  onLost(error: unknown): void;
  /** What to listen to on a new connection. */
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

  /** Connects if need be and makes one round trip. Fails with STATE_UNAVAILABLE or STATE_UNUSABLE. */
  async check(): Promise<void> {
    await this.#query('select 1');
  }

  async listen(channel: string): Promise<void> {
    await this.#query(`listen ${identifier(channel).compile().text}`);
  }

  async unlisten(channel: string): Promise<void> {
    await this.#query(`unlisten ${identifier(channel).compile().text}`);
  }

  /** Asks the server to stop what the session with this process id runs. */
  async cancel(processId: number): Promise<void> {
    await this.#query('select pg_cancel_backend($1)', [processId]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    await this.#client?.end();
    this.#client = undefined;
  }

  /** Ends it without waiting for the server. */
  cut(): void {
    if (this.#client) cutConnection(this.#client);
  }

  /** One after the other: pg wants no second query before the first is answered. */
  #query(text: string, values: unknown[] = []): Promise<void> {
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
    // Everything here is quick; a connection that was cut without a word would keep us waiting for ever.
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
      for (const channel of this.#events.channels())
        await client.query(`listen ${identifier(channel).compile().text}`);
    } catch (error) {
      cutConnection(client);
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

  /** False if it was no longer ours. */
  #drop(client: Client): boolean {
    if (this.#client !== client) return false;
    this.#client = undefined;
    cutConnection(client);
    return !this.#isClosed;
  }
}
