// A cooldown: something is left alone until a time, and why. It only ever grows; shortening it is a person's decision.

export interface Cooldown {
  /** Wall-clock milliseconds since the epoch. */
  readonly until: number;
  /** The class of what happened: `rate-limit`, `server-error`. */
  readonly cause: string;
  /** Who said how long: the name of a header, or `policy`. */
  readonly source: string;
}

/** The later of the two; of equals, the one that was there. A cooldown without a real end is ignored. */
export function extendCooldown(current: Cooldown | undefined, next: Cooldown): Cooldown | undefined {
  if (!Number.isFinite(next.until)) return current;
  return current && current.until >= next.until ? current : next;
}

/** Milliseconds left; 0 when there is none or it is over. */
export function cooldownRemainingMs(cooldown: Cooldown | undefined, now: number): number {
  return cooldown ? Math.max(0, cooldown.until - now) : 0;
}
