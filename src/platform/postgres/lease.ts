// One transaction's hold on a session: commands in order, an end that nothing gets past, a way to stop it early.
import { onAbort } from '../../core/abort.ts';
import { CoreError } from '../../core/errors.ts';
import { queryCommand, scriptCommand } from './command.ts';
import type { QueryOptions, QueryResult, Transaction } from './ports.ts';
import { sql, type RawSql, type Sql } from './sql.ts';
import { SqlError } from './sql-error.ts';
import type { Command, CommandResult, Session } from './store.ts';

export class Lease implements Transaction {
  readonly #session: Session;
  readonly #stopped = Promise.withResolvers<never>();
  #stop: { readonly reason: unknown } | undefined;
  /** No more commands are taken; those taken before still run. */
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

  /** Waits for `work`, but not longer than the lease lasts. */
  whileHeld<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#stopped.promise]);
  }

  /** Ends it before its time: everything the holder waits for or asks for fails with `reason`. */
  stop(reason: unknown): void {
    if (this.#stop || this.#hasEnded) return;
    this.#stop = { reason };
    this.#stopped.reject(reason);
    void this.#session.cancel();
  }

  /** For a commit that nobody answers: it cannot be taken back, only waited for no longer. */
  giveUpCommit(reason: unknown): void {
    this.#stop ??= { reason };
    this.#stopped.reject(reason);
    void this.#session.cancel();
  }

  get isStopped(): boolean {
    return this.#stop !== undefined;
  }

  /** Commits after the commands that nobody awaited. Postgres answers ROLLBACK if one in between failed. */
  async commit(): Promise<void> {
    await this.whileHeld(this.settled());
    const committing = this.#session.run(scriptCommand('commit'));
    this.#last = committing.catch(() => undefined);
    const { tag } = await this.whileHeld(committing);
    if (tag === 'COMMIT') return;
    throw new SqlError(
      { message: 'A statement in the transaction failed, so none of it was kept.', sqlState: '25P02' },
      this.#firstFailure,
    );
  }

  /** Takes no more commands, and resolves when none runs any more. */
  async settled(): Promise<void> {
    this.#hasEnded = true;
    await this.#last;
  }

  async #run(command: Command, signal: AbortSignal | undefined): Promise<CommandResult> {
    if (this.#hasEnded && !this.#stop) throw usedAfterItsEnd();
    const stopListening = onAbort(signal, (reason) => this.stop(reason));
    const result = this.#last.then(async () => {
      if (this.#stop) throw this.#stop.reason;
      const answer = await this.#session.run(command);
      if (!this.#session.inTransaction) throw endedByScript();
      return answer;
    });
    this.#last = result.catch((error: unknown) => (this.#firstFailure ??= error));
    try {
      return await this.whileHeld(result);
    } finally {
      stopListening();
    }
  }
}

function usedAfterItsEnd(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A query was made in a transaction that has ended. Await every query before the transaction returns.',
  );
}

function endedByScript(): CoreError {
  return new CoreError(
    'INTERNAL',
    'A script ended the transaction that it ran in. Leave BEGIN, COMMIT and ROLLBACK to the transaction.',
  );
}
