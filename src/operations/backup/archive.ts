// What a backup consists of: lines of JSON. A line that begins with {"headworks": steers; every other is a row of the
// table that was named last, or a piece of the file that was. Compressed with gzip, so that any tool can look inside.
import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { AppliedMigration } from '../../platform/postgres/migrations/migration-history.ts';

/** Grows when older versions cannot read what we write. */
export const archiveFormat = 1;

export type TablePlace = 'state' | 'jobs';

export interface ArchiveHeader {
  readonly headworks: 'backup';
  readonly format: number;
  readonly version: string;
  readonly createdAt: string;
  readonly store: 'embedded' | 'server';
  readonly postgres: string;
  readonly migrations: readonly AppliedMigration[];
  /** Of pg-boss's tables; null when there are none. */
  readonly jobsVersion: number | null;
  readonly tables: number;
  /** Of all tables together: for whoever shows how far it is. */
  readonly rows: number;
}

export interface TableStart {
  readonly headworks: 'table';
  readonly place: TablePlace;
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
}

/** Ends a table: what was really written. */
export interface TableEnd {
  readonly headworks: 'table-end';
  readonly rows: number;
  /** Sum over all rows, whatever their order: see `RowSum`. */
  readonly sum: string;
}

/** Where an identity column goes on counting. */
export interface SequenceLine {
  readonly headworks: 'sequence';
  readonly table: string;
  readonly column: string;
  /** As text: it may be past 2^53. */
  readonly last: string;
  readonly isCalled: boolean;
}

export type FileKind = 'vault' | 'webhook-secret';

/** Its pieces follow, each a JSON string of base64. */
export interface FileStart {
  readonly headworks: 'file';
  readonly kind: FileKind;
  readonly name: string;
}

export interface FileEnd {
  readonly headworks: 'file-end';
  readonly bytes: number;
  readonly sha256: string;
}

/** The last line of a whole backup. */
export interface ArchiveEnd {
  readonly headworks: 'end';
  readonly tables: number;
  readonly rows: number;
  readonly files: number;
}

/** Written instead of an end when something went wrong on the way. */
export interface ArchiveFailed {
  readonly headworks: 'failed';
  readonly code: string;
  readonly message: string;
}

export type ControlLine =
  | ArchiveHeader
  | TableStart
  | TableEnd
  | SequenceLine
  | FileStart
  | FileEnd
  | ArchiveEnd
  | ArchiveFailed;

/** Takes one line, without its line break; resolves when there is room for the next. */
export type LineSink = (line: string) => Promise<void>;

const controlPrefix = '{"headworks":';

export const controlLine = (line: ControlLine): string => JSON.stringify(line);

/** Null for a row or a piece of a file. Fails with INPUT_INVALID when a line that steers cannot be read. */
export function readControl(line: string): ControlLine | null {
  if (!line.startsWith(controlPrefix)) return null;
  try {
    return JSON.parse(line) as ControlLine;
  } catch (error) {
    throw damaged('a line that should steer cannot be read', error);
  }
}

/**
 * The same for the same rows in any order: the sum of the first 60 bits of each row's SHA-256. Postgres computes the
 * same over a table (`tableSum`), so that what was stored can be compared with what was written.
 */
export class RowSum {
  rows = 0;
  #sum = 0n;

  add(line: string): void {
    this.rows += 1;
    this.#sum += BigInt(`0x${createHash('sha256').update(line).digest('hex').slice(0, 15)}`);
  }

  get sum(): string {
    return String(this.#sum);
  }
}

export function damaged(what: string, cause?: unknown): CoreError {
  return new CoreError(
    'INPUT_INVALID',
    `The backup is damaged or incomplete: ${what}. Use another one; nothing was changed.`,
    cause === undefined ? {} : { cause },
  );
}

/** Who gets what is read. Nothing of a table or file is known to be right before its end was called. */
export interface ArchiveHandler {
  header(header: ArchiveHeader): Promise<void>;
  table(table: TableStart): Promise<void>;
  row(line: string): Promise<void>;
  tableEnd(table: TableStart, end: TableEnd): Promise<void>;
  sequence(line: SequenceLine): Promise<void>;
  file(file: FileStart): Promise<void>;
  piece(bytes: Uint8Array): Promise<void>;
  fileEnd(file: FileStart, bytes: number): Promise<void>;
}

/** Takes everything and does nothing with it. */
export class Unconcerned implements ArchiveHandler {
  async header(_header: ArchiveHeader): Promise<void> {}
  async table(_table: TableStart): Promise<void> {}
  async row(_line: string): Promise<void> {}
  async tableEnd(_table: TableStart, _end: TableEnd): Promise<void> {}
  async sequence(_line: SequenceLine): Promise<void> {}
  async file(_file: FileStart): Promise<void> {}
  async piece(_bytes: Uint8Array): Promise<void> {}
  async fileEnd(_file: FileStart, _bytes: number): Promise<void> {}
}

type Place =
  | { readonly at: 'begin' | 'between' | 'end' }
  | { readonly at: 'table'; readonly table: TableStart; readonly sum: RowSum }
  | { readonly at: 'file'; readonly file: FileStart; readonly hash: Hash; bytes: number };

/** begin → header → between ⇄ table, file → end. */
export class ArchiveReader {
  readonly #handler: ArchiveHandler;
  #place: Place = { at: 'begin' };
  #tables = 0;
  #rows = 0;
  #files = 0;

