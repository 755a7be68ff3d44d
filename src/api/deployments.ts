// Deployments: workflows published to organizations.
import { z } from 'zod';
import { workflowNames } from '../tenancy/vocabulary.ts';
import { deleted, id, instant } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';
import { organizationId, organizationReference } from './organizations.ts';

const workflow = z.enum(workflowNames).describe('What the deployment does.');
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
    is_active: z.boolean(),
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
