// A vault that somebody else writes to, with any SQLite tool: waited for, but not for ever, and never deaf to a stop.
//
// Every try blocks the thread for a moment only (the busy timeout of its connection); between two tries others run.
import type { Clock } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

/** How long another may hold a vault before it counts as hanging. */
export const vaultPatienceMs = 60_000;

/** Between two tries. */
export const vaultPauseMs = 100;

export function isVaultBusy(error: unknown): error is HeadworksError {
  return error instanceof HeadworksError && error.code === 'SQLITE_BUSY';
}

export interface VaultWait {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly patienceMs?: number;
}

/** Tries until the vault is free. Fails with SQLITE_BUSY when that takes too long, or with the signal's reason. */
export async function whenVaultIsFree<T>(work: () => T, options: VaultWait): Promise<T> {
  const { clock, signal, patienceMs = vaultPatienceMs } = options;
  const endsAt = clock.monotonic() + patienceMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isVaultBusy(error) || clock.monotonic() >= endsAt) throw error;
    }
    await clock.sleep(vaultPauseMs, signal);
  }
}

/** The same for a thread that has nothing else to do; ending the thread ends the wait too. */
export function blockUntilVaultIsFree<T>(work: () => T, clock: Clock): T {
  const endsAt = clock.monotonic() + vaultPatienceMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isVaultBusy(error) || clock.monotonic() >= endsAt) throw error;
    }
  }
}
