// A pool of connections to a PostgreSQL server, the control connection beside it, and the health of both.
import type pg from 'pg';
import { type ClientBase, Pool } from 'pg';
import type { Clock } from '../../../core/clock.ts';
import { CoreError, kindOf, messageOf } from '../../../core/errors.ts';
import { silentLog } from '../../../core/telemetry.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { SessionDatabase } from '../session-database.ts';
import { openSessionDatabase } from '../session-database.ts';
import type { Command, CommandResult, Session, StateTracker, Store, Subscriptions } from '../store.ts';
import {
  clientConfig,
  type ConnectionSettings,
  ControlConnection,
  destroyConnection,
  sessionSetup,
} from './connection.ts';
import { translateConnectError, translateError, unavailable } from './server-errors.ts';

export interface ServerDatabaseOptions {
  /** postgres://user:password@host:5432/database, with `sslmode` as pg defines it. */
  readonly url: string;
  readonly schema: string;
  readonly clock: Clock;
  /** Concurrent connections, besides one for notifications and cancellation. Default: 10. */
  readonly poolSize?: number;
  /** The server stops a statement that takes longer; 0 means never. Default: 30 s. */
  readonly statementTimeoutMs?: number;
  /** Default: 5 s. */
  readonly connectTimeoutMs?: number;
  readonly log?: Log;
}

/** Fails with STATE_UNAVAILABLE (not reachable now) or STATE_UNUSABLE (password, rights, version). */
export async function openServerDatabase(options: ServerDatabaseOptions): Promise<SessionDatabase> {
  const { url, schema, clock, log = silentLog } = options;
  const { poolSize = 10, statementTimeoutMs = 30_000, connectTimeoutMs = 5000 } = options;
  const settings = { url, schema, poolSize, statementTimeoutMs, connectTimeoutMs };
  return openSessionDatabase(
    { kind: 'server', schema, clock, log },
    (state, subscriptions) => new ServerStore({ ...settings, clock, log, state, subscriptions }),
  );
}

interface ServerStoreDeps extends ConnectionSettings {
  readonly poolSize: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly state: StateTracker;
  readonly subscriptions: Subscriptions;
}

/** What the network may add to a statement that reaches its timeout. */
const networkGraceMs = 10_000;
const closeGraceMs = 3000;

class ServerStore implements Store {
  readonly size: number;
  readonly #deps: ServerStoreDeps;
  readonly #pool: Pool;
  readonly #clients = new Set<ClientBase>();
  readonly #control: ControlConnection;
  readonly #health: ServerHealth;

  constructor(deps: ServerStoreDeps) {
    const { clock, log, state, subscriptions } = deps;
    this.size = deps.poolSize;
    this.#deps = deps;
    this.#control = new ControlConnection(deps, {
      onNotification: (channel, payload) => subscriptions.deliver(channel, payload),
      onLost: (error) => this.#health.reportFailure(error),
      channels: () => subscriptions.channels,
    });
    const probe = () => this.#control.query('select 1');
    this.#health = new ServerHealth({ clock, log, state, target: this.#control.target, probe });
    this.#pool = new Pool({
      ...clientConfig(deps),
      max: deps.poolSize,
      idleTimeoutMillis: 60_000,
      verify: (client, done) => client.query(sessionSetup(deps), (error) => done(error)),
    });
    this.#pool.on('connect', (client) => {
      this.#clients.add(client);
      // Between the pool's listener and the session's there is a moment without one, and an unhandled error event ends
      // the process. The next query on the connection reports the error.
      client.on('error', () => undefined);
    });
    this.#pool.on('remove', (client) => this.#clients.delete(client));
    this.#pool.on('error', (error) => this.#health.reportFailure(error));
  }

  connect(): Promise<void> {
    return this.#control.query('select 1');
  }

  async open(): Promise<Session> {
    this.#health.assertUp();
    const target = this.#control.target;
    try {
      const client = await this.#pool.connect();
      const { statementTimeoutMs, clock } = this.#deps;
      return new ServerSession(client, {
        clock,
        target,
        cancel: (processId) => this.#control.query('select pg_cancel_backend($1)', [processId]),
        onFailure: (error) => this.#health.reportFailure(error),
        deadAfterMs: statementTimeoutMs > 0 ? statementTimeoutMs + networkGraceMs : 0,
      });
    } catch (error) {
      const translated = translateConnectError(error, target);
      this.#health.reportFailure(translated);
      throw translated;
    }
  }

  listen(command: Command): Promise<void> {
    return this.#control.query(command.text);
  }

  /** Closes gracefully; the connections to a server that does not reply are destroyed after a grace period. */
  async close(): Promise<void> {
    await this.#health.close();
    const cancelDestroy = this.#deps.clock.after(closeGraceMs, () => {
      this.#control.destroy();
      for (const client of this.#clients) destroyConnection(client);
    });
    await Promise.all([this.#control.close(), this.#pool.end()]);
    cancelDestroy();
  }
}

const firstDelayMs = 100;
const maxDelayMs = 5000;

interface ServerHealthDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly state: StateTracker;
  readonly target: string;
  /** One round trip; resolves when the server is usable again. */
  readonly probe: () => Promise<void>;
}

class ServerHealth {
  readonly #deps: ServerHealthDeps;
  readonly #closing = new AbortController();
  #probing: Promise<void> | undefined;
  #delayMs = firstDelayMs;
  #lastError: unknown;

  constructor(deps: ServerHealthDeps) {
    this.#deps = deps;
  }

