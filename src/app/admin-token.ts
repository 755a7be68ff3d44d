// The admin token: from the configuration, or made at first start and kept in the data folder.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { IdSource } from '../core/index.ts';
import type { KeptSecret } from './kept-secret.ts';
import { ensureKeptSecret, readKeptSecret } from './kept-secret.ts';

const keptIn = (folder: string): KeptSecret => ({
  path: join(folder, 'admin-token'),
  what: 'admin token',
  variable: 'HEADWORKS_ADMIN_TOKEN',
});
/** Says that a person has seen the token: a start that failed, or a command that was first, showed it to nobody. */
const shownPathIn = (folder: string): string => join(folder, 'admin-token.shown');

export interface AdminToken {
  readonly token: string;
  /** Nobody has seen it yet: to be printed, once. */
  readonly isUnseen: boolean;
}

/** The token of the server in this folder, or `null` if none was made yet. */
export async function readAdminToken(folder: string, configured: string | null): Promise<string | null> {
  return configured ?? readKeptSecret(keptIn(folder));
}

/** Call it only while holding the data folder: two processes must not make two tokens. */
export async function ensureAdminToken(
  folder: string,
  configured: string | null,
  ids: IdSource,
): Promise<AdminToken> {
  if (configured !== null) return { token: configured, isUnseen: false };
  const { secret, isNew } = await ensureKeptSecret(keptIn(folder), () => `hw_admin_${ids.token(32)}`);
  return { token: secret, isUnseen: isNew || !existsSync(shownPathIn(folder)) };
}

/** From now on it is not printed any more. */
export async function markAdminTokenSeen(folder: string): Promise<void> {
  await writeFile(shownPathIn(folder), '', { mode: 0o600 });
}
