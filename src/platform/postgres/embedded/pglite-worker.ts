// The thread that runs PGlite, so that a long statement never blocks the event loop of the server. Commands use the wire
// protocol: one message each, where PGlite's own query() takes six. A small select takes 1.5 to 2 times less CPU time
// (medians of two runs, inside one thread), and an internal failure shows, which query() reports as an empty result.
import { parentPort, workerData } from 'node:worker_threads';
import type { Extensions } from '@electric-sql/pglite';
import { messages, PGlite, protocol } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { messageOf } from '../../../core/errors.ts';
import { quoted, sqlErrorFields, type SqlErrorFields } from '../sql.ts';
import type { Command, CommandResult } from '../store.ts';
import { parserOf } from '../values.ts';

// The messages between the main thread and the worker. Everything here can be cloned structurally.

export interface WorkerSettings {
  /** The folder of the files; `undefined` keeps everything in memory. */
  readonly folder: string | undefined;
  readonly schema: string;
  /** Load Apache AGE, an optional package, if it is installed. */
  readonly withAge: boolean;
  /** Channels of the previous worker, to listen to from the start. */
  readonly channels: readonly string[];
}

export type ToWorker =
  | { readonly kind: 'run'; readonly id: number; readonly command: Command }
  | { readonly kind: 'close' };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly message: string }
  | ({ readonly kind: 'outcome'; readonly id: number } & PgliteOutcome)
  | { readonly kind: 'notification'; readonly channel: string; readonly payload: string };

interface PgliteOutcome {
  readonly result: CommandResult | SqlErrorFields;
  readonly isInTransaction: boolean;
}

/** Throws when there is no reply: PGlite is then unusable. */
async function runOnPglite(postgres: PGlite, command: Command): Promise<PgliteOutcome> {
  const reader = new ReplyReader();
  const reply = await postgres.execProtocolStream(encode(command), { throwOnError: false, syncToFs: false });
  for (const message of reply) reader.read(message);
  return reader.outcome();
}

function encode(command: Command): Uint8Array {
  const { serialize } = protocol;
  if (command.kind === 'script') return serialize.query(command.text);
  return Buffer.concat([
    serialize.parse({ text: command.text }),
    serialize.bind({ values: [...command.values] }),
    serialize.describe({ type: 'P' }),
    serialize.execute({}),
    serialize.sync(),
  ]);
}

const changing = /^(INSERT|UPDATE|DELETE|MERGE|COPY)\b.* (\d+)$/;

type Column = readonly [name: string, parse: (text: string) => unknown];

class ReplyReader {
  #columns: readonly Column[] = [];
  #rows: object[] = [];
  #affected = 0;
  #tag = '';
  #error: SqlErrorFields | undefined;
  #isComplete = false;
  /** One letter: I is idle, T in a transaction, E in a failed transaction. */
  #status: string | undefined;

  read(message: { readonly name: string }): void {
    if (message instanceof messages.RowDescriptionMessage)
      this.#columns = message.fields.map((field) => [field.name, parserOf(field.dataTypeID)]);
    else if (message instanceof messages.DataRowMessage)
      this.#rows.push(toRow(this.#columns, message.fields));
    else if (message instanceof messages.CommandCompleteMessage) this.#complete(message.text);
    else if (message instanceof messages.DatabaseError) this.#error ??= sqlErrorFields(message);
    else if (message instanceof messages.ReadyForQueryMessage) this.#status = message.status;
    else if (message.name === 'emptyQuery') this.#isComplete = true;
  }

  outcome(): PgliteOutcome {
    const isReplied = this.#isComplete || this.#error !== undefined;
    if (!isReplied || this.#status === undefined) throw new Error('PGlite did not reply to a command.');
    const result = this.#error ?? { rows: this.#rows, affected: this.#affected, tag: this.#tag };
    return { result, isInTransaction: this.#status !== 'I' };
  }

  #complete(text: string): void {
    this.#isComplete = true;
    this.#columns = [];
    this.#tag = text.split(' ', 1)[0] ?? '';
    this.#affected += Number(changing.exec(text)?.[2] ?? 0);
  }
}

function toRow(columns: readonly Column[], fields: readonly (string | null)[]): object {
  const row: Record<string, unknown> = {};
  columns.forEach(([name, parse], index) => {
    const text = fields[index] ?? null;
    row[name] = text === null ? null : parse(text);
  });
  return row;
}

const port = parentPort;
if (!port) throw new Error('pglite-worker.ts only runs as a worker thread.');
const settings = workerData as WorkerSettings;
const send = (message: FromWorker) => port.postMessage(message);

/** PGlite's default of 128 MB is allocated at start; with 16 MB an idle server takes 125 MB less. */
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

async function open(): Promise<PGlite> {
  const postgres = await PGlite.create({
    dataDir: settings.folder,
    startParams,
    extensions: { vector, pg_trgm, ...(await optionalExtensions()) },
  });
  postgres.onNotification((channel, payload) => send({ kind: 'notification', channel, payload }));
  await postgres.exec(sessionSetup());
  return postgres;
}

/** A package that is not installed is left out; the extension then shows as not offered. */
async function optionalExtensions(): Promise<Extensions> {
  if (!settings.withAge) return {};
  try {
    const { age } = await import('@electric-sql/pglite-age');
    return { age };
  } catch {
    return {};
  }
}

function sessionSetup(): string {
  const listens = settings.channels.map((channel) => `listen ${quoted(channel)};`);
  return `set search_path = ${quoted(settings.schema)}, public; set timezone = 'UTC'; set jit = off; ${listens.join(' ')}`;
}

async function handle(postgres: PGlite, message: ToWorker): Promise<void> {
  if (message.kind === 'run') {
    const outcome = await runOnPglite(postgres, message.command);
    send({ kind: 'outcome', id: message.id, ...outcome });
    return;
  }
  await postgres.close();
  port?.close();
}

try {
  const postgres = await open();
  // Runs commands in order. An error ends the thread, and the main thread starts another.
  let last: Promise<void> = Promise.resolve();
  port.on('message', (message: ToWorker) => {
    last = last.then(() => handle(postgres, message));
  });
  send({ kind: 'ready' });
} catch (error) {
  send({ kind: 'unusable', message: messageOf(error) });
}
