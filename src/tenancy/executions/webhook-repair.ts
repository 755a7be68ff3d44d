// Sends a webhook once more that was given up.
import type { RegisteredRepair } from '../../ledger/index.ts';
import { asSentence } from '../as-sentence.ts';
import type { SendWebhook } from './send-webhook.ts';

/** The ledger's kind; the subject is the execution's id. */
export const webhookFailedKind = 'deployments.webhook-failed';

export function webhookRepair(send: SendWebhook): RegisteredRepair {
  return {
    kind: webhookFailedKind,
    describe: 'Sends the webhook once more.',
    repair: async ({ subject }, signal) => {
      const outcome = await send(subject, signal);
      if (outcome.kind === 'sent') return { outcome: 'repaired' };
      if (outcome.kind === 'nobody') return { outcome: 'gone' };
      return {
        outcome: 'still-broken',
        reason: `The webhook was not delivered: ${asSentence(outcome.reason)}`,
      };
    },
  };
}
