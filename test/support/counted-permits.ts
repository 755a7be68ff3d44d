// Grants every call a permit at once, and counts them.
import type { PermitProvider } from '../../src/extraction/sources/http-client.ts';
import type { Permit } from '../../src/resilience/index.ts';

export interface CountedPermits {
  readonly acquirePermit: PermitProvider;
  readonly permits: () => number;
  /** The reported outcomes, in order. */
  readonly reports: string[];
}

export function countedPermits(): CountedPermits {
  let permits = 0;
  const reports: string[] = [];
  return {
    acquirePermit: (signal) => {
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      permits++;
      return Promise.resolve(permitThat(reports));
    },
    permits: () => permits,
    reports,
  };
}

function permitThat(reports: string[]): Permit {
  let isOpen = true;
  const once = (what: string) => {
    if (isOpen) reports.push(what);
    isOpen = false;
  };
  return {
    sent: () => reports.push('sent') > 0,
    succeeded: () => once('succeeded'),
    rateLimited: (hint) => once(`rate limited ${hint?.retryAfterMs ?? ''}`),
    failed: () => once('failed'),
  };
}
