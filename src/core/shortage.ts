// Recognizes a disk that is full or fails, and files that cannot be opened, from errors of the file system, SQLite and Postgres.

export type Shortage = 'disk' | 'files' | 'io';

/**
 * Shortages by the code of the operating system, of SQLite, or of Postgres. PGlite reports 58P02 (a file that it could
 * not create exists) when too many files are open.
 */
const shortages: Readonly<Record<string, Shortage>> = {
  ENOSPC: 'disk',
  EDQUOT: 'disk',
  SQLITE_FULL: 'disk',
  53100: 'disk',
  EMFILE: 'files',
  ENFILE: 'files',
  53000: 'files',
  '58P02': 'files',
  58030: 'io',
};

const sqliteFull = 13;

/** The shortage that the error or one of its causes reports; null without one. */
export function shortageOf(error: unknown): Shortage | null {
  const seen = new Set<unknown>();
  for (let at: unknown = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    const { code, errcode } = at as { readonly code?: unknown; readonly errcode?: unknown };
    if (typeof errcode === 'number' && (errcode & 0xff) === sqliteFull) return 'disk';
    const shortage = typeof code === 'string' ? shortages[code] : undefined;
    if (shortage !== undefined) return shortage;
  }
  return null;
}

/** What is wrong, to follow the name of what cannot be used; and what to do, in whole sentences. */
export const shortageTexts: Readonly<
  Record<Shortage, { readonly problem: string; readonly remedy: string }>
> = {
  disk: {
    problem: 'has no disk space left',
    remedy: 'Free some space on that disk; nothing needs a restart.',
  },
  io: {
    problem: 'cannot read or write its files',
    remedy: 'Check the disk, and the messages of the operating system about it.',
  },
  files: {
    problem: 'cannot open more files',
    remedy:
      'Raise the limit of open files (ulimit -n, or LimitNOFILE of the service), or reduce what else runs on the machine.',
  },
};
