// A backup of a running house as a stream of bytes: rows of one moment, vaults, and the secret of webhooks.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { PassThrough, pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import { webhookSecretPath } from '../../app/webhook-secret.ts';
import type { Config } from '../../config/index.ts';
import type { Redactor } from '../../core/index.ts';
import { CoreError, HeadworksError, messageOf, systemClock } from '../../core/index.ts';
import { makeFolder } from '../../platform/data-folder/make-folder.ts';
import type { Database } from '../../platform/postgres/index.ts';
import type { LineSink } from './archive.ts';
import { controlLine } from './archive.ts';
import { explainFullDisk, makeScratch, removeLeftovers } from './disk-space.ts';
import { dumpFile, dumpStore, dumpVault, vaultNames, withSnapshot } from './dump.ts';

export interface BackupParts {
  readonly config: Config;
  readonly database: Database;
  readonly redactor: Redactor;
  /** Whether this process holds the data folder; a worker does not. */
  readonly isHolder: boolean;
}

export interface BackupWish {
  readonly vaults: boolean;
}

/** Lines are gathered before they are compressed: one by one is several times slower. */
const gatherCharacters = 64 * 1024;

/** One at a time: the second would only make both slower. */
export class BackupDesk {
  readonly #parts: BackupParts;
  #isUnderWay = false;

  constructor(parts: BackupParts) {
    this.#parts = parts;
  }

  /**
   * Compressed lines (see `archive.ts`). Fails with CONFLICT while another one is under way. What goes wrong later is
   * the last line: a backup without its end is none. The work ends when nobody reads any more.
   */
  open(wish: BackupWish): Readable {
    if (this.#isUnderWay)
      throw new CoreError('CONFLICT', 'A backup is under way on this server already. Wait until it is done.');
    this.#isUnderWay = true;
    const lines = new PassThrough();
    const gone = new AbortController();
    // Whoever reads has gone, or has all of it.
    const bytes = pipeline(lines, createGzip({ level: 4 }), () => gone.abort());
    void this.#write(wish, lines, gone.signal).finally(() => (this.#isUnderWay = false));
    return bytes;
  }

  async #write(wish: BackupWish, lines: PassThrough, signal: AbortSignal): Promise<void> {
    const { folder } = this.#parts.config.data;
    const sink = gathering(lines, signal);
    let scratch: string | undefined;
    try {
      // A worker has none until now.
      await makeFolder(folder);
      const kind = this.#parts.isHolder ? 'backup' : 'workerBackup';
      await removeLeftovers(folder, [kind]);
      scratch = await makeScratch(folder, kind);
      await this.#writeAll(wish, scratch, sink.write, signal);
      await sink.flush();
      lines.end();
    } catch (thrown) {
      const error = await explainFullDisk(thrown, {
        folder,
        store: 'embedded',
        advice: 'Make room there: while the embedded store is backed up, its folder "state" is there twice.',
      });
      const code = error instanceof HeadworksError ? error.code : 'INTERNAL';
      const message = this.#parts.redactor.text(messageOf(error));
      lines.end(`${controlLine({ headworks: 'failed', code, message })}\n`);
    } finally {
      if (scratch !== undefined) await rm(scratch, { recursive: true, force: true }).catch(() => undefined);
    }
  }

  async #writeAll(wish: BackupWish, scratch: string, write: LineSink, signal: AbortSignal): Promise<void> {
    const { config, database } = this.#parts;
    const { folder } = config.data;
    const { kind, version: postgres } = database.capabilities;
    const { schema } = database;
    const storeFolder = join(folder, 'state');
    const createdAt = new Date(systemClock.now());
    const dumped = await withSnapshot({ database, storeFolder, scratch, signal }, (transaction) =>
      dumpStore({ transaction, schema, store: kind, postgres, createdAt, write }),
    );
    let files = 0;
    if (wish.vaults)
      for (const name of await vaultNames(folder)) {
        await dumpVault(folder, name, scratch, write);
        files += 1;
      }
    const secret = webhookSecretPath(folder);
    if (existsSync(secret)) {
      await dumpFile('webhook-secret', 'webhook-secret', secret, write);
      files += 1;
    }
    await write(controlLine({ headworks: 'end', ...dumped, files }));
  }
}

interface GatheringSink {
  readonly write: LineSink;
  flush(): Promise<void>;
}

function gathering(lines: PassThrough, signal: AbortSignal): GatheringSink {
  let gathered: string[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    signal.throwIfAborted();
    const text = gathered.join('');
    gathered = [];
    characters = 0;
    if (text === '' || lines.write(text)) return;
    await drained(lines, signal);
  };
  const write = async (line: string): Promise<void> => {
    gathered.push(line, '\n');
    characters += line.length;
    if (characters >= gatherCharacters) await flush();
  };
  return { write, flush };
}

function drained(lines: PassThrough, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new CoreError('CANCELED', 'Nobody reads the backup any more.'));
    lines.once('drain', () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
