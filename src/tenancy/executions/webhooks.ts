// Webhooks of deployments: signed as Standard Webhooks (www.standardwebhooks.com), delivered by a job for about a day, then
// left to a repair.
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { IdSource, JobDefinition, JobHandler } from '../../core/index.ts';
import { CoreError, kindOf, linkSignals, messageOf } from '../../core/index.ts';
import type { RegisteredRepair } from '../../ledger/index.ts';
import { CircuitBreaker } from '../../resilience/index.ts';
import { webhookSecretPath, ensureStoredSecret } from '../../platform/data-folder/files.ts';
import { asSentence } from '../names.ts';
import type { Deployment } from '../types.ts';
import type { ExecutionDeps } from './executions.ts';
import { toTenantView } from '../errors.ts';
import type { Execution } from './types.ts';

const timeouts = { connectTimeoutMs: 5_000, headersTimeoutMs: 10_000 } as const;
const deliveryTimeoutMs = 15_000;
/** An endpoint that cannot be reached, or does not respond, so often in a row is not called for so long. */
const circuit = { failureThreshold: 3, resetTimeoutMs: 30_000 } as const;
const maxCircuits = 1_000;

/**
 * The secret from which the signing secrets of deployments are derived. Null where none was configured and other machines
 * may share the database (each would generate its own, and receivers would reject what another one signed), and on a
 * worker, which holds no data folder (`folder` null). Fails with DATA_FOLDER_UNUSABLE.
 */
export async function ensureWebhookSecret(
  from: { readonly configured: string | null; readonly folder: string | null; readonly isShared: boolean },
  ids: IdSource,
): Promise<string | null> {
  if (from.configured !== null) return from.configured;
  if (from.folder === null || from.isShared) return null;
  const stored = {
    path: webhookSecretPath(from.folder),
    what: 'secret for webhooks',
    variable: 'HEADWORKS_WEBHOOK_SECRET',
  };
  return (await ensureStoredSecret(stored, () => ids.token(32))).secret;
}

/** `not-needed`: there is no receiver any more. `isFinal`: another attempt would end the same way. */
type WebhookResult =
  | { readonly kind: 'sent'; readonly status: number }
  | { readonly kind: 'not-needed'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly isFinal: boolean };

const payload = z.strictObject({ executionId: z.guid() });

/** Retried after 5 s, 10 s, … 3 hours: about a day in all. */
export const webhookJob: JobDefinition<z.infer<typeof payload>> = {
  name: 'deployments.webhook',
  description: 'Deliver the webhook of an execution that has ended.',
  parse: (raw) => payload.parse(raw),
  retries: 18,
  retryDelayMs: 5_000,
  retryBackoff: true,
  retryDelayMaxMs: 3 * 3_600_000,
  concurrency: 32,
  // A receiver that hangs occupies its organization's share only.
  groupConcurrency: 4,
  timeoutMs: 60_000,
};

/** The ledger's kind of a webhook that was given up; the subject is the execution id. */
const webhookFailedKind = 'deployments.webhook-failed';

export class Webhooks {
  readonly #deps: ExecutionDeps;
  /** Circuit breakers by origin of the endpoint. */
  readonly #circuits = new Map<string, CircuitBreaker>();

  constructor(deps: ExecutionDeps) {
    this.#deps = deps;
  }

  /** Also for a deployment that is not loaded in this process yet: the job checks whether it has a webhook. */
  async enqueue(
    { executionId, deploymentId, organizationId }: Execution,
    transaction: unknown,
  ): Promise<void> {
    const { deployments, jobs } = this.#deps;
    if (deployments.byId(deploymentId)?.webhookUrl === null) return;
    await jobs.enqueue(webhookJob, { executionId }, { key: executionId, group: organizationId, transaction });
  }

  readonly handler: JobHandler<z.infer<typeof payload>> = async ({ executionId }, { attempt, signal }) => {
    const { ledger, events } = this.#deps;
    const result = await this.#send(executionId, signal);
    if (result.kind === 'not-needed') return { skipped: result.reason };
    if (result.kind === 'sent') {
      events.emit('deployments:webhook-sent', { executionId, status: result.status, attempt });
      return { result: { status: result.status } };
    }
    const { reason } = result;
    const isGivenUp = result.isFinal || attempt > webhookJob.retries;
    events.emit('deployments:webhook-failed', { executionId, reason, attempt, isGivenUp });
    if (isGivenUp)
      await ledger.record({
        kind: webhookFailedKind,
        subject: executionId,
        cause: 'WEBHOOK_FAILED',
        message: `The webhook of execution ${executionId} was not delivered: ${asSentence(reason)} Run "headworks repair" to send it again.`,
      });
    throw new CoreError('RETRIES_EXHAUSTED', `The webhook was not delivered: ${asSentence(reason)}`, {
      isRetryable: !isGivenUp,
    });
  };

