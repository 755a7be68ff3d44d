// Redis being away is a degradation: recorded while it lasts, repaired once everything was told to it.
import { kindOf, messageOf } from '../../../core/index.ts';
import type { Degradation, RegisteredRepair } from '../../../ledger/index.ts';

/** The ledger's kind; the subject is the address of Redis. */
export const redisAwayKind = 'admission.redis-away';

export function redisAwayDegradation(storeName: string, policy: string, error: unknown): Degradation {
  const consequence =
    policy === 'closed'
      ? 'Nobody is admitted until it is back.'
      : 'Requests are admitted within a budget of each server.';
  return {
    kind: redisAwayKind,
    subject: storeName,
    cause: kindOf(error),
    message: `Redis does not decide about slots: ${messageOf(error)} ${consequence}`,
  };
}

/** `problem` says why it is still away; null when Redis decides. `look` resolves when that is looked into. */
export function redisAwayRepair(problem: () => string | null, look: () => Promise<void>): RegisteredRepair {
  return {
    kind: redisAwayKind,
    describe: 'Looks whether Redis is back; slots are compared with executions before it decides again.',
    repair: async () => {
      // This server may be the last to notice that Redis is back, and then nobody else would close the row soon.
      if (problem() !== null) await look();
      const reason = problem();
      return reason === null ? { outcome: 'repaired' } : { outcome: 'still-broken', reason };
    },
  };
}
