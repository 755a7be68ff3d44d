// A vault that somebody else writes to, with any SQLite tool: waited for, but not for ever.
import type { Clock } from '../core/index.ts';
import type { FileWait } from '../resilience/index.ts';
import { isFileBusy, onceFileIsFree } from '../resilience/index.ts';

/** How long another may hold a vault before it counts as hanging. */
export const vaultPatienceMs = 60_000;

export type VaultWait = Omit<FileWait, 'patienceMs'> & Partial<Pick<FileWait, 'patienceMs'>>;

/** Tries until the vault is free. Fails with SQLITE_BUSY when that takes too long, or with the signal's reason. */
export async function whenVaultIsFree<T>(work: () => T, wait: VaultWait): Promise<T> {
  return onceFileIsFree(work, { patienceMs: vaultPatienceMs, ...wait });
}

/** The same for a thread that has nothing else to do; ending the thread ends the wait too. */
export function blockUntilVaultIsFree<T>(work: () => T, clock: Clock): T {
  const endsAt = clock.monotonic() + vaultPatienceMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isFileBusy(error) || clock.monotonic() >= endsAt) throw error;
    }
  }
}
