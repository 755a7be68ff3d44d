// Opens a vault for an extraction: the main thread's side of it.
import type { Clock, IdSource } from '../../../core/index.ts';
import type { GrantJournal } from '../../../resilience/index.ts';
import { SqliteGrantJournal } from '../../../resilience/rate-limiter/sqlite/sqlite-grant-journal.ts';
import type { VaultSessions } from '../../ports.ts';
import { SqliteVaultSessions } from './sqlite-vault-sessions.ts';
import { openVaultFile, refuseOtherFiles } from './vault-file.ts';
import { lockVault } from './vault-lock.ts';
import { requireSource } from './vault-source.ts';
import { newTurn } from './write-turn.ts';

export interface OpenVaultOptions {
  /** As `Source.name`. */
  readonly source: string;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** A vault that this process writes to. Worker threads open the same path with `openPageWriter`. */
export interface Vault {
  readonly path: string;
  readonly sessions: VaultSessions;
  /** For `openPageWriter` in every thread: by it they take turns. */
  readonly turn: SharedArrayBuffer;
  /** Grants of the limiter with this key, kept beside the vault: the limit holds across a kill and a restart. */
  grantJournal(limiter: string): GrantJournal;
  /** Lets go of the file. Safe to call twice; page writers must be closed before. */
  close(): void;
}

/**
 * Makes the vault if it is not there. Fails with EXTRACTION_BUSY (another process writes to it),
 * EXTRACTION_VAULT_FOREIGN (it holds another source) or a SqliteError, and then has changed nothing.
 */
export function openVault(path: string, options: OpenVaultOptions): Vault {
  refuseOtherFiles(path);
  const lock = lockVault(path);
  try {
    const db = openVaultFile(path);
    try {
      requireSource(db, path, options.source);
    } catch (error) {
      db.close();
      throw error;
    }
    const turn = newTurn();
    return {
      path,
      turn,
      sessions: new SqliteVaultSessions({ path, db, turn, clock: options.clock, ids: options.ids }),
      grantJournal: (limiter) => new SqliteGrantJournal(lock, limiter),
      close: () => {
        if (db.isOpen) db.close();
        if (lock.isOpen) lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}
