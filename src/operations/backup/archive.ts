// The format of a backup: gzip-compressed lines of JSON. A line that begins with {"headworks": is a control line; any
// other is a row of the table, or a piece of the file, that the last control line started. Readable with standard tools.
import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { AppliedMigration } from '../../platform/postgres/index.ts';

/** Incremented when older versions cannot read the format. */
export const archiveFormat = 1;

export type TableScope = 'state' | 'jobs';

export interface ArchiveHeader {
  readonly headworks: 'backup';
  readonly format: number;
  readonly version: string;
  readonly createdAt: string;
  readonly store: 'embedded' | 'server';
  readonly postgres: string;
  readonly migrations: readonly AppliedMigration[];
  /** Schema version of pg-boss; null when it has no tables. */
  readonly jobsVersion: number | null;
  readonly tables: number;
  /** Rows of all tables together, for progress reports. */
  readonly rows: number;
}

export interface TableStart {
  readonly headworks: 'table';
  readonly scope: TableScope;
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
}

/** Ends a table, with what was actually written. */
export interface TableEnd {
  readonly headworks: 'table-end';
  readonly rows: number;
  /** Checksum of all rows, independent of their order: see `RowSum`. */
  readonly sum: string;
}

/** The current value of an identity column. */
export interface SequenceLine {
  readonly headworks: 'sequence';
  readonly table: string;
  readonly column: string;
  /** As text: it may be past 2^53. */
  readonly last: string;
  readonly isCalled: boolean;
}

export type FileKind = 'vault' | 'webhook-secret';

/** Starts a file; its pieces follow, each a JSON string of base64. */
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

/** The last line of a complete backup. */
export interface ArchiveEnd {
  readonly headworks: 'end';
  readonly tables: number;
  readonly rows: number;
  readonly files: number;
}

/** The last line of a backup that failed. */
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

/** Takes one line without its line break; resolves when it can take the next. */
export type LineSink = (line: string) => Promise<void>;

const controlPrefix = '{"headworks":';

export const controlLine = (line: ControlLine): string => JSON.stringify(line);

/** Null for a row or a piece of a file. Fails with INPUT_INVALID when a control line cannot be parsed. */
export function readControl(line: string): ControlLine | null {
  if (!line.startsWith(controlPrefix)) return null;
  try {
    return JSON.parse(line) as ControlLine;
  } catch (error) {
    throw damaged('a control line cannot be parsed', error);
  }
}

/**
 * Order-independent checksum: the sum of the first 60 bits of each row's SHA-256. Postgres computes the same over a
 * table (`tableSum`), so that the stored rows can be compared with the archive.
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
    { cause },
  );
}

/** One line of an archive. A table or file is verified when its end is returned. */
export type ArchiveItem =
  | Exclude<ControlLine, ArchiveFailed>
  | { readonly headworks: 'row' }
  | { readonly headworks: 'piece'; readonly bytes: Uint8Array };

const row: ArchiveItem = { headworks: 'row' };

type Position =
  | { readonly at: 'begin' | 'between' | 'end' }
  | { readonly at: 'table'; readonly table: TableStart; readonly sum: RowSum }
  | { readonly at: 'file'; readonly file: FileStart; readonly hash: Hash; bytes: number };

/** begin → header → between ⇄ table, file → end. */
export class ArchiveReader {
  #position: Position = { at: 'begin' };
  #tables = 0;
  #rows = 0;
  #files = 0;