  /** Fails at once while the server is down instead of queueing callers. */
  assertUp(): void {
    if (this.#deps.state.state !== 'down') return;
    if (this.#lastError instanceof CoreError) throw this.#lastError;
    throw unavailable(this.#deps.target, kindOf(this.#lastError), this.#lastError, this.#delayMs);
  }

  reportFailure(failure: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#lastError = failure;
    this.#deps.state.set('down');
    this.#probing ??= this.#probeUntilUp().finally(() => (this.#probing = undefined));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#probing;
  }

  async #probeUntilUp(): Promise<void> {
    const { clock, log, state, probe } = this.#deps;
    log.warn('The PostgreSQL server is unreachable.', { kind: kindOf(this.#lastError) });
    const since = clock.monotonic();
    for (this.#delayMs = firstDelayMs; !this.#closing.signal.aborted;) {
      try {
        await probe();
        log.info('The PostgreSQL server is reachable again.', {
          downMs: Math.round(clock.monotonic() - since),
        });
        state.set('up');
        return;
      } catch (error) {
        this.#lastError = error;
      }
      await clock.sleep(this.#delayMs, this.#closing.signal).catch(() => undefined);
      this.#delayMs = Math.min(this.#delayMs * 2, maxDelayMs);
    }
  }
}

interface ServerSessionDeps {
  readonly clock: Clock;
  readonly target: string;
  readonly cancel: (processId: number) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
  /** A statement without a reply by then is on a dead connection. 0: no limit. */
  readonly deadAfterMs: number;
}

/** How long a canceled statement may take to stop before its connection is destroyed. */
const cancelGraceMs = 5000;

/** One leased connection of the pool. */
class ServerSession implements Session {
  readonly #client: pg.PoolClient;
  readonly #deps: ServerSessionDeps;
  readonly #onError = (error: unknown) => {
    const translated = translateError(error, this.#deps.target);
    this.#markLost(
      translated instanceof CoreError ? translated : unavailable(this.#deps.target, messageOf(error), error),
    );
  };
  #lostBy: CoreError | undefined;
  #isCanceled = false;
  #hasFailed = false;
  #isRunning = false;
  #stopGrace: () => void = () => undefined;

  constructor(client: pg.PoolClient, deps: ServerSessionDeps) {
    this.#client = client;
    this.#deps = deps;
    client.on('error', this.#onError);
  }

  /** After a failure the state of the session may be unknown to pg; then it counts as open. */
  get isInTransaction(): boolean {
    return !this.#lostBy && (this.#hasFailed || this.#client.getTransactionStatus() !== 'I');
  }

  get lostBy(): CoreError | undefined {
    return this.#lostBy;
  }

  async run(command: Command): Promise<CommandResult> {
    const { clock, deadAfterMs, target } = this.#deps;
    const isBounded = deadAfterMs > 0 && !this.isInTransaction;
    const cancelTimer = isBounded ? clock.after(deadAfterMs, () => this.#destroy()) : () => undefined;
    this.#isRunning = true;
    try {
      const result = summary(await this.#client.query(toQuery(command)));
      this.#hasFailed = false;
      return result;
    } catch (error) {
      this.#hasFailed = true;
      const translated = translateError(error, target);
      if (translated instanceof CoreError && translated.code !== 'DEADLINE_EXCEEDED')
        this.#markLost(translated);
      throw translated;
    } finally {
      this.#isRunning = false;
      cancelTimer();
    }
  }

  async cancel(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isCanceled = true;
    this.#stopGrace = this.#deps.clock.after(cancelGraceMs, () => this.#destroy());
    await this.#deps.cancel(processIdOf(this.#client)).catch(() => this.#destroy());
  }

  /** A canceled session is not reused: a late cancellation could hit the next statement. */
  release(isBroken: boolean): Promise<void> {
    this.#stopGrace();
    // The listener stays until the connection is closed: an unhandled error event ends the process.
    if (!this.#mustClose(isBroken)) this.#client.off('error', this.#onError);
    this.#client.release(this.#mustClose(isBroken));
    return Promise.resolve();
  }

  #mustClose(isBroken: boolean): boolean {
    return isBroken || this.#lostBy !== undefined || this.#isCanceled;
  }

  #markLost(error: CoreError): void {
    if (this.#lostBy) return;
    this.#lostBy = error;
    if (isUnavailable(error)) this.#deps.onFailure(error);
  }

  #destroy(): void {
    this.#markLost(unavailable(this.#deps.target, 'a connection stopped responding'));
    destroyConnection(this.#client);
  }
}

const isUnavailable = (error: unknown) => error instanceof CoreError && error.code === 'STATE_UNAVAILABLE';

function toQuery(command: Command): string | pg.QueryConfig {
  if (command.kind === 'script') return command.text;
  const { text, values, isFrequent } = command;
  const name = isFrequent ? statementName(text) : undefined;
  // Extended even without parameters, so that several statements in one query are rejected as on the embedded store.
  const query = { text, values: [...values], queryMode: 'extended', name };
  return query;
}

/** Shared by all connections of the process; the server prepares a statement per connection. */
const statementNames = new Map<string, string>();
/** The server keeps a plan for each per connection. Our code has far fewer; the limit guards against generated texts. */
const maxStatements = 200;

function statementName(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known !== undefined || statementNames.size >= maxStatements) return known;
  const name = `headworks_${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

const changing = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'COPY']);

/** pg returns an array for several statements. */
function summary(reply: pg.QueryResult<object> | readonly pg.QueryResult<object>[]): CommandResult {
  const results = [reply].flat();
  return {
    rows: results.flatMap((result) => result.rows),
    affected: results.reduce(
      (sum, { command, rowCount }) => sum + (changing.has(command) ? (rowCount ?? 0) : 0),
      0,
    ),
    tag: results.at(-1)?.command ?? '',
  };
}

/** Missing in pg's types. */
const processIdOf = (client: pg.PoolClient): number =>
  (client as unknown as { readonly processID: number }).processID;
