// The limits as a pure function. redis/acquire-slots.lua applies the same rule; one contract suite runs on both.
import type { LimitScope, Usage } from './types.ts';

/** The limit that leaves no room for one more slot; the organization's own comes first. */
export function limitReached(usage: Usage): LimitScope | undefined {
  if (usage.organization >= usage.organizationLimit) return 'organization';
  return usage.global >= usage.globalLimit ? 'global' : undefined;
}

/** The part of what is free that one server may use while no store decides: the sum over servers stays within `free`. */
export const shareOf = (free: number, servers: number): number => Math.max(0, Math.floor(free / servers));
