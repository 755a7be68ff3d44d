// An attempt as any store takes it. Numbers come from providers' answers and may be anything.
import type { Attempt } from '../ports.ts';

const largestInteger = 2_147_483_647;

const count = (value: number): number => (value >= 0 ? Math.min(Math.trunc(value), largestInteger) : 0);

/** The attempt, with tokens and duration in range and no text that a store refuses; nearly every one is so already. */
export function storableAttempt(attempt: Attempt): Attempt {
  return isStorable(attempt) ? attempt : made(attempt);
}

const isCount = (value: number): boolean => count(value) === value;
const isPlain = (text: string): boolean => !text.includes('\0');

function isStorable({
  requestId,
  at,
  durationMs,
  promptTokens,
  completionTokens,
  caller,
  isRepeated,
}: Attempt) {
  return (
    isRepeated !== undefined &&
    Number.isInteger(at) &&
    durationMs >= 0 &&
    durationMs < Infinity &&
    isCount(promptTokens) &&
    isCount(completionTokens) &&
    isPlain(requestId) &&
    isPlain(caller)
  );
}

function made(attempt: Attempt): Attempt {
  return {
    requestId: withoutNul(attempt.requestId),
    modelId: attempt.modelId,
    at: Math.trunc(attempt.at),
    outcome: attempt.outcome,
    status: attempt.status,
    durationMs: attempt.durationMs >= 0 && attempt.durationMs < Infinity ? attempt.durationMs : 0,
    promptTokens: count(attempt.promptTokens),
    completionTokens: count(attempt.completionTokens),
    caller: withoutNul(attempt.caller),
    isRepeated: attempt.isRepeated ?? true,
    ...(attempt.isOutdated === true && { isOutdated: true }),
  };
}

const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '') : text);
