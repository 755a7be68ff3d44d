// Secrets that we make ourselves and keep in the data folder, in a file that only its owner may read.
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { CoreError, messageOf } from '../core/index.ts';

export interface KeptSecret {
  readonly path: string;
  /** `admin token`. */
  readonly what: string;
  /** What may be set instead. */
  readonly variable: string;
}

/** As options demand it of configured ones. */
const usable = /^[\u0021-\u007e]{16,}$/;

/** Null when none was made yet. Fails with DATA_FOLDER_UNUSABLE. */
export async function readKeptSecret({ path, what, variable }: KeptSecret): Promise<string | null> {
  try {
    const secret = (await readFile(path, 'utf8')).trim();
    if (secret === '') return null;
    if (usable.test(secret)) return secret;
    throw new Error('it is not one line of at least 16 visible characters');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new CoreError(
      'DATA_FOLDER_UNUSABLE',
      `The ${what} in ${path} cannot be used (${messageOf(error)}). ` +
        `Run as the user who started the server, delete the file to have a new one made, or set ${variable}.`,
      { cause: error },
    );
  }
}

/** The one that is kept, or the one that `make` gives. Call it only while holding the data folder. */
export async function ensureKeptSecret(
  kept: KeptSecret,
  make: () => string,
): Promise<{ readonly secret: string; readonly isNew: boolean }> {
  const known = await readKeptSecret(kept);
  const secret = known ?? make();
  if (known === null) await writeFile(kept.path, `${secret}\n`, { mode: 0o600 });
  await chmod(kept.path, 0o600);
  return { secret, isNew: known === null };
}