  constructor(handler: ArchiveHandler) {
    this.#handler = handler;
  }

  /** Fails with INPUT_INVALID when the backup is damaged, and as the handler does. */
  async take(line: string): Promise<void> {
    const control = readControl(line);
    if (control) return this.#steer(control);
    if (this.#place.at === 'table') {
      this.#place.sum.add(line);
      return this.#handler.row(line);
    }
    if (this.#place.at !== 'file') throw damaged('something stands where nothing should');
    const bytes = pieceOf(line);
    this.#place.hash.update(bytes);
    this.#place.bytes += bytes.length;
    return this.#handler.piece(bytes);
  }

  /** After the last line. */
  finish(): ArchiveEnd {
    if (this.#place.at !== 'end') throw damaged('it has no end');
    return { headworks: 'end', tables: this.#tables, rows: this.#rows, files: this.#files };
  }

  async #steer(line: ControlLine): Promise<void> {
    if (line.headworks === 'failed')
      throw new HeadworksError(
        line.code,
        `The backup was not finished when it was written: ${line.message} Make another one when that is mended.`,
      );
    if (this.#place.at === 'table') return this.#endTable(this.#place, line);
    if (this.#place.at === 'file') return this.#endFile(this.#place, line);
    if (this.#place.at === 'begin') return this.#begin(line);
    if (this.#place.at === 'end') throw damaged('it goes on after its end');
    switch (line.headworks) {
      case 'table':
        this.#place = { at: 'table', table: line, sum: new RowSum() };
        return this.#handler.table(line);
      case 'sequence':
        return this.#handler.sequence(line);
      case 'file':
        this.#place = { at: 'file', file: line, hash: createHash('sha256'), bytes: 0 };
        return this.#handler.file(line);
      case 'end':
        return this.#end(line);
      default:
        throw damaged(`"${line.headworks}" stands where it should not`);
    }
  }

  async #begin(line: ControlLine): Promise<void> {
    if (line.headworks !== 'backup') throw damaged('it does not begin as a backup does');
    if (line.format > archiveFormat)
      throw new CoreError(
        'INPUT_INVALID',
        `The backup was written by a newer Headworks (${line.version}). Upgrade Headworks to restore it.`,
      );
    this.#place = { at: 'between' };
    await this.#handler.header(line);
  }

  async #endTable({ table, sum }: Place & { readonly at: 'table' }, line: ControlLine): Promise<void> {
    if (line.headworks !== 'table-end') throw damaged(`the table ${table.name} has no end`);
    if (line.rows !== sum.rows || line.rows !== table.rows || line.sum !== sum.sum)
      throw damaged(`the rows of the table ${table.name} are not those that were written`);
    this.#tables += 1;
    this.#rows += sum.rows;
    this.#place = { at: 'between' };
    await this.#handler.tableEnd(table, line);
  }

  async #endFile({ file, hash, bytes }: Place & { readonly at: 'file' }, line: ControlLine): Promise<void> {
    if (line.headworks !== 'file-end') throw damaged(`the file ${file.name} has no end`);
    if (line.bytes !== bytes || line.sha256 !== hash.digest('hex'))
      throw damaged(`the file ${file.name} is not what was written`);
    this.#files += 1;
    this.#place = { at: 'between' };
    await this.#handler.fileEnd(file, bytes);
  }

  #end(line: ArchiveEnd): void {
    if (line.tables !== this.#tables || line.rows !== this.#rows || line.files !== this.#files)
      throw damaged('tables or files are missing');
    this.#place = { at: 'end' };
  }
}

function pieceOf(line: string): Buffer {
  try {
    return Buffer.from(JSON.parse(line) as string, 'base64');
  } catch (error) {
    throw damaged('a piece of a file cannot be read', error);
  }
}

/** Fails with INPUT_INVALID when the file is no whole backup. */
export async function checkArchive(path: string, signal: AbortSignal): Promise<void> {
  const reader = new ArchiveReader(new Unconcerned());
  for await (const line of linesOf(createReadStream(path))) {
    signal.throwIfAborted();
    await reader.take(line);
  }
  reader.finish();
}

/** Lines of a compressed stream. Fails with INPUT_INVALID when it is cut off, damaged or no backup at all. */
export async function* linesOf(compressed: Readable): AsyncGenerator<string> {
  const text = createGunzip({ chunkSize: 256 * 1024 });
  // What happens to the one happens to the other; whoever reads below hears of it.
  pipeline(compressed, text, () => undefined);
  const decoder = new TextDecoder();
  // A line may be megabytes long: only what is new is searched for its end.
  let begun: string[] = [];
  try {
    for await (const bytes of text as AsyncIterable<Uint8Array>) {
      const [first = '', ...rest] = decoder.decode(bytes, { stream: true }).split('\n');
      begun.push(first);
      for (const piece of rest) {
        yield begun.join('');
        begun = [piece];
      }
    }
  } catch (error) {
    throw error instanceof HeadworksError ? error : damaged(reasonOf(error), error);
  }
  if (begun.join('') !== '') throw damaged('it is cut off');
}

function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'Z_BUF_ERROR') return 'it is cut off';
  if (code === 'Z_DATA_ERROR') return 'it is not a backup, or not as it was written';
  return messageOf(error);
}
