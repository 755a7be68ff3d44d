// The Database that both drivers share. Its unit is a statement, a script or a leased transaction: one session each, first
// come, first served; a failing unit rolls itself back before its session is reused.
import { AsyncLocalStorage } from 'node:async_hooks';
import { abortable, onAbort } from '../../core/abort.ts';
import type { Clock } from '../../core/clock.ts';
import { CoreError, messageOf, shortageOf, shortageTexts } from '../../core/errors.ts';
import type { Shortage } from '../../core/errors.ts';
import type { Log } from '../../core/telemetry.ts';
import {
  TransactionLease,
  queryCommand,
  scriptCommand,
  Semaphore,
  StateTracker,
  Subscriptions,
} from './store.ts';
import type {
  Capability,
  Database,
  DatabaseCapabilities,
  DatabaseState,
  Queryable,
  QueryOptions,
  QueryResult,
  Transaction,
  TransactionOptions,
} from './ports.ts';
import type { RawSql, Sql } from './sql.ts';
import { hasSqlState, identifier, sql, SqlError } from './sql.ts';
import type { Command, CommandResult, Session, Store } from './store.ts';

const defaultLeaseMs = 30_000;

export interface SessionDatabaseDeps {
  readonly kind: DatabaseCapabilities['kind'];
  readonly schema: string;
  readonly store: Store;
  readonly state: StateTracker;
  readonly subscriptions: Subscriptions;
  readonly clock: Clock;
}

