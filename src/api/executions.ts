// Executions of deployments, for admins.
import { z } from 'zod';
import { after, id, instant, listOf, next, pageSize } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

/** The words of the founding document. */
const status = z.enum(['queued', 'executing', 'completed', 'error', 'stopped']);

export const Execution = z
  .object({
    id: z.string(),
    organization_id: z.string(),
    organization_name: z.string(),
    deployment_id: z.string(),
    deployment_name: z.string(),
    status,
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
export type Execution = z.infer<typeof Execution>;

export const executionsApi = {
  list: operation('GET /api/v1/executions', {
    id: 'executions.list',
    summary: 'List executions without their results, newest first',
    query: z.strictObject({
      organization: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Only executions of this organization: id or name.'),
      deployment: z
        .string()
        .min(1)
        .max(400)
        .optional()
        .describe('Only executions of this deployment: id or ORGANIZATION/NAME.')
        .meta({ examples: ['acme-corp/invoices'] }),
      status: listOf(status).optional().describe('One or several states, separated by commas.'),
      limit: pageSize(500, 100),
      after,
    }),
    output: z.object({ executions: z.array(Execution), next }).meta({ id: 'Executions' }),
  }),

  get: operation('GET /api/v1/executions/:id', {
    id: 'executions.get',
    summary: 'Get an execution with its result',
    output: Execution,
  }),

  stop: operation('POST /api/v1/executions/:id/stop', {
    id: 'executions.stop',
    summary: 'Stop an execution and free its slot; an ended one stays unchanged',
    output: Execution,
  }),

  release: operation('POST /api/v1/executions/:id/release', {
    id: 'executions.release',
    summary: 'Free a slot whose execution has ended or is unknown',
    output: z
      .object({ id, was_held: z.boolean().describe('False: there was no slot to free.') })
      .meta({ id: 'ReleasedSlot' }),
  }),
} as const;

export type Executions = OutputOf<typeof executionsApi.list>;
