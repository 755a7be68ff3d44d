// The hold of one transaction on a session: commands in order, and a way to stop it early.
import { onAbort } from '../../core/abort.ts';
import { CoreError } from '../../core/errors.ts';
import type { QueryOptions, QueryResult, Transaction } from './ports.ts';
import { sql, Sql, SqlError, type RawSql } from './sql.ts';
import type { Command, CommandResult, Session } from './store.ts';
import { encodeParameter } from './values.ts';

export class TransactionLease implements Transaction {
  readonly #session: Session;
  readonly #stopped = Promise.withResolvers<never>();
  #stop: { readonly reason: unknown } | undefined;
  /** No more commands are accepted; accepted ones still run. */
  #hasEnded = false;
  #firstFailure: unknown;
  #last: Promise<unknown> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
    this.#stopped.promise.catch(() => undefined);
  }

  async query<Row extends object>(query: Sql | RawSql, options?: QueryOptions): Promise<QueryResult<Row>> {
    const { rows, affected } = await this.#run(queryCommand(query, options), options?.signal);
    return { rows: rows as readonly Row[], affected };
  }

  async script(text: string, options?: QueryOptions): Promise<void> {
    await this.#run(scriptCommand(text), options?.signal);
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(sql`select pg_notify(${channel}, ${payload})`);
  }

  /** Waits for `work` until the lease is stopped. */
  whileHeld<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#stopped.promise]);
  }

  /** Ends it early: pending and later commands of the holder fail with `reason`. */
  stop(reason: unknown): void {
    if (this.#stop || this.#hasEnded) return;
    this.#stop = { reason };
    this.#stopped.reject(reason);
    void this.#session.cancel();
  }

  /** For a commit without a reply: it cannot be undone, only waited for no longer. */
  giveUpCommit(reason: unknown): void {
    this.#stop ??= { reason };
    this.#stopped.reject(reason);
    void this.#session.cancel();
  }

  get isStopped(): boolean {
    return this.#stop !== undefined;
  }

  /** Commits after commands that were not awaited. Postgres replies ROLLBACK if one of them failed. */
  async commit(): Promise<void> {
    await this.whileHeld(this.settled());
    const committing = this.#session.run(scriptCommand('commit'));
    this.#last = committing.catch(() => undefined);
    const { tag } = await this.whileHeld(committing);
    if (tag === 'COMMIT') return;
    throw new SqlError(
      {
        message: 'A statement in the transaction failed, so the transaction was rolled back.',
        sqlState: '25P02',
      },
      this.#firstFailure,
    );
  }

  /** Accepts no more commands; resolves when none is running. */
  async settled(): Promise<void> {
    this.#hasEnded = true;
    await this.#last;
  }

  async #run(command: Command, signal: AbortSignal | undefined): Promise<CommandResult> {
    if (this.#hasEnded && !this.#stop) throw usedAfterEnd();
    const stopListening = onAbort(signal, (reason) => this.stop(reason));
    const result = this.#last.then(async () => {
      if (this.#stop) throw this.#stop.reason;
      const reply = await this.#session.run(command);
      if (!this.#session.inTransaction) throw endedByScript();
      return reply;
    });
    this.#last = result.catch((error: unknown) => (this.#firstFailure ??= error));
    try {
      return await this.whileHeld(result);
    } finally {
      stopListening();
    }
  }
}

function usedAfterEnd(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A query was made in a transaction that has ended. Await every query before the transaction returns.',
  );
}

function endedByScript(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A script ended the transaction that it ran in. Do not use BEGIN, COMMIT and ROLLBACK in it.',
  );
}

/** Raw SQL without parameters may have several statements, as pg-boss sends them: it runs as a script. */
export function queryCommand(query: Sql | RawSql, { isFrequent = false }: QueryOptions = {}): Command {
  const { text, values } = query instanceof Sql ? query.compile() : query;
  if (!(query instanceof Sql) && values.length === 0) return scriptCommand(text);
  return { kind: 'query', text, values: values.map(encodeParameter), isFrequent };
}

export function scriptCommand(text: string): Command {
  return { kind: 'script', text };
}
