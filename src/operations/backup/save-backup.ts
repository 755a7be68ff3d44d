// Writes a backup from a server to a file and verifies it meanwhile: a file with its final name is complete.
import { createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CoreError, HttpFailure, systemClock } from '../../core/index.ts';
import { makeFolder } from '../../platform/data-folder/files.ts';
import type { ArchiveEnd, ArchiveItem, FileStart } from './archive.ts';
import { ArchiveReader, linesOf } from './archive.ts';

export interface SavedBackup extends Omit<ArchiveEnd, 'headworks'> {
  readonly file: string;
  readonly bytes: number;
  readonly vaults: readonly string[];
  readonly hasWebhookSecret: boolean;
}

const generatedName = /^headworks-[\dTZ-]+\.backup$/;

/**
 * The file to write: `headworks-2026-03-01T12-00-00Z.backup` in it when `given` is a folder. `isFolder`: create the
 * folder if it does not exist. Fails with CONFLICT when the file exists.
 */
export async function backupPath(given: string, isFolder: boolean, now: Date): Promise<string> {
  if (isFolder) await makeFolder(given, { what: 'The folder', another: 'name another one' });
  const found = await stat(given).catch(() => null);
  const name = `headworks-${now.toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}.backup`;
  const path = found?.isDirectory() ? join(given, name) : given;
  if (await stat(path).catch(() => null))
    throw new CoreError('CONFLICT', `${path} already exists. Name another file; this one is unchanged.`);
  return path;
}

/** The file gets its name only when it is complete and verified. Readable by its owner only. */
export async function saveBackup(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  onProgress: (progress: BackupProgress) => void,
): Promise<SavedBackup> {
  await removeStaleDrafts(path);
  // Named with the process id: a killed process does not block the next one from the same file.
  const draft = `${path}.${process.pid}.part`;
  const reader = new ArchiveReader();
  const progress = new ProgressReporter(onProgress);
  const files: FileStart[] = [];
  const copy = new PassThrough();
  try {
    const checking = (async () => {
      for await (const line of linesOf(copy)) {
        const item = reader.read(line);
        progress.take(item);
        if (item.headworks === 'file') files.push(item);
      }
    })();
    checking.catch(() => undefined);
    const file = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(
      Readable.from(bytes),
      async function* (source: AsyncIterable<Uint8Array>) {
        for await (const piece of source) {
          if (!copy.write(piece) && !copy.destroyed) await drained(copy);
          yield piece;
        }
        copy.end();
      },
      file,
    );
    await checking;
    const end = reader.finish();
    const { size } = await stat(draft);
    await rename(draft, path);
    const vaults = files.filter(({ kind }) => kind === 'vault').map(({ name }) => name);
    return { file: path, bytes: size, ...end, vaults, hasWebhookSecret: files.length > vaults.length };
  } catch (error) {
    copy.destroy();
    await rm(draft, { force: true });
    throw explained(error, path);
  }
}

/** Removes drafts of dead processes, for the same file or one with a generated name. */
async function removeStaleDrafts(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    const [, of, pid] = /^(.+)\.(\d+)\.part$/.exec(name) ?? [];
    const isOurs = of === basename(path) || generatedName.test(of ?? '');
    if (isOurs && (Number(pid) === process.pid || !isAlive(Number(pid))))
      await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Resolves at once when the verification has failed and closed the stream. */
function drained(copy: PassThrough): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      copy.off('drain', go);
      copy.off('close', go);
      resolve();
    };
    copy.on('drain', go);
    copy.on('close', go);
  });
}

function explained(error: unknown, path: string): unknown {
  if (error instanceof HttpFailure && (error.kind === 'network' || error.kind === 'timeout'))
    return new CoreError(
      'SERVER_UNREACHABLE',
      `The connection to the server was lost during the backup (${error.message.replace(/\.$/, '')}); ${path} was not written. Check the server (headworks doctor), then run it again.`,
      { cause: error, isRetryable: true },
    );
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC')
    return new CoreError(
      'INPUT_INVALID',
      `${path}: the disk is full. Free some space, or name another path.`,
      { cause: error },
    );
  if (['ENOENT', 'EACCES', 'EROFS'].includes(code))
    return new CoreError(
      'INPUT_INVALID',
      `${path} cannot be written. Name a path in a folder that exists and is writable.`,
      { cause: error },
    );
  return error;
}

export interface BackupProgress {
  /** Rows so far. */
  readonly done: number;
  readonly total: number;
  /** The current table or file. */
  readonly at: string;
}

/** Interval of progress reports. */
const reportEveryMs = 1_000;

export class ProgressReporter {
  readonly #report: (progress: BackupProgress) => void;
  #total = 0;
  #done = 0;
  #at = '';
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(report: (progress: BackupProgress) => void) {
    this.#report = report;
  }

  /** Call it with every item of the archive. */
  take(item: ArchiveItem): void {
    if (item.headworks === 'backup') this.#total = item.rows;
    else if (item.headworks === 'row') this.#done += 1;
    else if (item.headworks === 'table' || item.headworks === 'file') this.#at = item.name;
    else return;
    const now = systemClock.monotonic();
    if (now < this.#nextAt) return;
    this.#nextAt = now + reportEveryMs;
    this.#report({ done: this.#done, total: this.#total, at: this.#at });
  }
}
