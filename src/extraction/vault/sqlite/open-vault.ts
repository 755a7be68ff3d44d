// Opens a vault for an extraction: the main thread's side of it.
import { statSync } from 'node:fs';
import type { Clock, IdSource } from '../../../core/index.ts';
import type { VaultSessions } from '../../ports.ts';
import { pruneVersions, type PruneReport, type PruneRule } from './prune-vault.ts';
import { SqliteVaultSessions } from './sqlite-vault-sessions.ts';
import { openVaultFile, openVaultFileAsItIs, refuseOtherFiles, shortBusyMs } from './vault-file.ts';
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
  /** It was of an older version, and was brought up to date. */
  readonly wasOlder: boolean;
  readonly sessions: VaultSessions;
  /** For `openPageWriter` in every thread: by it they take turns. */
  readonly turn: SharedArrayBuffer;
  /** Deletes old versions; page writers must be closed before. */
  prune(rule: PruneRule, signal: AbortSignal): Promise<PruneReport>;
  /** Lets go of the file. Safe to call twice; page writers must be closed before. */
  close(): void;
}

/** Fails with EXTRACTION_VAULT_FOREIGN: what is somebody else's is not brought up to date either. */
function isOlderVault(path: string, source: string): boolean {
  const isThere = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const asItIs = isThere ? openVaultFileAsItIs(path) : null;
  if (!asItIs) return false;
  try {
    requireSource(asItIs.db, path, source);
    return asItIs.isOlder;
  } finally {
    asItIs.db.close();
  }
}

/**
 * Makes the vault if it is not there. Fails with EXTRACTION_BUSY (another process writes to it),
 * EXTRACTION_VAULT_FOREIGN (it holds another source) or a SqliteError, and then has changed nothing.
 */
export function openVault(path: string, options: OpenVaultOptions): Vault {
  refuseOtherFiles(path);
  const lock = lockVault(path);
  try {
    const wasOlder = isOlderVault(path, options.source);
    const db = openVaultFile(path, shortBusyMs);
    const turn = newTurn();
    return {
      path,
      wasOlder,
      turn,
      sessions: new SqliteVaultSessions({ path, db, turn, clock: options.clock, ids: options.ids }),
      prune: (rule, signal) => pruneVersions(path, db, rule, { clock: options.clock, signal }),
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
