// What was asked before a restart, read from the attempt log.
import type { AttemptStore } from '../ports.ts';
import type { PastCalls } from './ports.ts';

/** More calls than this in a day no quota that we keep would have allowed. */
const mostCalls = 20_000;

/** Attempts that a person appended by hand were no calls. */
export function pastCallsOf(attempts: Pick<AttemptStore, 'list'>): PastCalls {
  return {
    since: async (modelId, from) => {
      const listed = await attempts.list({ modelId, limit: mostCalls });
      const calls = listed.filter(({ at, caller }) => at >= from && caller !== 'manual');
      return calls.map(({ at, promptTokens, completionTokens }) => ({
        modelId,
        at,
        tokens: promptTokens + completionTokens,
      }));
    },
  };
}
