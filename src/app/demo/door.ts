// The door of deployments, as a tenant uses it: with a key of its own, and answers taken as they come.
import type { HttpTransport } from '../../core/index.ts';

export interface DoorAnswer {
  readonly status: number;
  readonly executionId: string | null;
  /** What a refusal says. */
  readonly detail: string | null;
}

export interface DoorCall {
  readonly url: string;
  readonly key: string;
  /** `ORGANIZATION/NAME` */
  readonly deployment: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The same again is the same execution. */
  readonly idempotencyKey: string;
}

interface Spoken {
  readonly execution_id?: string;
  readonly errors?: readonly { readonly detail?: string }[];
}

const largestAnswer = 10_000_000;

/** An answer of any status is an answer. Fails with an HttpFailure when there is none. */
export async function knock(
  transport: HttpTransport,
  { url, key, deployment, body, idempotencyKey }: DoorCall,
  signal: AbortSignal,
): Promise<DoorAnswer> {
  const answer = await transport.request({
    method: 'POST',
    url: `${url}/deployment/api/${deployment}`,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify(body),
    signal,
  });
  const spoken = JSON.parse(Buffer.from(await answer.bytes(largestAnswer)).toString()) as Spoken;
  return {
    status: answer.status,
    executionId: spoken.execution_id ?? null,
    detail: spoken.errors?.[0]?.detail ?? null,
  };
}
