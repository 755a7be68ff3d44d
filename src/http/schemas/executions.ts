// Executions over HTTP, for admins.
import { z } from 'zod';
import type { Execution } from '../../tenancy/index.ts';
import { id, instant, isoOrNull, limitOf, listOf } from './fields.ts';

const executionStatus = z.enum(['queued', 'executing', 'completed', 'error', 'stopped']);

export const executionAnswer = z
  .object({
    id: z.string(),
    organization_id: z.string(),
    organization_name: z.string(),
    deployment_id: z.string(),
    deployment_name: z.string(),
    status: executionStatus,
    idempotency_key: z.string().nullable(),
    job_id: z.string(),
    accepted_at: instant,
    started_at: instant.nullable(),
    ended_at: instant.nullable(),
    result: z.unknown().describe('Null in lists.'),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Execution', description: 'One execution of a deployment.' });

export const executionsQuery = z.strictObject({
  organization: z.string().min(1).max(200).optional().describe('Id or name: only executions of this one.'),
  deployment: z
    .string()
    .min(1)
    .max(400)
    .optional()
    .describe('Only executions of this one: its id, or ORGANIZATION/NAME.')
    .meta({ examples: ['acme-corp/invoices'] }),
  status: listOf(executionStatus).optional().describe('One or several, separated by commas.'),
  limit: limitOf(500, 100),
  before: id.optional().describe('Only executions before this one: `next` of the page before.'),
});

export const executionsAnswer = z
  .object({
    executions: z.array(executionAnswer),
    next: z.string().nullable().describe('Give it as `before` for the next page.'),
  })
  .meta({ id: 'Executions', description: 'Executions, newest first.' });

export const releasedAnswer = z
  .object({ id: z.string(), was_held: z.boolean().describe('Whether there was a slot to free.') })
  .meta({ id: 'ReleasedSlot', description: 'A slot that is held for nothing any more.' });

/** What people call what an execution belongs to. */
export interface ExecutionNames {
  readonly organization: string;
  readonly deployment: string;
}

export function viewOfExecution(
  execution: Execution,
  names: ExecutionNames,
): z.infer<typeof executionAnswer> {
  return {
    id: execution.executionId,
    organization_id: execution.organizationId,
    organization_name: names.organization,
    deployment_id: execution.deploymentId,
    deployment_name: names.deployment,
    status: execution.status,
    idempotency_key: execution.idempotencyKey,
    job_id: execution.jobId,
    accepted_at: execution.acceptedAt.toISOString(),
    started_at: isoOrNull(execution.startedAt),
    ended_at: isoOrNull(execution.endedAt),
    result: execution.result ?? null,
    error: execution.failure && { code: execution.failure.code, message: execution.failure.message },
    warnings: [...execution.warnings],
  };
}
