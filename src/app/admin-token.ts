// The admin token: from the configuration, or made at first start and kept in the data folder.
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { IdSource } from '../core/index.ts';
import { CoreError, messageOf } from '../core/index.ts';

const pathIn = (folder: string): string => join(folder, 'admin-token');
/** Says that a person has seen the token: a start that failed, or a command that was first, showed it to nobody. */
const shownPathIn = (folder: string): string => join(folder, 'admin-token.shown');

/** As the option demands it of a configured one. */
const usable = /^[\u0021-\u007e]{16,}$/;

export interface AdminToken {
  readonly token: string;
  /** Nobody has seen it yet: to be printed, once. */
  readonly isUnseen: boolean;
}

/** The token of the server in this folder, or `null` if none was made yet. */
export async function readAdminToken(folder: string, configured: string | null): Promise<string | null> {
  if (configured !== null) return configured;
  try {
    const token = (await readFile(pathIn(folder), 'utf8')).trim();
    if (token === '') return null;
    if (usable.test(token)) return token;
    throw new Error('it is not one line of at least 16 visible characters');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new CoreError(
      'DATA_FOLDER_UNUSABLE',
      `The admin token in ${pathIn(folder)} cannot be used (${messageOf(error)}). ` +
        'Run as the user who started the server, delete the file to have a new one made, or set HEADWORKS_ADMIN_TOKEN.',
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
  if (configured !== null) return { token: configured, isUnseen: false };
  const known = await readAdminToken(folder, null);
  if (known !== null) {
    await chmod(pathIn(folder), 0o600);
    return { token: known, isUnseen: !existsSync(shownPathIn(folder)) };
  }
  const token = `hw_admin_${ids.token(32)}`;
  await writeFile(pathIn(folder), `${token}\n`, { mode: 0o600 });
  await chmod(pathIn(folder), 0o600);
  return { token, isUnseen: true };
}

/** From now on it is not printed any more. */
export async function markAdminTokenSeen(folder: string): Promise<void> {
  await writeFile(shownPathIn(folder), '', { mode: 0o600 });
}
