// The Database that both adapters share. Its unit is a statement, a script or a leased transaction: one session
// each, first come first served, and a failing unit rolls itself back before its session goes to the next.
import { abortable, onAbort } from '../../core/abort.ts';
import type { Clock } from '../../core/clock.ts';
import { CoreError } from '../../core/errors.ts';
import { detectCapabilities } from './capabilities.ts';
import { queryCommand, scriptCommand } from './command.ts';
import { Lease } from './lease.ts';
import type {
  Database,
  DatabaseCapabilities,
  DatabaseState,
  QueryOptions,
  QueryResult,
  Transaction,
  TransactionOptions,
} from './ports.ts';
import { sql, type RawSql, type Sql } from './sql.ts';
import type { StateTracker } from './state-tracker.ts';
import type { Command, CommandResult, Session, Store } from './store.ts';
import type { Subscriptions } from './subscriptions.ts';
import { TransactionScope } from './transaction-scope.ts';
import { Turns } from './turns.ts';

const defaultLeaseMs = 30_000;

export interface SessionDatabaseParts {
  readonly kind: DatabaseCapabilities['kind'];
  readonly schema: string;
  readonly store: Store;
  readonly state: StateTracker;
  readonly subscriptions: Subscriptions;
  readonly clock: Clock;
}

export class SessionDatabase implements Database {
  readonly schema: string;
  readonly #parts: SessionDatabaseParts;
  readonly #turns: Turns;
  readonly #scope = new TransactionScope();
  #capabilities: DatabaseCapabilities | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: SessionDatabaseParts) {
    this.schema = parts.schema;
    this.#parts = parts;
    this.#turns = new Turns(parts.store.size);
  }

  get state(): DatabaseState {
    return this.#parts.state.state;
  }

  get capabilities(): DatabaseCapabilities {
    if (!this.#capabilities) throw new CoreError('INTERNAL', 'The database has not been opened.');
    return this.#capabilities;
  }

  async refreshCapabilities(): Promise<DatabaseCapabilities> {
    this.#capabilities = await detectCapabilities(this, this.#parts.kind);
    return this.#capabilities;
  }

  async query<Row extends object>(query: Sql | RawSql, options?: QueryOptions): Promise<QueryResult<Row>> {
    const { rows, affected } = await this.#once(queryCommand(query, options), options?.signal);
    return { rows: rows as readonly Row[], affected };
  }

  async script(text: string, options?: QueryOptions): Promise<void> {
    await this.#once(scriptCommand(text), options?.signal);
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(sql`select pg_notify(${channel}, ${payload})`);
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.query(sql`select 1`, signal ? { signal } : {});
  }

  async listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>> {
    this.#assertUsable();
    const { subscriptions, store } = this.#parts;
    return subscriptions.add(channel, onPayload, store, (command) => this.#once(command, undefined));
  }

  onStateChange(listener: (state: DatabaseState) => void): () => void {
    return this.#parts.state.onChange(listener);
  }

  async transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const { session, leave } = await this.#takeSession(options.signal);
    const lease = new Lease(session);
    const leaseMs = options.leaseMs ?? defaultLeaseMs;
    const stopClock = this.#parts.clock.after(leaseMs, () => lease.stop(leaseExpired(leaseMs)));
    const stopListening = onAbort(options.signal, (reason) => lease.stop(reason));
    const scope = this.#scope.enter(async () => {
      await lease.script(beginText(leaseMs));
      return work(lease);
    });
    try {
      const result = await lease.whileHeld(scope.result);
      stopClock();
      stopListening();
      await this.#commit(lease, leaseMs);
      return result;
    } finally {
      stopClock();
      stopListening();
      scope.close();
      const givenBack = lease
        .settled()
        .then(() => giveBack(session))
        .finally(leave);
      // A stopped holder goes at once; the session follows when its running command lets it.
      if (!lease.isStopped) await givenBack;
    }
  }

  async #commit(lease: Lease, withinMs: number): Promise<void> {
    const stopClock = this.#parts.clock.after(withinMs, () => lease.giveUpCommit(unanswered(withinMs)));
    try {
      await lease.commit();
    } finally {
      stopClock();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#turns.whenIdle();
    await this.#parts.store.close();
    this.#parts.state.set('closed');
  }

  async #once(command: Command, signal: AbortSignal | undefined): Promise<CommandResult> {
    const { session, leave } = await this.#takeSession(signal);
    const stopListening = onAbort(signal, () => void session.cancel());
    const result = this.#runUnit(session, command).finally(leave);
    try {
      return await abortable(result, signal);
    } finally {
      stopListening();
    }
  }

  async #runUnit(session: Session, command: Command): Promise<CommandResult> {
    try {
      const result = await session.run(command);
      if (session.inTransaction) throw leftOpen();
      return result;
    } finally {
      await giveBack(session);
    }
  }

  async #takeSession(signal: AbortSignal | undefined): Promise<{ session: Session; leave: () => void }> {
    this.#assertUsable();
    const leave = await this.#turns.take(signal);
    const opening = this.#parts.store.open();
    try {
      return { session: await abortable(opening, signal), leave };
    } catch (error) {
      // One that comes after its caller has gone is given back; the next may enter then.
      void opening
        .then((session) => session.release(false))
        .catch(() => undefined)
        .finally(leave);
      throw error;
    }
  }

  #assertUsable(): void {
    this.#scope.assertOutside();
    if (this.#closing) throw new CoreError('SHUTTING_DOWN', 'The state store is being closed.');
  }
}

async function giveBack(session: Session): Promise<void> {
  const isClean =
    !session.inTransaction ||
    (await session.run(scriptCommand('rollback')).then(
      () => !session.inTransaction,
      () => false,
    ));
  await session.release(!isClean);
}

/** The server's own limit on idle transactions must not come before a lease that is longer. */
function beginText(leaseMs: number): string {
  return leaseMs <= defaultLeaseMs
    ? 'begin'
    : `begin; set local idle_in_transaction_session_timeout = ${Math.ceil(leaseMs * 2)}`;
}

function leaseExpired(leaseMs: number): CoreError {
  return new CoreError(
    'STATE_LEASE_EXPIRED',
    `A transaction took longer than its ${leaseMs} ms and was rolled back so that others can go on.`,
    { isRetryable: true, details: { leaseMs } },
  );
}

function unanswered(withinMs: number): CoreError {
  return new CoreError(
    'STATE_UNAVAILABLE',
    `The state store did not answer within ${withinMs} ms whether a transaction was kept. Look before doing it again.`,
    { isRetryable: true },
  );
}

function leftOpen(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A script left a transaction open; it was rolled back. Use transaction() instead of BEGIN.',
  );
}
