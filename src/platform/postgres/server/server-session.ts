// One leased connection of the pool.
import type pg from 'pg';
import type { Clock } from '../../../core/clock.ts';
import { CoreError } from '../../../core/errors.ts';
import type { Command, CommandResult, Session } from '../store.ts';
import { destroyConnection } from './connection.ts';
import { translateError, unavailable } from './server-errors.ts';

export interface ServerSessionDeps {
  readonly clock: Clock;
  readonly target: string;
  readonly cancel: (processId: number) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
  /** A statement without a reply by then is on a dead connection. 0: no limit. */
  readonly deadAfterMs: number;
}

/** How long a canceled statement may take to stop before its connection is destroyed. */
const cancelGraceMs = 5000;

export class ServerSession implements Session {
  readonly #client: pg.PoolClient;
  readonly #deps: ServerSessionDeps;
  readonly #onError = (error: unknown) => this.#lose(translateError(error, this.#deps.target));
  #isLost = false;
  #isCanceled = false;
  #hasFailed = false;
  #isRunning = false;
  #stopGrace: () => void = () => undefined;

  constructor(client: pg.PoolClient, deps: ServerSessionDeps) {
    this.#client = client;
    this.#deps = deps;
    client.on('error', this.#onError);
  }

  /** After a failure pg may not know the state of the session yet; then it counts as open. */
  get inTransaction(): boolean {
    return !this.#isLost && (this.#hasFailed || this.#client.getTransactionStatus() !== 'I');
  }

  async run(command: Command): Promise<CommandResult> {
    const { clock, deadAfterMs, target } = this.#deps;
    const isBounded = deadAfterMs > 0 && !this.inTransaction;
    const cancelTimer = isBounded ? clock.after(deadAfterMs, () => this.#destroy()) : () => undefined;
    this.#isRunning = true;
    try {
      const result = summary(await this.#client.query(toQuery(command)));
      this.#hasFailed = false;
      return result;
    } catch (error) {
      this.#hasFailed = true;
      const translated = translateError(error, target);
      if (translated instanceof CoreError && translated.code !== 'DEADLINE_EXCEEDED') this.#lose(translated);
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
    if (!this.#isGone(isBroken)) this.#client.off('error', this.#onError);
    this.#client.release(this.#isGone(isBroken));
    return Promise.resolve();
  }

  #isGone(isBroken: boolean): boolean {
    return isBroken || this.#isLost || this.#isCanceled;
  }

  #lose(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    if (isAway(error)) this.#deps.onFailure(error);
  }

  #destroy(): void {
    this.#lose(unavailable(this.#deps.target, 'a connection stopped responding'));
    destroyConnection(this.#client);
  }
}

const isAway = (error: unknown) => error instanceof CoreError && error.code === 'STATE_UNAVAILABLE';

function toQuery(command: Command): string | pg.QueryConfig {
  if (command.kind === 'script') return command.text;
  // Extended even without parameters, so that several statements in one query are rejected as on the embedded store.
  const name = command.isFrequent ? statementName(command.text) : undefined;
  const query: pg.QueryConfig & { readonly queryMode: 'extended' } = {
    text: command.text,
    values: [...command.values],
    queryMode: 'extended',
    ...(name === undefined ? {} : { name }),
  };
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
  const results = Array.isArray(reply)
    ? (reply as readonly pg.QueryResult<object>[])
    : [reply as pg.QueryResult<object>];
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
