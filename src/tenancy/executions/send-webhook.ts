// Tells a deployment's webhook how an execution ended: one try, in bounded time, to that address and no other.
import type { Clock, HttpTransport } from '../../core/index.ts';
import { kindOf, linkSignals, messageOf } from '../../core/index.ts';
import type { DeploymentDesk } from '../desk-ports.ts';
import { forTenant } from './for-tenant.ts';
import type { Deployment, Execution, ExecutionStore } from '../ports.ts';
import { webhookHeaders } from './sign.ts';

export interface SendWebhookParts {
  readonly store: Pick<ExecutionStore, 'get'>;
  readonly deployments: Pick<DeploymentDesk, 'get' | 'signingSecret'>;
  /** Must not follow redirects. */
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly redact: (text: string) => string;
}

/** `nobody`: nobody is to be told (any more). `isFinal`: another try would end the same way. */
export type WebhookOutcome =
  | { readonly kind: 'sent'; readonly status: number }
  | { readonly kind: 'nobody'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly isFinal: boolean };

export type SendWebhook = (executionId: string, signal: AbortSignal) => Promise<WebhookOutcome>;

const timeouts = { connectTimeoutMs: 5_000, headersTimeoutMs: 10_000 } as const;
const longestMs = 15_000;

export function createSendWebhook(parts: SendWebhookParts): SendWebhook {
  return async (executionId, signal) => {
    const execution = await parts.store.get(executionId);
    if (!execution) return { kind: 'nobody', reason: 'The execution is no longer kept.' };
    const deployment = deploymentOf(parts, execution);
    if (!deployment || deployment.webhookUrl === null)
      return { kind: 'nobody', reason: 'The deployment has no webhook any more.' };
    const secret = parts.deployments.signingSecret(deployment);
    if (secret === null) return unsigned;
    return post(parts, deployment.webhookUrl, secret, messageFor(execution, deployment), signal);
  };
}

/** Nothing leaves unsigned; another process may have the secret. */
const unsigned: WebhookOutcome = {
  kind: 'failed',
  reason:
    'this process has no secret to sign it with; set HEADWORKS_WEBHOOK_SECRET, the same on all machines',
  isFinal: false,
};

function deploymentOf({ deployments }: SendWebhookParts, { deploymentId }: Execution): Deployment | null {
  try {
    return deployments.get(deploymentId);
  } catch {
    return null;
  }
}

interface Message {
  readonly id: string;
  readonly body: string;
}

/** The same with every try: `timestamp` is when it happened, not when it is told. */
function messageFor(execution: Execution, deployment: Deployment): Message {
  const { executionId, organizationId, status, result, failure, warnings } = forTenant(execution);
  const endedAt = execution.endedAt?.toISOString() ?? null;
  const body = JSON.stringify({
    type: `execution.${status}`,
    timestamp: endedAt,
    data: {
      execution_id: executionId,
      organization_id: organizationId,
      deployment: deployment.name,
      status,
      accepted_at: execution.acceptedAt.toISOString(),
      ended_at: endedAt,
      result: result ?? null,
      ...(failure ? { error: failure } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
    },
  });
  return { id: executionId, body };
}

async function post(
  { transport, clock, redact }: SendWebhookParts,
  url: string,
  secret: string,
  { id, body }: Message,
  signal: AbortSignal,
): Promise<WebhookOutcome> {
  const deadline = linkSignals(signal);
  const cancel = clock.after(longestMs, () => deadline.abort());
  try {
    const answer = await transport.request({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'headworks',
        ...webhookHeaders(secret, { id, timestamp: Math.floor(clock.now() / 1_000), body }),
      },
      body,
      signal: deadline.signal,
      ...timeouts,
    });
    await answer.discard();
    return judged(answer.status);
  } catch (error) {
    signal.throwIfAborted();
    const reason = deadline.signal.aborted ? `no answer within ${longestMs / 1_000} s` : messageOf(error);
    return { kind: 'failed', reason: redact(reason) || kindOf(error), isFinal: false };
  } finally {
    cancel();
    deadline.dispose();
  }
}

/** Whatever is not a success is tried again, as Standard Webhooks asks; 410 says that nobody is there any more. */
function judged(status: number): WebhookOutcome {
  if (status >= 200 && status < 300) return { kind: 'sent', status };
  const note = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  return { kind: 'failed', reason: `it answered ${status}${note}`, isFinal: status === 410 };
}
