// Runs code as a user without privileges.

/** Root may write anywhere; the system user of this name may not. */
export function withoutRights(work: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.('nobody');
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}
