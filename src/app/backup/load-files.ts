// Puts the files of a backup beside their places first, and into them when everything else is done.
import { existsSync } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError } from '../../core/index.ts';
import { makeFolder } from '../../platform/data-folder/make-folder.ts';
import { vaultsFolder } from '../vault.ts';
import { webhookSecretPath } from '../webhook-secret.ts';
import type { FileStart } from './archive.ts';
import { damaged } from './archive.ts';
import { isVaultName } from './dump-files.ts';
import { makeScratch } from './leftovers.ts';

interface Staged {
  readonly draft: string;
  readonly path: string;
}

/** `file`, pieces, `fileEnd` for each; then `place`, or `discard`. */
export class FileLoader {
  readonly #dataFolder: string;
  readonly #mayReplace: boolean;
  readonly #staged: Staged[] = [];
  #scratch: string | undefined;
  #current: (Staged & { readonly handle: FileHandle }) | undefined;

  constructor(dataFolder: string, mayReplace: boolean) {
    this.#dataFolder = dataFolder;
    this.#mayReplace = mayReplace;
  }

  /** Fails with CONFLICT when something is in its place that may not be replaced. */
  async file(file: FileStart): Promise<void> {
    const path = this.#pathOf(file);
    if (existsSync(path) && !this.#mayReplace)
      throw new CoreError(
        'CONFLICT',
        `${path} is there already. Restore into another data folder, or give --replace to have it replaced; nothing was changed.`,
      );
    this.#scratch ??= await makeScratch(this.#dataFolder, 'restore');
    const draft = join(this.#scratch, String(this.#staged.length));
    this.#current = { draft, path, handle: await open(draft, 'wx', 0o600) };
  }

  async piece(bytes: Uint8Array): Promise<void> {
    await this.#current?.handle.writeFile(bytes);
  }

  async fileEnd(): Promise<void> {
    if (!this.#current) return;
    const { draft, path, handle } = this.#current;
    await handle.sync();
    await handle.close();
    this.#current = undefined;
    this.#staged.push({ draft, path });
  }

  /** Each takes its place at once. A vault's log of writes belongs to the file that was there before. */
  async place(): Promise<void> {
    for (const { draft, path } of this.#staged) {
      for (const beside of ['-wal', '-shm']) await rm(path + beside, { force: true });
      await rename(draft, path);
    }
    await this.discard();
  }

  async discard(): Promise<void> {
    await this.#current?.handle.close();
    if (this.#scratch !== undefined) await rm(this.#scratch, { recursive: true, force: true });
  }

  #pathOf({ kind, name }: FileStart): string {
    if (kind === 'webhook-secret') return webhookSecretPath(this.#dataFolder);
    // A backup comes from elsewhere: its names do not lead out of the folder.
    if (!isVaultName(name)) throw damaged('a vault has a name that no vault has');
    return join(vaultsFolder(this.#dataFolder), name);
  }
}

export async function prepareVaultsFolder(dataFolder: string): Promise<void> {
  await makeFolder(vaultsFolder(dataFolder));
}
