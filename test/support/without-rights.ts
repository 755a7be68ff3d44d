// Does something as somebody who owns nothing.

/** Root may write anywhere; nobody may not. */
export function withoutRights(work: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.('nobody');
  try {
    work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}
