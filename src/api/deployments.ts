// Deployments (workflows published to organizations) and their executions, for admins.
import { z } from 'zod';
import { executionStates, workflowNames } from '../tenancy/vocabulary.ts';
import { after, deleted, failure, id, instant, listOf, next, pageSize } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';
import { organizationId, organizationReference } from './organizations.ts';

const workflow = z.enum(workflowNames).describe('Workflow that every execution runs.');
const options = z
  .record(z.string(), z.unknown())
  .describe('Settings of the workflow; wrong ones are rejected with an explanation.');

export const Deployment = z
  .object({
    id,
    organization_id: organizationId,
    organization_name: z.string(),
    name: z.string(),
    workflow,
    options,
    webhook_url: z.string().nullable().describe('Notified of every execution that ends.'),
    wait_seconds: z
      .number()
      .describe('Default time that requests wait for a slot; a request overrides it with `wait`.'),
    is_active: z.boolean().describe('False: new requests are rejected.'),
    path: z.string().describe('Path of its endpoint.'),
    created_at: instant,
    modified_at: instant,
  })
  .meta({ id: 'Deployment', description: 'A published workflow.' });
export type Deployment = z.infer<typeof Deployment>;

export const DeploymentWithSecret = Deployment.extend({
  webhook_secret: z
    .string()
    .nullable()
    .describe('Signs webhooks (Standard Webhooks); null without a webhook.'),
  warnings: z
    .array(z.string())
    .describe('Problems that make requests fail now, for example an unknown model.'),
}).meta({ id: 'DeploymentWithSecret' });
export type DeploymentWithSecret = z.infer<typeof DeploymentWithSecret>;

const changeable = {
  name: z
    .string()
    .describe(
      '1 to 100 letters (a to z), digits, "-", "_" and "."; unique within the organization, ignoring case.',
    ),
  options,
  webhook_url: z
    .string()
    .nullable()
    .describe('Address that is notified of ended executions: http or https, without credentials.'),
  wait_seconds: z.number().describe('Seconds to wait for a slot; 0 rejects at once when none is free.'),
  is_active: z.boolean().describe('False rejects new requests.'),
};

export const deploymentsApi = {
  list: operation('GET /api/v1/deployments', {
    id: 'deployments.list',
    summary: 'List deployments, oldest first',
    query: z.strictObject({
      organization: organizationReference
        .optional()
        .describe('Only deployments of this organization: id or name.'),
    }),
    output: z.object({ deployments: z.array(Deployment) }).meta({ id: 'Deployments' }),
  }),

  create: operation('POST /api/v1/deployments', {
    id: 'deployments.create',
    summary: 'Publish a workflow to an organization',
    body: z
      .strictObject({
        ...changeable,
        organization: organizationReference,
        workflow,
        options: options.default({}),
        webhook_url: changeable.webhook_url.default(null),
        wait_seconds: changeable.wait_seconds.default(0),
        is_active: changeable.is_active.default(true),
      })
      .meta({
        id: 'DeploymentRequest',
        examples: [
          {
            organization: 'acme-corp',
            name: 'summary',
            workflow: 'prompt',
            options: { template: 'Summarize: {{text}}' },
          },
        ],
      }),
    status: 201,
    output: DeploymentWithSecret,
  }),

  get: operation('GET /api/v1/deployments/:id', {
    id: 'deployments.get',
    summary: 'Get a deployment with the secret of its webhook',
    output: DeploymentWithSecret,
  }),

  update: operation('PATCH /api/v1/deployments/:id', {
    id: 'deployments.update',
    summary: 'Update a deployment',
    description:
      'Options are replaced as a whole. Executions accepted before use the options valid when they start. The ' +
      'workflow cannot be changed: publish another deployment instead.',
    body: z
      .strictObject({
        ...changeable,
        workflow: z
          .never('cannot be changed: publish another deployment instead')
          .describe('Cannot be changed: publish another deployment instead.'),
      })
      .partial()
      .meta({ id: 'DeploymentChange', description: 'Only the given fields change.' }),
    output: DeploymentWithSecret,
  }),

  delete: operation('DELETE /api/v1/deployments/:id', {
    id: 'deployments.delete',
    summary: 'Delete a deployment',
    description: 'Deletes its ended executions, too. 409 while one of them is running.',
    status: 204,
    output: deleted,
  }),
} as const;

export type Deployments = OutputOf<typeof deploymentsApi.list>;

const state = z.enum(executionStates);

export const Execution = z
  .object({
    id: z.string(),
    organization_id: z.string(),
    organization_name: z.string(),
    deployment_id: z.string(),
    deployment_name: z.string(),
    state,
    idempotency_key: z
      .string()
      .nullable()
      .describe('Value of the Idempotency-Key header of the request; null without one.'),
    job_id: z.string().describe('The job that runs it.'),
    accepted_at: instant.describe('When the request was accepted: it is not lost from then on.'),
    started_at: instant.nullable().describe('Null until it starts.'),
    finished_at: instant.nullable().describe('Null until it has ended.'),
    result: z.unknown().describe('Result of the workflow; null until it has completed, and in lists.'),
    error: failure.nullable().describe('Why it failed; null unless the state is `failed`.'),
    warnings: z.array(z.string()).describe('Omissions and fallbacks.'),
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
      state: listOf(state).optional().describe('One or several states, separated by commas.'),
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

  cancel: operation('POST /api/v1/executions/:id/cancel', {
    id: 'executions.cancel',
    summary: 'Cancel an execution and release its slot; an ended one stays unchanged',
    output: Execution,
  }),

  release: operation('POST /api/v1/executions/:id/release', {
    id: 'executions.release',
    summary: 'Release a slot whose execution has finished or is unknown',
    output: z
      .object({ id, is_released: z.boolean().describe('False: it held no slot.') })
      .meta({ id: 'ReleasedSlot' }),
  }),
} as const;
