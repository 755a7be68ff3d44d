// The job that delivers a webhook, again and again for about a day; then the ledger has a row.
import { z } from 'zod';
import type { Emitter, JobDefinition, JobHandler } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import { asSentence } from '../as-sentence.ts';
import type { ExecutionEvents } from './events.ts';
import type { SendWebhook } from './send-webhook.ts';
import { webhookFailedKind } from './webhook-repair.ts';

const payload = z.strictObject({ executionId: z.guid() });

/** 5 s, 10 s, … 3 hours: about a day in all. */
export const webhookJob: JobDefinition<z.infer<typeof payload>> = {
  name: 'deployments.webhook',
  description: "Tells a deployment's webhook that an execution has ended.",
  parse: (raw) => payload.parse(raw),
  retries: 18,
  retryDelayMs: 5_000,
  retryBackoff: true,
  retryDelayMaxMs: 3 * 3_600_000,
  concurrency: 16,
  timeoutMs: 60_000,
};

export interface WebhookHandlerParts {
  readonly send: SendWebhook;
  readonly ledger: LedgerRecorder;
  readonly events: Emitter<ExecutionEvents>;
}

export function webhookHandler({
  send,
  ledger,
  events,
}: WebhookHandlerParts): JobHandler<z.infer<typeof payload>> {
  return async ({ executionId }, { attempt, signal }) => {
    const outcome = await send(executionId, signal);
    if (outcome.kind === 'nobody') return { skipped: outcome.reason };
    if (outcome.kind === 'sent') {
      events.emit('deployments:webhook-sent', { executionId, status: outcome.status, attempt });
      return { result: { status: outcome.status } };
    }
    const { reason } = outcome;
    const isGivenUp = outcome.isFinal || attempt > webhookJob.retries;
    events.emit('deployments:webhook-failed', { executionId, reason, attempt, isGivenUp });
    if (isGivenUp)
      await ledger.record({
        kind: webhookFailedKind,
        subject: executionId,
        cause: 'WEBHOOK_FAILED',
        message: `The webhook of execution ${executionId} was not delivered: ${asSentence(reason)} "headworks repair" sends it again.`,
      });
    throw new CoreError('RETRIES_EXHAUSTED', `The webhook was not delivered: ${asSentence(reason)}`, {
      isRetryable: !isGivenUp,
    });
  };
}
