// Leave for every call, at once, and the count of it.
import type { Leave } from '../../src/extraction/sources/index.ts';
import type { Permit } from '../../src/resilience/index.ts';

export interface CountedLeave {
  readonly leave: Leave;
  readonly leaves: () => number;
  /** What the calls said of themselves, in order. */
  readonly told: string[];
}

export function countedLeave(): CountedLeave {
  let leaves = 0;
  const told: string[] = [];
  return {
    leave: (signal) => {
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      leaves++;
      return Promise.resolve(permitThat(told));
    },
    leaves: () => leaves,
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
