// A vault that somebody else writes to, with any SQLite tool: waited for, but not for ever.
import type { Clock } from '../core/index.ts';
import type { BusyRetryOptions } from '../platform/sqlite/retry-busy.ts';
import { isSqliteBusy, retryWhileBusy } from '../platform/sqlite/retry-busy.ts';

/** How long another may hold a vault before it counts as hanging. */
export const vaultPatienceMs = 60_000;

export type VaultWait = Omit<BusyRetryOptions, 'timeoutMs'> & Partial<Pick<BusyRetryOptions, 'timeoutMs'>>;

/** Tries until the vault is free. Fails with SQLITE_BUSY when that takes too long, or with the signal's reason. */
export async function whenVaultIsFree<T>(work: () => T, wait: VaultWait): Promise<T> {
  return retryWhileBusy(work, { timeoutMs: vaultPatienceMs, ...wait });
}

/** The same for a thread that has nothing else to do; ending the thread ends the wait too. */
export function blockUntilVaultIsFree<T>(work: () => T, clock: Clock): T {
  const endsAt = clock.monotonic() + vaultPatienceMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isSqliteBusy(error) || clock.monotonic() >= endsAt) throw error;
    }
  }
}
