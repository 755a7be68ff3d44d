// Writes files into a backup: vaults, each as of one moment, and the secret that webhooks are signed with.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { backup } from 'node:sqlite';
import { openSqlite, sqliteError } from '../../platform/sqlite/index.ts';
import { vaultsFolder } from '../vault.ts';
import type { FileKind, LineSink } from './archive.ts';
import { controlLine } from './archive.ts';

/** Before base64 and compression. */
const pieceBytes = 384 * 1024;

export const isVaultName = (name: string): boolean => /^[^/\\\0]+\.(vault|db)$/.test(name);

/** Names of files; none when there is no folder yet. */
export async function vaultNames(dataFolder: string): Promise<readonly string[]> {
  const names = await readdir(vaultsFolder(dataFolder)).catch(() => []);
  return names.filter(isVaultName).toSorted();
}

/** Copies the vault first: an extraction may be writing to it. */
export async function dumpVault(
  dataFolder: string,
  name: string,
  scratch: string,
  write: LineSink,
): Promise<void> {
  const path = join(vaultsFolder(dataFolder), name);
  const copy = join(scratch, 'vault');
  const db = openSqlite(path, { readOnly: true });
  try {
    await backup(db, copy, { rate: 10_000 });
  } catch (error) {
    throw sqliteError(error, path);
  } finally {
    db.close();
  }
  await dumpFile('vault', name, copy, write);
}

export async function dumpFile(kind: FileKind, name: string, path: string, write: LineSink): Promise<void> {
  await write(controlLine({ headworks: 'file', kind, name }));
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
    hash.update(piece);
    bytes += piece.length;
    await write(JSON.stringify(piece.toString('base64')));
  }
  await write(controlLine({ headworks: 'file-end', bytes, sha256: hash.digest('hex') }));
}
