// What a backup consists of: lines of JSON. A line that begins with {"headworks": steers; every other is a row of the
// table that was named last, or a piece of the file that was. Compressed with gzip, so that any tool can look inside.
import { createHash } from 'node:crypto';
import { CoreError } from '../../core/index.ts';
import type { AppliedMigration } from '../../platform/postgres/migrate.ts';

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
