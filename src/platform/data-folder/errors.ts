// Problems of a data folder, each in one line with the remedy.
import { CoreError, messageOf } from '../../core/errors.ts';

/** The process that holds the data folder, for messages. Only the lock decides. */
export interface Holder {
  readonly pid: number;
  readonly command: string;
  /** ISO 8601. */
  readonly since: string;
}

export function folderBusy(path: string, holder: Holder | undefined): CoreError {
  const who = holder ? `process ${holder.pid} (${holder.command}, since ${holder.since})` : 'another process';
  return new CoreError(
    'DATA_FOLDER_BUSY',
    `The data folder ${path} is in use by ${who}. Stop that process, or choose another data folder.`,
    { isRetryable: true, details: { path, ...holder } },
  );
}

export function folderNewer(path: string, format: number, known: number, writtenBy: string): CoreError {
  return unusable(
    path,
    `was written by a newer version of Headworks (${writtenBy}, format ${format}; this version knows ${known})`,
    'Upgrade Headworks, or choose another data folder.',
  );
}

export function formatDamaged(path: string): CoreError {
  return unusable(
    path,
    'has a format.json that cannot be read',
    'Restore it from a backup, or choose another data folder.',
  );
}

/** The name of a folder in messages. */
export interface FolderName {
  /** `The data folder` */
  readonly what: string;
  /** `choose another data folder` */
  readonly another: string;
}

const dataFolder: FolderName = { what: 'The data folder', another: 'choose another data folder' };

/** An error of the file system, explained by its code. */
export function folderUnusable(path: string, error: unknown, name: FolderName = dataFolder): CoreError {
  const code = codeOf(error);
  const [what, remedy] = reasons[code ?? ''] ?? [`cannot be used: ${messageOf(error)}`, 'ANOTHER'];
  const advice = remedy.replace('ANOTHER', name.another);
  return unusable(path, what, `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`, error, name);
}

/** SQLite reports a full disk with its own code. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, errcode } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  return errcode === sqliteFull ? 'ENOSPC' : code;
}

const sqliteFull = 13;

const isFile = ['is, or lies below, a file', 'ANOTHER, or move that file away'] as const;
const noRights = [
  'cannot be written by this user',
  'give this user the folder (chown, chmod u+rwx), or ANOTHER',
] as const;

const reasons: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  EEXIST: isFile,
  ENOTDIR: isFile,
  EACCES: noRights,
  EPERM: noRights,
  EROFS: ['lies on a read-only file system', 'ANOTHER'],
  ENOSPC: ['has no space left', 'free some space, or ANOTHER'],
  ENOENT: ['cannot be made there', 'ANOTHER'],
  ERR_SQLITE_ERROR: [
    'has a lock file (lock.sqlite) that cannot be written',
    'check who owns the files in it (was Headworks started by another user before?)',
  ],
};

function unusable(
  path: string,
  what: string,
  remedy: string,
  cause?: unknown,
  name: FolderName = dataFolder,
): CoreError {
  return new CoreError('DATA_FOLDER_UNUSABLE', `${name.what} ${path} ${what}. ${remedy}`, {
    details: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
