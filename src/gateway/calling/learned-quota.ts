// Learns from the quota headers of good answers: a key with nothing left is not asked again until it has.
import { quotaWindows } from '../../resilience/index.ts';
import type { ProviderResponse } from '../ports.ts';

/** The latest of the windows that are used up; `now` in epoch milliseconds. Header names in lower case. */
export function quotaExhaustedUntil(
  headers: Readonly<Record<string, string>>,
  now: number,
): ProviderResponse['quotaExhaustedUntil'] {
  if (!mayBeEmpty(headers)) return undefined;
  let latest: ProviderResponse['quotaExhaustedUntil'];
  for (const { remaining, resetMs, source } of quotaWindows(headers, now)) {
    if (remaining !== 0 || resetMs === 0) continue;
    if (latest === undefined || now + resetMs > latest.at) latest = { at: now + resetMs, source };
  }
  return latest;
}

/** On nearly every answer it is not: a quick look saves reading all windows. */
function mayBeEmpty(headers: Readonly<Record<string, string>>): boolean {
  for (const name in headers)
    if (name === 'ratelimit' || (name.includes('remaining') && headers[name]?.trim().startsWith('0')))
      return true;
  return false;
}
