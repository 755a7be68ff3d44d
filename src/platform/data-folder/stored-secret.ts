// A secret that the first start generates and stores in the data folder, readable by its owner only.
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { CoreError, messageOf } from '../../core/index.ts';

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
