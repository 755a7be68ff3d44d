// Secrets that the first start generates and stores in the data folder, readable by their owner only.
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { IdSource } from '../core/index.ts';
import { CoreError, messageOf } from '../core/index.ts';

const adminTokenIn = (folder: string): StoredSecret => ({
  path: join(folder, 'admin-token'),
  what: 'admin token',
  variable: 'HEADWORKS_ADMIN_TOKEN',
});
/** Exists once the token was printed: a failed start, or a command that started first, prints nothing. */
const shownMarkerIn = (folder: string): string => join(folder, 'admin-token.shown');

export interface AdminToken {
  readonly token: string;
  /** It was never printed: print it, once. */
  readonly isUnseen: boolean;
}

/** The token of the server in this folder, or `null` if none was generated yet. */
export async function readAdminToken(folder: string, configured: string | null): Promise<string | null> {
  return configured ?? readStoredSecret(adminTokenIn(folder));
}

/** Call it only while holding the data folder: two processes must not generate two tokens. */
export async function ensureAdminToken(
  folder: string,
  configured: string | null,
  ids: IdSource,
): Promise<AdminToken> {
  if (configured !== null) return { token: configured, isUnseen: false };
  const { secret, isNew } = await ensureStoredSecret(adminTokenIn(folder), () => `hw_admin_${ids.token(32)}`);
  return { token: secret, isUnseen: isNew || !existsSync(shownMarkerIn(folder)) };
}

/** From now on it is not printed again. */
export async function markAdminTokenSeen(folder: string): Promise<void> {
  await writeFile(shownMarkerIn(folder), '', { mode: 0o600 });
}

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
