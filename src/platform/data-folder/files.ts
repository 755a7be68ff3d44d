// Files and folders of the data folder: names, how they are created and written, stored secrets, and errors with the remedy.
import { closeSync, openSync } from 'node:fs';
import { access, constants, mkdir, rename, stat, writeFile, chmod, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CoreError, messageOf, shortageOf } from '../../core/errors.ts';

/** The files of the embedded store. */
export const stateFolder = (dataFolder: string): string => join(dataFolder, 'state');

/** Default folder of extraction vaults. */
export const vaultsFolder = (dataFolder: string): string => join(dataFolder, 'vaults');

/** The secret from which webhook signing secrets are derived, where none is configured. */
export const webhookSecretPath = (dataFolder: string): string => join(dataFolder, 'webhook-secret');

/** Creates the folder and its parents for this user only. Fails with DATA_FOLDER_UNUSABLE; `name` is used in its message. */
export async function makeFolder(path: string, name?: FolderName): Promise<void> {
  try {
    await makePath(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw folderUnusable(path, error, name);
  }
}

/** Not Node's `recursive`, which loops forever where nothing can be created, such as in /proc. */
async function makePath(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makePath(dirname(path));
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (!exists || !(await stat(path)).isDirectory()) throw error;
  }
}

/**
 * Creates an empty file that only its owner can read, before SQLite creates one that every user can. An existing file is
 * not even opened: closing it would drop every lock of this process on it. Never fails: SQLite then reports the error.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // See above.
  }
}

/** Replaces a file atomically. Only one process at a time may write the same file. */
export async function writeFileAtomic(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600, flush: true });
  await rename(temporary, path);
}

export const writeJsonFile = (path: string, value: object): Promise<void> =>
  writeFileAtomic(path, `${JSON.stringify(value, null, 2)}\n`);

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

/** Raised when other versions cannot use the folder. 1 is 0.1.0. */
export const currentFormat = 2;

export const formatFile = (folder: string): string => join(folder, 'format.json');

/**
 * Whether the folder has a format; false for a new one. Fails with DATA_FOLDER_UNUSABLE when it is of another version. Writes
 * nothing: call it before anything in the folder is used.
 */
export async function checkDataFolder(folder: string): Promise<boolean> {
  const text = await readFile(formatFile(folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw folderUnusable(folder, error);
  });
  if (text === undefined) return false;
  const { format, writtenBy } = parseFormat(folder, text);
  if (format > currentFormat)
    throw unusable(
      folder,
      `was written by a newer version of Headworks (${writtenBy}, format ${format}; this version supports ${currentFormat})`,
      'Upgrade Headworks, or choose another data folder.',
    );
  if (format < currentFormat)
    throw unusable(
      folder,
      `was created by an earlier version of Headworks (${writtenBy}), which this version cannot upgrade`,
      'Choose another data folder, or keep using that version with this one.',
    );
  return true;
}

function parseFormat(folder: string, text: string): { format: number; writtenBy: string } {
  try {
    const { format, writtenBy } = JSON.parse(text) as { format?: unknown; writtenBy?: unknown };
    if (typeof format === 'number')
      return { format, writtenBy: typeof writtenBy === 'string' ? writtenBy : 'version unknown' };
  } catch {
    // Invalid JSON is the same as JSON without a format.
  }
  throw unusable(
    folder,
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

const isFile = ['is a file, or is below one', 'ANOTHER, or move that file away'] as const;
const noRights = [
  'cannot be written by this user',
  'give this user the folder (chown, chmod u+rwx), or ANOTHER',
] as const;

const tooManyFiles = [
  'cannot be used: too many files are open',
  'raise the limit of open files (ulimit -n, or LimitNOFILE of the service)',
] as const;

const reasons: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  EEXIST: isFile,
  ENOTDIR: isFile,
  EACCES: noRights,
  EPERM: noRights,
  EROFS: ['is on a read-only file system', 'ANOTHER'],
  ENOSPC: ['has no space left', 'free some space, or ANOTHER'],
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  ENOENT: ['cannot be created there', 'ANOTHER'],
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
    cause,
  });
}

/** A secret that the first start generates and stores in the data folder, readable by its owner only. */
export interface StoredSecret {
  readonly path: string;
  /** `admin token`. */
  readonly what: string;
  /** The environment variable that replaces it. */
  readonly variable: string;
}

/** The same rule as for configured secrets. */
const usable = /^[\u0021-\u007e]{16,}$/;

/** Null when none was generated yet. Fails with DATA_FOLDER_UNUSABLE. */
export async function readStoredSecret({ path, what, variable }: StoredSecret): Promise<string | null> {
  try {
    const secret = (await readFile(path, 'utf8')).trim();
    if (secret === '') return null;
    if (usable.test(secret)) return secret;
    throw new Error('it is not one line of at least 16 visible characters');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    // The file itself is not the problem.
    if (shortageOf(error) !== null)
      throw folderUnusable(path, error, { what: `The ${what} in`, another: '' });
    throw new CoreError(
      'DATA_FOLDER_UNUSABLE',
      `The ${what} in ${path} cannot be used (${messageOf(error)}). ` +
        `Run as the user who started the server, delete the file to generate a new one, or set ${variable}.`,
      { cause: error },
    );
  }
}

/** The stored secret, or a new one from `generate`. Call it only while holding the data folder. */
export async function ensureStoredSecret(
  stored: StoredSecret,
  generate: () => string,
): Promise<{ readonly secret: string; readonly isNew: boolean }> {
  const known = await readStoredSecret(stored);
  const secret = known ?? generate();
  if (known === null) await writeFile(stored.path, `${secret}\n`, { mode: 0o600 });
  await chmod(stored.path, 0o600);
  return { secret, isNew: known === null };
}
