// Streams a backup of a running server: a consistent snapshot of all rows, the vaults, and the webhook secret.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { PassThrough, pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Config } from '../../config/index.ts';
import type { Redactor } from '../../core/index.ts';
import { CoreError, HeadworksError, messageOf, systemClock } from '../../core/index.ts';
import { makeFolder, stateFolder, webhookSecretPath } from '../../platform/data-folder/files.ts';
import type { Database } from '../../platform/postgres/index.ts';
import type { LineSink } from './archive.ts';
import { controlLine } from './archive.ts';
import { explainFullDisk, createScratch, removeStaleScratch } from './disk-space.ts';
import { dumpFile, dumpStore, dumpVault, vaultNames, withSnapshot } from './dump.ts';

export interface BackupDeps {
  readonly config: Config;
  readonly database: Database;
  readonly redactor: Redactor;
  /** Whether this process holds the data folder's lock; a worker does not. */
  readonly isHolder: boolean;
}

export interface BackupOptions {
  readonly includeVaults: boolean;
}

/** Lines are compressed in chunks: one by one is several times slower. */
const chunkCharacters = 64 * 1024;

/** One backup at a time: a second one would only slow down both. */
export class BackupService {
  readonly #deps: BackupDeps;
  #isRunning = false;

  constructor(deps: BackupDeps) {
    this.#deps = deps;
  }

  /**
   * Compressed lines (see `archive.ts`). Fails with CONFLICT while another backup is running. A later failure is
   * written as the last line: a backup without its end line is invalid. Stops when the reader disconnects.
   */
  open(options: BackupOptions): Readable {
    if (this.#isRunning)
      throw new CoreError('CONFLICT', 'A backup is already running on this server. Wait until it is done.');
    this.#isRunning = true;
    const lines = new PassThrough();
    const closed = new AbortController();
    // Called when the reader has everything, or has gone away.
    const bytes = pipeline(lines, createGzip({ level: 4 }), () => closed.abort());
    void this.#write(options, lines, closed.signal).finally(() => (this.#isRunning = false));
    return bytes;
  }

  async #write(options: BackupOptions, lines: PassThrough, signal: AbortSignal): Promise<void> {
    const { folder } = this.#deps.config.data;
    const sink = chunkedSink(lines, signal);
    let scratch: string | undefined;
    try {
      // A worker has no data folder yet.
      await makeFolder(folder);
      const kind = this.#deps.isHolder ? 'backup' : 'workerBackup';
      await removeStaleScratch(folder, [kind]);
      scratch = await createScratch(folder, kind);
      await this.#writeAll(options, scratch, sink.write, signal);
      await sink.flush();
      lines.end();
    } catch (thrown) {
      const error = await explainFullDisk(thrown, {
        folder,
        store: 'embedded',
        advice: 'Free some space: a backup of the embedded store copies its folder "state".',
      });
      const code = error instanceof HeadworksError ? error.code : 'INTERNAL';
      const message = this.#deps.redactor.text(messageOf(error));
      lines.end(`${controlLine({ headworks: 'failed', code, message })}\n`);
    } finally {
      if (scratch !== undefined) await rm(scratch, { recursive: true, force: true }).catch(() => undefined);
    }
  }

  async #writeAll(
    options: BackupOptions,
    scratch: string,
    write: LineSink,
    signal: AbortSignal,
  ): Promise<void> {
    const { config, database } = this.#deps;
    const { folder } = config.data;
    const { kind, version: postgres } = database.capabilities;
    const { schema } = database;
    const storeFolder = stateFolder(folder);
    const createdAt = new Date(systemClock.now());
    const dumped = await withSnapshot({ database, storeFolder, scratch, signal }, (transaction) =>
      dumpStore({ transaction, schema, store: kind, postgres, createdAt, write }),
    );
    let files = 0;
    if (options.includeVaults)
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

function chunkedSink(
  lines: PassThrough,
  signal: AbortSignal,
): { readonly write: LineSink; flush(): Promise<void> } {
  let chunk: string[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    signal.throwIfAborted();
    const text = chunk.join('');
    chunk = [];
    characters = 0;
    if (text !== '' && !lines.write(text)) await once(lines, 'drain', { signal });
  };
  const write = async (line: string): Promise<void> => {
    chunk.push(line, '\n');
    characters += line.length;
    if (characters >= chunkCharacters) await flush();
  };
  return { write, flush };
}
