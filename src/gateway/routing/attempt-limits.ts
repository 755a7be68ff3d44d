// How long one attempt may take of the time that its request has left.
import type { AttemptTimeouts } from '../ports.ts';
import type { RoutingPolicy } from './parts.ts';
import type { Run } from './run.ts';

/** While others wait for their turn nobody gets more than half of what is left: a model that hangs cannot eat it all. */
export function attemptTimeouts(run: Run, policy: RoutingPolicy, othersWait: () => boolean): AttemptTimeouts {
  const leftMs = run.remainingMs();
  const configuredMs = configuredFor(run, policy);
  const isTight = leftMs / 2 < configuredMs;
  const shareMs = isTight && othersWait() ? leftMs / 2 : leftMs;
  const firstTokenMs = Math.min(configuredMs, shareMs);
  return {
    connectMs: Math.min(policy.connectMs, shareMs),
    firstTokenMs,
    // A stream that has begun outlives the deadline, with its full patience.
    idleMs: run.request.ask.isStream ? policy.idleMs : Math.min(policy.idleMs, firstTokenMs),
  };
}

/**
 * Was the limit that ran out less than half of what is configured, because the caller's deadline was near? Then it says
 * nothing about the model.
 */
export function hitDeadline(
  exceeded: keyof AttemptTimeouts,
  limits: AttemptTimeouts,
  run: Run,
  policy: RoutingPolicy,
): boolean {
  const configuredMs = exceeded === 'firstTokenMs' ? configuredFor(run, policy) : policy[exceeded];
  return limits[exceeded] < configuredMs / 2;
}

function configuredFor({ request }: Run, policy: RoutingPolicy): number {
  return request.ask.isStream ? policy.firstTokenMs : policy.answerMs;
}
