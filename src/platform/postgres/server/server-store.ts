// A pool of connections to a Postgres server, and the control connection beside it.
import { Pool, type ClientBase } from 'pg';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import type { StateTracker } from '../state-tracker.ts';
import type { Session, Store } from '../store.ts';
import type { Subscriptions } from '../subscriptions.ts';
import { clientConfig, sessionSetup, type ConnectionSettings } from './connection-settings.ts';
import { ControlConnection } from './control-connection.ts';
import { cutConnection } from './cut-connection.ts';
import { translateConnectError } from './server-errors.ts';
import { ServerHealth } from './server-health.ts';
import { ServerSession } from './server-session.ts';

export interface ServerStoreParts extends ConnectionSettings {
  readonly poolSize: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly state: StateTracker;
  readonly subscriptions: Subscriptions;
}

/** What the network may add to a statement that ran right into its timeout. */
const networkGraceMs = 10_000;
const closeGraceMs = 3000;

export class ServerStore implements Store {
  readonly size: number;
  readonly #parts: ServerStoreParts;
  readonly #pool: Pool;
  readonly #clients = new Set<ClientBase>();
  readonly #control: ControlConnection;
  readonly #health: ServerHealth;

  constructor(parts: ServerStoreParts) {
    const { clock, log, state, subscriptions } = parts;
    this.size = parts.poolSize;
    this.#parts = parts;
    this.#control = new ControlConnection(parts, {
      onNotification: (channel, payload) => subscriptions.deliver(channel, payload),
      onLost: (error) => this.#health.reportFailure(error),
      channels: () => subscriptions.channels,
    });
    const probe = () => this.#control.check();
    this.#health = new ServerHealth({ clock, log, state, target: this.#control.target, probe });
    this.#pool = new Pool({
      ...clientConfig(parts),
      max: parts.poolSize,
      idleTimeoutMillis: 60_000,
      verify: (client, done) => client.query(sessionSetup(parts), (error) => done(error)),
    });
    this.#pool.on('connect', (client) => {
      this.#clients.add(client);
      // Between the pool's listener and the session's there is a moment with none, and an error event that nobody
      // hears ends the process. Whoever uses the connection next learns of it by its first query.
      client.on('error', () => undefined);
    });
    this.#pool.on('remove', (client) => this.#clients.delete(client));
    this.#pool.on('error', (error) => this.#health.reportFailure(error));
  }

  /** The first connection: fails with STATE_UNUSABLE or STATE_UNAVAILABLE. */
  async connect(): Promise<void> {
    await this.#control.check();
  }

  async open(): Promise<Session> {
    this.#health.assertUp();
    const target = this.#control.target;
    try {
      const client = await this.#pool.connect();
      const { statementTimeoutMs, clock } = this.#parts;
      return new ServerSession(client, {
        clock,
        target,
        cancel: (processId) => this.#control.cancel(processId),
        onFailure: (error) => this.#health.reportFailure(error),
        deadAfterMs: statementTimeoutMs > 0 ? statementTimeoutMs + networkGraceMs : 0,
      });
    } catch (error) {
      const translated = translateConnectError(error, target);
      this.#health.reportFailure(translated);
      throw translated;
    }
  }

  async subscribe(channel: string): Promise<void> {
    await this.#control.listen(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#control.unlisten(channel);
  }

  /** A server that does not answer gets a moment to say goodbye, then the connections are cut. */
  async close(): Promise<void> {
    await this.#health.close();
    const cutAll = this.#parts.clock.after(closeGraceMs, () => {
      this.#control.cut();
      for (const client of this.#clients) cutConnection(client);
    });
    await Promise.all([this.#control.close(), this.#pool.end()]);
    cutAll();
  }
}
