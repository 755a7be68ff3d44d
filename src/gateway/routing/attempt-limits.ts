// How long one attempt may take of the time that its request has left.
import type { AttemptLimits } from '../ports.ts';
import type { RoutingPolicy } from './parts.ts';
import type { Run } from './run.ts';

export interface GivenLimits extends AttemptLimits {
  /**
   * It gets less than half of the time that it is configured to have, because the caller's deadline is near: that it
   * does not make it says nothing about the model.
   */
  readonly isCutShort: boolean;
}

/** While others wait for their turn nobody gets more than half of what is left: a model that hangs cannot eat it all. */
export function attemptLimits(run: Run, policy: RoutingPolicy, othersWait: () => boolean): GivenLimits {
  const leftMs = run.remainingMs();
  const { isStream } = run.request.ask;
  const configuredMs = isStream ? policy.firstTokenMs : policy.answerMs;
  const isTight = leftMs / 2 < configuredMs;
  const shareMs = isTight && othersWait() ? leftMs / 2 : leftMs;
  const firstTokenMs = Math.min(configuredMs, shareMs);
  return {
    connectMs: Math.min(policy.connectMs, shareMs),
    firstTokenMs,
    // A stream that has begun outlives the deadline, with its full patience.
    silenceMs: isStream ? policy.silenceMs : Math.min(policy.silenceMs, firstTokenMs),
    isCutShort: firstTokenMs < configuredMs / 2,
  };
}