/** Opens the database of a driver; `createStore` makes its store. A failure leaves nothing open. */
export async function openSessionDatabase(
  options: Pick<SessionDatabaseDeps, 'kind' | 'schema' | 'clock'> & { readonly log: Log },
  createStore: (state: StateTracker, subscriptions: Subscriptions) => Store,
): Promise<SessionDatabase> {
  const state = new StateTracker();
  const subscriptions = new Subscriptions((error) => options.log.error('A listener failed.', { error }));
  const store = createStore(state, subscriptions);
  const database = new SessionDatabase({ ...options, store, state, subscriptions });
  try {
    await store.connect();
    await database.refreshCapabilities();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

export class SessionDatabase implements Database {
  readonly schema: string;
  readonly #deps: SessionDatabaseDeps;
  readonly #permits: Semaphore;
  /** Open transactions of the async context. Work that outlives its transaction is unrestricted once it is closed. */
  readonly #scope = new AsyncLocalStorage<{ isOpen: boolean }>();
  #capabilities: DatabaseCapabilities | undefined;
  #closing: Promise<void> | undefined;
  #shortage: Shortage | null = null;
  /** Monotonic: when a statement failed because of it. */
  #shortageAt = 0;
  readonly #shortageListeners = new Set<(shortage: Shortage | null) => void>();
  #stopProbe: () => void = () => undefined;

  constructor(deps: SessionDatabaseDeps) {
    this.schema = deps.schema;
    this.#deps = deps;
    this.#permits = new Semaphore(deps.store.size);
  }

  get state(): DatabaseState {
    return this.#deps.state.state;
  }

  get shortage(): Shortage | null {
    return this.#shortage;
  }

  get capabilities(): DatabaseCapabilities {
    if (!this.#capabilities) throw new CoreError('INTERNAL', 'The database has not been opened.');
    return this.#capabilities;
  }

  async refreshCapabilities(): Promise<DatabaseCapabilities> {
    this.#capabilities = await detectCapabilities(this, this.#deps.kind);
    return this.#capabilities;
  }

  async query<Row extends object>(query: Sql | RawSql, options?: QueryOptions): Promise<QueryResult<Row>> {
    const { rows, affected } = await this.#runOnce(queryCommand(query, options), options?.signal);
    return { rows: rows as readonly Row[], affected };
  }

  async script(text: string, options?: QueryOptions): Promise<void> {
    await this.#runOnce(scriptCommand(text), options?.signal);
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(sql`select pg_notify(${channel}, ${payload})`);
  }

  async ping(signal?: AbortSignal): Promise<void> {
    if (this.#shortage === null) await this.query(sql`select 1`, { signal });
    else await this.#probeWriting(signal);
    if (this.#shortage !== null) throw cannotWrite(this.#deps.kind, this.#shortage);
  }

  async listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    this.#assertUsable();
    const { subscriptions, store } = this.#deps;
    return subscriptions.add(channel, onPayload, store, (command) => this.#runOnce(command, undefined));
  }

  onStateChange(listener: (state: DatabaseState) => void): () => void {
    return this.#deps.state.onChange(listener);
  }

  onShortage(listener: (shortage: Shortage | null) => void): () => void {
    this.#shortageListeners.add(listener);
    return () => this.#shortageListeners.delete(listener);
  }

  async transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const { session, release } = await this.#acquireSession(options.signal);
    const lease = new TransactionLease(session);
    const leaseMs = options.leaseMs ?? defaultLeaseMs;
    const cancelLeaseTimer = this.#deps.clock.after(leaseMs, () => lease.stop(leaseExpired(leaseMs)));
    const stopListening = onAbort(options.signal, (reason) => lease.stop(reason));
    const scope = { isOpen: true };
    const working = this.#scope.run(scope, async () => {
      await lease.script(beginText(leaseMs));
      return work(lease);
    });
    try {
      const result = await lease.whileHeld(working);
      cancelLeaseTimer();
      stopListening();
      await this.#commit(lease, leaseMs);
      return result;
    } catch (error) {
      throw this.#explained(error);
    } finally {
      cancelLeaseTimer();
      stopListening();
      scope.isOpen = false;
      const returned = lease
        .settled()
        .then(() => returnSession(session))
        .finally(release);
      // A stopped holder continues at once; the session is returned when its running command ends.
      if (!lease.isStopped) await returned;
    }
  }

  async #commit(lease: TransactionLease, withinMs: number): Promise<void> {
    const cancelLeaseTimer = this.#deps.clock.after(withinMs, () =>
      lease.giveUpCommit(commitUnknown(withinMs)),
    );
    try {
      await lease.commit();
    } finally {
      cancelLeaseTimer();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopProbe();
    await this.#permits.onIdle();
    await this.#deps.store.close();
    this.#deps.state.set('closed');
  }

  async #runOnce(command: Command, signal: AbortSignal | undefined): Promise<CommandResult> {
    const { session, release } = await this.#acquireSession(signal);
    const stopListening = onAbort(signal, () => void session.cancel());
    const result = this.#runUnit(session, command).finally(release);
    try {
      return await abortable(result, signal);
    } catch (error) {
      throw this.#explained(error);
    } finally {
      stopListening();
    }
  }

  /** A statement that fails because disk or files are used up means that the store is unavailable for writing. */
  #explained(error: unknown): unknown {
    if (tooLongStates.some((state) => hasSqlState(error, state))) return tooLong(error);
    const shortage = error instanceof SqlError ? shortageOf(error) : lossBy(error);
    if (shortage === null) return error;
    const { state, kind, clock } = this.#deps;
    this.#shortageAt = clock.monotonic();
    this.#setShortage(shortage);
    state.set('down');
    this.#probeLater();
    return error instanceof SqlError ? cannotWrite(kind, shortage, error) : error;
  }

  #setShortage(shortage: Shortage | null): void {
    if (this.#shortage === shortage) return;
    this.#shortage = shortage;
    for (const listener of this.#shortageListeners) listener(shortage);
  }

  #probeLater(): void {
    this.#stopProbe();
    // A failed probe schedules the next one: it is explained like any other failure.
    this.#stopProbe = this.#deps.clock.after(
      probeIntervalMs,
      () => void this.#probeWriting().catch(() => undefined),
    );
  }

  /**
   * Writes some pages, which are rolled back. The shortage ends when that works and no statement failed for a while: what the
   * probe writes may fit where the rows of requests do not.
   */
  async #probeWriting(signal?: AbortSignal): Promise<void> {
    await this.script(writeProbe, { signal });
    if (this.#deps.clock.monotonic() - this.#shortageAt < minQuietMs) return this.#probeLater();
    this.#stopProbe();
    this.#deps.state.set('up');
    this.#setShortage(null);
  }

  async #runUnit(session: Session, command: Command): Promise<CommandResult> {
    try {
      const result = await session.run(command);
      if (session.isInTransaction) throw leftOpen();
      return result;
    } finally {
      await returnSession(session);
    }
  }

  async #acquireSession(signal: AbortSignal | undefined): Promise<{ session: Session; release: () => void }> {
    this.#assertUsable();
    const release = await this.#permits.acquire(signal);
    const opening = this.#deps.store.open();
    try {
      return { session: await abortable(opening, signal), release };
    } catch (error) {
      // A session that opens after its caller has left is returned, and then the permit.
      void opening
        .then((session) => session.release(false))
        .catch(() => undefined)
        .finally(release);
      throw error;
    }
  }

  #assertUsable(): void {
    if (this.#scope.getStore()?.isOpen) throw nestedQuery();
    if (this.#closing) throw new CoreError('SHUTTING_DOWN', 'The state store is closing.');
  }
}

async function returnSession(session: Session): Promise<void> {
  const isClean =
    !session.isInTransaction ||
    (await session.run(scriptCommand('rollback')).then(
      () => !session.isInTransaction,
      () => false,
    ));
  await session.release(!isClean);
}

const probeIntervalMs = 2_000;
const minQuietMs = 8_000;

const writeProbe = `
  begin;
  create temporary table write_probe as select repeat(md5(n::text), 60) as text from generate_series(1, 64) as n;
  rollback`;

/** An index entry, or a value of a column with a limit: no name or id of a caller may be that long. */
const tooLongStates = ['54000', '22001'];

function tooLong(cause: unknown): CoreError {
  return new CoreError('INPUT_INVALID', 'A name, id or other value is too long to be stored.', { cause });
}