  /** Fails with INPUT_INVALID when the backup is damaged. */
  read(line: string): ArchiveItem {
    const control = readControl(line);
    if (control) return this.#control(control);
    if (this.#position.at === 'table') {
      this.#position.sum.add(line);
      return row;
    }
    if (this.#position.at !== 'file') throw damaged('a line is outside of any table or file');
    const bytes = pieceOf(line);
    this.#position.hash.update(bytes);
    this.#position.bytes += bytes.length;
    return { headworks: 'piece', bytes };
  }

  /** Call it after the last line. */
  finish(): Omit<ArchiveEnd, 'headworks'> {
    if (this.#position.at !== 'end') throw damaged('it has no end');
    return { tables: this.#tables, rows: this.#rows, files: this.#files };
  }

  #control(line: ControlLine): ArchiveItem {
    if (line.headworks === 'failed')
      throw new HeadworksError(
        line.code,
        `Writing the backup failed: ${line.message} Create another one when that is fixed.`,
      );
    switch (this.#position.at) {
      case 'begin':
        return this.#begin(line);
      case 'table':
        return this.#endTable(this.#position, line);
      case 'file':
        return this.#endFile(this.#position, line);
      case 'between':
        return this.#continue(line);
      default:
        throw damaged('it continues after its end');
    }
  }

  #begin(line: ControlLine): ArchiveItem {
    if (line.headworks !== 'backup') throw damaged('it has no header');
    if (line.format > archiveFormat)
      throw new CoreError(
        'INPUT_INVALID',
        `The backup was written by a newer Headworks (${line.version}). Upgrade Headworks to restore it.`,
      );
    this.#position = { at: 'between' };
    return line;
  }

  #continue(line: ControlLine): ArchiveItem {
    switch (line.headworks) {
      case 'table':
        this.#position = { at: 'table', table: line, sum: new RowSum() };
        return line;
      case 'sequence':
        return line;
      case 'file':
        this.#position = { at: 'file', file: line, hash: createHash('sha256'), bytes: 0 };
        return line;
      case 'end':
        if (line.tables !== this.#tables || line.rows !== this.#rows || line.files !== this.#files)
          throw damaged('tables or files are missing');
        this.#position = { at: 'end' };
        return line;
      default:
        throw damaged(`"${line.headworks}" is at the wrong position`);
    }
  }

  #endTable({ table, sum }: Position & { readonly at: 'table' }, line: ControlLine): ArchiveItem {
    if (line.headworks !== 'table-end') throw damaged(`the table ${table.name} has no end`);
    if (line.rows !== sum.rows || line.rows !== table.rows || line.sum !== sum.sum)
      throw damaged(`the rows of the table ${table.name} do not match their checksum`);
    this.#tables += 1;
    this.#rows += sum.rows;
    this.#position = { at: 'between' };
    return line;
  }

  #endFile({ file, hash, bytes }: Position & { readonly at: 'file' }, line: ControlLine): ArchiveItem {
    if (line.headworks !== 'file-end') throw damaged(`the file ${file.name} has no end`);
    if (line.bytes !== bytes || line.sha256 !== hash.digest('hex'))
      throw damaged(`the file ${file.name} does not match its checksum`);
    this.#files += 1;
    this.#position = { at: 'between' };
    return line;
  }
}

function pieceOf(line: string): Buffer {
  try {
    return Buffer.from(JSON.parse(line) as string, 'base64');
  } catch (error) {
    throw damaged('a piece of a file cannot be parsed', error);
  }
}

/** Fails with INPUT_INVALID when the file is not a complete backup. */
export async function checkArchive(path: string, signal: AbortSignal): Promise<void> {
  const reader = new ArchiveReader();
  for await (const line of linesOf(createReadStream(path))) {
    signal.throwIfAborted();
    reader.read(line);
  }
  reader.finish();
}

/** Lines of a compressed stream. Fails with INPUT_INVALID when it is truncated, damaged or not a backup. */
export async function* linesOf(compressed: Readable): AsyncGenerator<string> {
  const text = createGunzip({ chunkSize: 256 * 1024 });
  // Errors of the source destroy the target; the loop below throws them.
  pipeline(compressed, text, () => undefined);
  const decoder = new TextDecoder();
  // A line may be megabytes long: only new text is searched for its end.
  let partial: string[] = [];
  try {
    for await (const bytes of text as AsyncIterable<Uint8Array>) {
      const [first = '', ...rest] = decoder.decode(bytes, { stream: true }).split('\n');
      partial.push(first);
      for (const piece of rest) {
        yield partial.join('');
        partial = [piece];
      }
    }
  } catch (error) {
    throw error instanceof HeadworksError ? error : damaged(reasonOf(error), error);
  }
  if (partial.join('') !== '') throw damaged('it is truncated');
}

function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'Z_BUF_ERROR') return 'it is truncated';
  if (code === 'Z_DATA_ERROR') return 'it is not a backup, or was modified';
  return messageOf(error);
}
