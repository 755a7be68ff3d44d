// One leased connection of the pool.
import type pg from 'pg';
import type { Clock } from '../../../core/clock.ts';
import { CoreError } from '../../../core/errors.ts';
import type { Command, CommandResult, Session } from '../store.ts';
import { cutConnection } from './cut-connection.ts';
import { translateError, unavailable } from './server-errors.ts';

export interface ServerSessionParts {
  readonly clock: Clock;
  readonly target: string;
  readonly cancel: (processId: number) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
  /** A single statement that the server has not answered by then is on a dead connection. 0: no limit. */
  readonly deadAfterMs: number;
}

/** How long a cancelled statement may take to stop before its connection is cut. */
const cancelGraceMs = 5000;

export class ServerSession implements Session {
  readonly #client: pg.PoolClient;
  readonly #parts: ServerSessionParts;
  readonly #onError = (error: unknown) => this.#lose(translateError(error, this.#parts.target));
  #isLost = false;
  #isCancelled = false;
  #hasFailed = false;
  #isRunning = false;
  #stopGrace: () => void = () => undefined;

  constructor(client: pg.PoolClient, parts: ServerSessionParts) {
    this.#client = client;
    this.#parts = parts;
    client.on('error', this.#onError);
  }

  /** After a failure pg may not have heard yet what state the session is in; then it counts as open. */
  get inTransaction(): boolean {
    return !this.#isLost && (this.#hasFailed || this.#client.getTransactionStatus() !== 'I');
  }

  async run(command: Command): Promise<CommandResult> {
    const { clock, deadAfterMs, target } = this.#parts;
    const isBounded = deadAfterMs > 0 && !this.inTransaction;
    const stopWatching = isBounded ? clock.after(deadAfterMs, () => this.#cut()) : () => undefined;
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
      stopWatching();
    }
  }

  async cancel(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isCancelled = true;
    this.#stopGrace = this.#parts.clock.after(cancelGraceMs, () => this.#cut());
    await this.#parts.cancel(processIdOf(this.#client)).catch(() => this.#cut());
  }

  /** A cancelled session is not used again: a late cancellation could hit the next statement. */
  release(isSpoilt: boolean): Promise<void> {
    this.#stopGrace();
    // Stays until the connection is closed: an error event that nobody hears ends the process.
    if (!this.#isGone(isSpoilt)) this.#client.off('error', this.#onError);
    this.#client.release(this.#isGone(isSpoilt));
    return Promise.resolve();
  }

  #isGone(isSpoilt: boolean): boolean {
    return isSpoilt || this.#isLost || this.#isCancelled;
  }

  #lose(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    if (isAway(error)) this.#parts.onFailure(error);
  }

  #cut(): void {
    this.#lose(unavailable(this.#parts.target, 'a connection went silent'));
    cutConnection(this.#client);
  }
}

const isAway = (error: unknown) => error instanceof CoreError && error.code === 'STATE_UNAVAILABLE';

function toQuery(command: Command): string | pg.QueryConfig {
  if (command.kind === 'script') return command.text;
  // Extended even without parameters: several statements in one query are then refused, as on the embedded store.
  const name = command.isFrequent ? statementName(command.text) : undefined;
  const query: pg.QueryConfig & { readonly queryMode: 'extended' } = {
    text: command.text,
    values: [...command.values],
    queryMode: 'extended',
    ...(name === undefined ? {} : { name }),
  };
  return query;
}

/** Of all connections of the process; on each of them a server keeps what was sent there. */
const statementNames = new Map<string, string>();
/** A connection of the server keeps a plan for each. Statements of the code are far fewer; a text made of input is not. */
const mostStatements = 200;

function statementName(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known !== undefined || statementNames.size >= mostStatements) return known;
  const name = `headworks_${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

const changing = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'COPY']);

/** pg gives an array when there were several statements. */
function summary(answer: pg.QueryResult<object> | readonly pg.QueryResult<object>[]): CommandResult {
  const results = Array.isArray(answer)
    ? (answer as readonly pg.QueryResult<object>[])
    : [answer as pg.QueryResult<object>];
  return {
    rows: results.flatMap((result) => result.rows),
    affected: results.reduce(
      (sum, { command, rowCount }) => sum + (changing.has(command) ? (rowCount ?? 0) : 0),
      0,
    ),
    tag: results.at(-1)?.command ?? '',
  };
}

/** Every client has it; pg's types do not know it. */
const processIdOf = (client: pg.PoolClient): number =>
  (client as unknown as { readonly processID: number }).processID;
