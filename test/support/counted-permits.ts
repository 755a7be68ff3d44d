// Grants every call a permit at once, and counts them.
import type { PermitProvider } from '../../src/extraction/sources/http-client.ts';
import type { Permit } from '../../src/resilience/index.ts';

export interface CountedPermits {
  readonly acquirePermit: PermitProvider;
  readonly permits: () => number;
  /** The reported outcomes, in order. */
  readonly told: string[];
}

export function countedPermits(): CountedPermits {
  let permits = 0;
  const told: string[] = [];
  return {
    acquirePermit: (signal) => {
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      permits++;
      return Promise.resolve(permitThat(told));
    },
    permits: () => permits,
    told,
  };
}

function permitThat(told: string[]): Permit {
  let isOpen = true;
  const once = (what: string) => {
    if (isOpen) told.push(what);
    isOpen = false;
  };
  return {
    sent: () => told.push('sent'),
    succeeded: () => once('succeeded'),
    rateLimited: (hint) => once(`rate limited ${hint?.retryAfterMs ?? ''}`),
    failed: () => once('failed'),
  };
}
