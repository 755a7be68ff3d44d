// PermitProvider for every call, at once, and the count of it.
import type { PermitProvider } from '../../src/extraction/sources/index.ts';
import type { Permit } from '../../src/resilience/index.ts';

export interface CountedLeave {
  readonly acquirePermit: PermitProvider;
  readonly permits: () => number;
  /** What the calls said of themselves, in order. */
  readonly told: string[];
}

export function countedPermits(): CountedLeave {
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