/** What ended the embedded store, if that is known. */
function lossBy(error: unknown): Shortage | null {
  const shortage = error instanceof CoreError ? error.details['shortage'] : undefined;
  return shortage === 'disk' ? shortage : null;
}

function cannotWrite(kind: DatabaseCapabilities['kind'], shortage: Shortage, cause?: unknown): CoreError {
  const { problem, remedy } = shortageTexts[shortage];
  const store = kind === 'embedded' ? 'The embedded store' : 'The Postgres server';
  return new CoreError('STATE_UNAVAILABLE', `${store} ${problem}. ${remedy}`, {
    isRetryable: true,
    retryAfterMs: probeIntervalMs,
    details: { shortage },
    cause,
  });
}

/** The server's limit on idle transactions must not end a longer lease early. */
function beginText(leaseMs: number): string {
  return leaseMs <= defaultLeaseMs
    ? 'begin'
    : `begin; set local idle_in_transaction_session_timeout = ${Math.ceil(leaseMs * 2)}`;
}

function leaseExpired(leaseMs: number): CoreError {
  return new CoreError(
    'STATE_LEASE_EXPIRED',
    `A transaction took longer than its ${leaseMs} ms and was rolled back to free its session.`,
    { isRetryable: true, details: { leaseMs } },
  );
}

function commitUnknown(withinMs: number): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `The state store did not confirm a commit within ${withinMs} ms. Check whether it was stored before you repeat it.`,
    { isRetryable: true },
  );
}

function leftOpen(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A script left a transaction open; it was rolled back. Use transaction() instead of BEGIN.',
  );
}

/** It would wait for the session that the transaction holds. */
function nestedQuery(): CoreError {
  return new CoreError(
    'STATE_NESTED_QUERY',
    'A query on the database was made inside an open transaction of the same database, which could deadlock. Use the transaction that was passed in.',
  );
}

type Extension = 'vector' | 'pg_trgm';

/** A type that can be resolved only when the extension is on the search path. */
const probeType = { vector: 'vector', pg_trgm: 'gtrgm' } as const satisfies Record<Extension, string>;

/** Detects extensions and creates those that this role may create. Fails only when the store is unavailable. */
async function detectCapabilities(
  database: Queryable,
  kind: DatabaseCapabilities['kind'],
): Promise<DatabaseCapabilities> {
  const { rows } = await database.query<{ version: string }>(
    sql`select current_setting('server_version') as version`,
  );
  return {
    kind,
    version: (rows[0]?.version ?? '').split(' ')[0] ?? '',
    hasStatementTimeout: kind === 'server',
    isShared: kind === 'server',
    vector: await ensureExtension(database, 'vector'),
    trigram: await ensureExtension(database, 'pg_trgm'),
  };
}

async function ensureExtension(database: Queryable, name: Extension): Promise<Capability> {
  const before = await readExtension(database, name);
  if (before.installed !== null) return usable(name, before);
  if (before.offered === null) return notOffered(name);
  try {
    await database.query(sql`create extension if not exists ${identifier(name)} schema public`);
  } catch (error) {
    // Another process may have created it at the same time.
    const after = await readExtension(database, name);
    return after.installed === null ? notAllowed(name, error) : usable(name, after);
  }
  return usable(name, await readExtension(database, name));
}

interface ExtensionState {
  readonly installed: string | null;
  readonly schema: string | null;
  readonly offered: string | null;
  readonly isOnPath: boolean;
}

async function readExtension(database: Queryable, name: Extension): Promise<ExtensionState> {
  const { rows } = await database.query<ExtensionState>(sql`
    select (select extversion from pg_extension where extname = ${name}) as installed,
           (select nspname::text from pg_extension join pg_namespace n on n.oid = extnamespace
            where extname = ${name}) as schema,
           (select default_version from pg_available_extensions where name = ${name}) as offered,
           to_regtype(${probeType[name]}) is not null as "isOnPath"`);
  return rows[0] ?? { installed: null, schema: null, offered: null, isOnPath: false };
}

function usable(name: Extension, seen: ExtensionState): Capability {
  if (seen.installed !== null && seen.isOnPath) return { available: true, version: seen.installed };
  return {
    available: false,
    reason: `The extension ${name} is installed in the schema ${seen.schema}, which Headworks does not search.`,
    remedy: `As its owner: ALTER EXTENSION ${name} SET SCHEMA public; then start again.`,
  };
}

function notOffered(name: Extension): Capability {
  const packageName = name === 'vector' ? 'pgvector' : 'postgresql-contrib';
  return {
    available: false,
    reason: `The Postgres server does not have the extension ${name}.`,
    remedy: `Install ${packageName} on the server (or choose a service that offers it), then start again.`,
  };
}

function notAllowed(name: Extension, error: unknown): Capability {
  const why = hasSqlState(error, '42501') ? 'this role may not create it' : messageOf(error);
  return {
    available: false,
    reason: `The extension ${name} is not installed in this database, and ${why}.`,
    remedy: `As a superuser or the database's owner: CREATE EXTENSION ${name} SCHEMA public; then start again.`,
  };
}