  readonly repair: RegisteredRepair = {
    kind: webhookFailedKind,
    describe: 'Send the webhook again.',
    repair: async ({ subject }, signal) => {
      const result = await this.#send(subject, signal);
      if (result.kind === 'sent') return { outcome: 'repaired' };
      if (result.kind === 'not-needed') return { outcome: 'gone' };
      return {
        outcome: 'still-broken',
        reason: `The webhook was not delivered: ${asSentence(result.reason)}`,
      };
    },
  };

  /** One attempt to deliver the webhook of an execution that has ended. */
  async #send(executionId: string, signal: AbortSignal): Promise<WebhookResult> {
    const { store, deployments } = this.#deps;
    const execution = await store.get(executionId);
    if (!execution) return { kind: 'not-needed', reason: 'The execution was deleted.' };
    const deployment = deployments.byId(execution.deploymentId);
    const url = deployment?.webhookUrl ?? null;
    const secret = deployment ? deployments.signingSecret(deployment) : null;
    if (!deployment || url === null || secret === null)
      return { kind: 'not-needed', reason: 'The deployment has no webhook any more.' };
    return this.#post(url, executionId, bodyOf(execution, deployment), secret, signal);
  }

  async #post(
    url: string,
    id: string,
    body: string,
    secret: string,
    signal: AbortSignal,
  ): Promise<WebhookResult> {
    const { transport, clock, redact } = this.#deps;
    const breaker = this.#circuitOf(new URL(url).origin);
    const { state } = breaker;
    if (state.is === 'open')
      return {
        kind: 'failed',
        reason: `the endpoint is not called for ${Math.ceil(state.retryAfterMs / 1_000)} s, because it failed repeatedly`,
        isFinal: false,
      };
    const deadline = linkSignals(signal);
    const cancel = clock.after(deliveryTimeoutMs, () => deadline.abort());
    const timestamp = String(Math.floor(clock.now() / 1_000));
    try {
      return await breaker.execute(async () => {
        const response = await transport.request({
          method: 'POST',
          url,
          headers: {
            'content-type': 'application/json',
            'user-agent': 'headworks',
            // The same for every attempt.
            'webhook-id': id,
            'webhook-timestamp': timestamp,
            'webhook-signature': `v1,${signatureOf(secret, `${id}.${timestamp}.${body}`)}`,
          },
          body,
          signal: deadline.signal,
          ...timeouts,
        });
        await response.discard();
        return resultOf(response.status);
      }, signal);
    } catch (error) {
      signal.throwIfAborted();
      const reason = deadline.signal.aborted
        ? `no response within ${deliveryTimeoutMs / 1_000} s`
        : messageOf(error);
      return { kind: 'failed', reason: redact(reason) || kindOf(error), isFinal: false };
    } finally {
      cancel();
      deadline.dispose();
    }
  }

  #circuitOf(origin: string): CircuitBreaker {
    const known = this.#circuits.get(origin);
    if (known) return known;
    const [oldest] = this.#circuits.keys();
    if (this.#circuits.size >= maxCircuits && oldest !== undefined) this.#circuits.delete(oldest);
    const created = new CircuitBreaker({ clock: this.#deps.clock, ...circuit });
    this.#circuits.set(origin, created);
    return created;
  }
}

/** `secret` is `whsec_` and base64, as receivers get it. */
function signatureOf(secret: string, text: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return createHmac('sha256', key).update(text).digest('base64');
}

/** The same for every attempt: `timestamp` is when the execution ended. */
function bodyOf(execution: Execution, deployment: Deployment): string {
  const { executionId, organizationId, status, result, failure, warnings } = toTenantView(execution);
  const finishedAt = execution.finishedAt?.toISOString() ?? null;
  return JSON.stringify({
    type: `execution.${status}`,
    timestamp: finishedAt,
    data: {
      execution_id: executionId,
      organization_id: organizationId,
      deployment: deployment.name,
      status,
      accepted_at: execution.acceptedAt.toISOString(),
      finished_at: finishedAt,
      result: result ?? null,
      ...(failure ? { error: failure } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
  });
}

/** Everything but a success is retried, as Standard Webhooks recommends; 410 means that the endpoint is gone. */
function resultOf(status: number): WebhookResult {
  if (status >= 200 && status < 300) return { kind: 'sent', status };
  const note = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  return { kind: 'failed', reason: `the endpoint responded with ${status}${note}`, isFinal: status === 410 };
}
