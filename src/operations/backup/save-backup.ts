// Writes a backup that comes from a server into a file, reading along: a file that is there is whole.
import { createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CoreError, HttpFailure, systemClock } from '../../core/index.ts';
import { makeFolder } from '../../platform/data-folder/make-folder.ts';
import type { ArchiveEnd, ArchiveHeader, FileStart, TableStart } from './archive.ts';
import { ArchiveReader, Unconcerned, linesOf } from './archive.ts';

export interface SavedBackup extends Omit<ArchiveEnd, 'headworks'> {
  readonly file: string;
  readonly bytes: number;
  readonly vaults: readonly string[];
  readonly hasWebhookSecret: boolean;
}

const timedName = /^headworks-[\dTZ-]+\.backup$/;

/**
 * `headworks-2026-03-01T12-00-00Z.backup` when a folder was named. `isFolder`: a folder is meant, and made if it is not
 * there. Fails with CONFLICT when the file is there.
 */
export async function backupPath(given: string, isFolder: boolean, now: Date): Promise<string> {
  if (isFolder) await makeFolder(given, { what: 'The folder', another: 'name another one' });
  const found = await stat(given).catch(() => null);
  const name = `headworks-${now.toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}.backup`;
  const path = found?.isDirectory() ? join(given, name) : given;
  if (await stat(path).catch(() => null))
    throw new CoreError('CONFLICT', `${path} is there already. Name another file; this one was not touched.`);
  return path;
}

/** The file has its name only when all of it is there and right. For its owner's eyes only, as the store is. */
export async function saveBackup(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  onProgress: (progress: BackupProgress) => void,
): Promise<SavedBackup> {
  await removeStaleDrafts(path);
  // A name of this process alone: a job that was killed does not keep the next one from the same file.
  const draft = `${path}.${process.pid}.part`;
  const seen = new Looking(onProgress);
  const reader = new ArchiveReader(seen);
  const copy = new PassThrough();
  try {
    const checking = (async () => {
      for await (const line of linesOf(copy)) await reader.take(line);
    })();
    checking.catch(() => undefined);
    const file = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(
      Readable.from(bytes),
      async function* (source: AsyncIterable<Uint8Array>) {
        for await (const piece of source) {
          if (!copy.write(piece) && !copy.destroyed) await roomIn(copy);
          yield piece;
        }
        copy.end();
      },
      file,
    );
    await checking;
    const { headworks: _, ...end } = reader.finish();
    const { size } = await stat(draft);
    await rename(draft, path);
    return { file: path, bytes: size, ...end, vaults: seen.vaults, hasWebhookSecret: seen.hasWebhookSecret };
  } catch (error) {
    copy.destroy();
    await rm(draft, { force: true });
    throw explained(error, path);
  }
}

/** Of processes that are dead, for the same file, or for one that was named by its time. */
async function removeStaleDrafts(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    const [, of, pid] = /^(.+)\.(\d+)\.part$/.exec(name) ?? [];
    const isOurs = of === basename(path) || timedName.test(of ?? '');
    if (isOurs && (Number(pid) === process.pid || !isAlive(Number(pid))))
      await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Somebody else's process is one as well.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whoever checks may have given up: then there is always room. */
function roomIn(copy: PassThrough): Promise<void> {
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
      `The server went away during the backup (${error.message.replace(/\.$/, '')}); ${path} was not written. Look whether the server runs (headworks doctor), then run it again.`,
      { cause: error, isRetryable: true },
    );
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOSPC':
      return new CoreError('INPUT_INVALID', `${path}: the disk is full. Make room, or name another place.`, {
        cause: error,
      });
    case 'ENOENT':
    case 'EACCES':
    case 'EROFS':
      return new CoreError(
        'INPUT_INVALID',
        `${path} cannot be written. Name a place that exists and is yours.`,
        {
          cause: error,
        },
      );
    default:
      return error;
  }
}

/** Reads along to say how far it is, and what is in it. */
class Looking extends Unconcerned {
  readonly vaults: string[] = [];
  hasWebhookSecret = false;
  readonly #teller: ProgressTeller;

  constructor(onProgress: (progress: BackupProgress) => void) {
    super();
    this.#teller = new ProgressTeller(onProgress);
  }

  override async header({ rows }: ArchiveHeader): Promise<void> {
    this.#teller.total = rows;
  }

  override async table({ name }: TableStart): Promise<void> {
    this.#teller.at(name);
  }

  override async row(): Promise<void> {
    this.#teller.one();
  }

  override async file({ kind, name }: FileStart): Promise<void> {
    this.#teller.at(name);
    if (kind === 'vault') this.vaults.push(name);
    else this.hasWebhookSecret = true;
  }
}

export interface BackupProgress {
  /** Rows. */
  readonly done: number;
  readonly total: number;
  /** The table or file that is being read. */
  readonly at: string;
}

/** A terminal has no use for more, and a log less. */
const tellEveryMs = 1_000;

export class ProgressTeller {
  total = 0;
  readonly #tell: (progress: BackupProgress) => void;
  #done = 0;
  #at = '';
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(tell: (progress: BackupProgress) => void) {
    this.#tell = tell;
  }

  at(name: string): void {
    this.#at = name;
    this.#tellIfDue();
  }

  one(): void {
    this.#done += 1;
    this.#tellIfDue();
  }

  #tellIfDue(): void {
    const now = systemClock.monotonic();
    if (now < this.#nextAt) return;
    this.#nextAt = now + tellEveryMs;
    this.#tell({ done: this.#done, total: this.total, at: this.#at });
  }
}
