// The admin token: from the configuration, or made at first start and kept in the data folder.
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { IdSource } from '../core/index.ts';
import { CoreError, messageOf } from '../core/index.ts';

const pathIn = (folder: string): string => join(folder, 'admin-token');

export interface AdminToken {
  readonly token: string;
  /** Made just now: the one time it is printed. */
  readonly isNew: boolean;
}

/** The token of the server in this folder, or `null` if none was made yet. */
export async function readAdminToken(folder: string, configured: string | null): Promise<string | null> {
  if (configured !== null) return configured;
  try {
    const token = (await readFile(pathIn(folder), 'utf8')).trim();
    return token === '' ? null : token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new CoreError(
      'DATA_FOLDER_UNUSABLE',
      `The admin token in ${pathIn(folder)} cannot be read (${messageOf(error)}). ` +
        'Run as the user who started the server, or set HEADWORKS_ADMIN_TOKEN.',
      { cause: error },
    );
  }
}

/** Call it only while holding the data folder: two processes must not make two tokens. */
export async function ensureAdminToken(
  folder: string,
  configured: string | null,
  ids: IdSource,
): Promise<AdminToken> {
  const known = await readAdminToken(folder, configured);
  if (known !== null) return { token: known, isNew: false };
  const token = `hw_admin_${ids.token(32)}`;
  await writeFile(pathIn(folder), `${token}\n`, { mode: 0o600 });
  await chmod(pathIn(folder), 0o600);
  return { token, isNew: true };
}
