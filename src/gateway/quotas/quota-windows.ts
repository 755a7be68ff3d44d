// A model's quotas as windows to count in.
import type { Quotas } from '../ports.ts';
import type { CountedWindow } from './ports.ts';

/** The provider counts arrivals, and calls differ on the way: as in the kernel's window of a minute. */
const arrivalGuardMs = 300;

/** Half a second and five minutes: at most 0.8% of a quota is left unused for it. */
const minute = { windowMs: 60_000, buckets: 120 };
export const dayMs = 86_400_000;
const day = { windowMs: dayMs, buckets: 288 };

const kinds = [
  { name: 'requestsPerMinute', unit: 'requests', ...minute },
  { name: 'requestsPerDay', unit: 'requests', ...day },
  { name: 'tokensPerMinute', unit: 'tokens', ...minute },
  { name: 'tokensPerDay', unit: 'tokens', ...day },
] as const;

/**
 * Sliding windows, whatever the provider's are: what holds in every 24 hours also holds from midnight to midnight,
 * in whichever time zone. Empty for a model without quotas.
 */
export function quotaWindows(quotas: Quotas): readonly CountedWindow[] {
  const windows: CountedWindow[] = [];
  for (const { name, unit, windowMs, buckets } of kinds) {
    const limit = quotas[name];
    const bucketMs = (windowMs + arrivalGuardMs) / buckets;
    if (limit !== undefined) windows.push({ name, unit, limit: Math.floor(limit), bucketMs, buckets });
  }
  return windows;
}
