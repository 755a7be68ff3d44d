// Deployments over HTTP.
import { z } from 'zod';
import type { Deployment, DeploymentInput } from '../../tenancy/index.ts';
import { workflowNames } from '../../tenancy/index.ts';
import { id, instant } from './fields.ts';
import { organizationId, organizationReference } from './organizations.ts';

const workflow = z.enum(workflowNames);
const options = z.record(z.string(), z.unknown()).describe('What the workflow needs; it says what is wrong.');

export const deployment = z
  .object({
    id,
    organization_id: organizationId,
    organization: z.string().describe("The organization's name."),
    name: z.string(),
    workflow,
    options,
    webhook_url: z.string().nullable().describe('Told of every execution that ends.'),
    wait_seconds: z.number().describe('How long requests wait for a slot unless they say otherwise.'),
    active: z.boolean(),
    path: z.string().describe('Where it is called.'),
    created_at: instant,
    modified_at: instant,
  })
  .meta({ id: 'Deployment', description: 'A published workflow.' });

export const deploymentWithSecret = deployment
  .extend({
    webhook_secret: z
      .string()
      .nullable()
      .describe('With it webhooks are signed (Standard Webhooks); null without a webhook.'),
    warnings: z
      .array(z.string())
      .describe('What keeps it from working now, in sentences: a model that nobody knows.'),
  })
  .meta({ id: 'DeploymentWithSecret', description: 'A published workflow, with the secret of its webhook.' });

export const deployments = z
  .object({ deployments: z.array(deployment) })
  .meta({ id: 'Deployments', description: 'Published workflows, oldest first.' });

export const deploymentsQuery = z.object({ organization: organizationReference.optional() });

const changeable = {
  name: z
    .string()
    .describe(
      '1 to 100 letters (a to z), digits, "-", "_" and "."; unique within the organization, whatever the case.',
    ),
  options,
  webhook_url: z.string().nullable().describe('http or https, without credentials; null for none.'),
  wait_seconds: z.number().describe('0 answers at once when no slot is free.'),
  active: z.boolean(),
};

export const deploymentBody = z
  .strictObject({
    ...changeable,
    organization: organizationReference,
    workflow,
    options: options.default({}),
    webhook_url: changeable.webhook_url.default(null),
    wait_seconds: changeable.wait_seconds.default(0),
    active: changeable.active.default(true),
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
  });

export const deploymentChange = z
  .strictObject({
    ...changeable,
    workflow: z
      .never('cannot be changed: publish another deployment instead')
      .describe('Stays as it is: publish another deployment instead.'),
  })
  .partial()
  .meta({
    id: 'DeploymentUpdate',
    description: 'What is given is changed; options are replaced as a whole.',
  });

/** As the desk takes it: what is absent stays absent. */
export function wishOf({
  webhook_url: webhookUrl,
  wait_seconds: waitSeconds,
  active: isActive,
  name,
  options: given,
}: z.infer<typeof deploymentChange>): Partial<Omit<DeploymentInput, 'workflow'>> {
  return {
    ...(name === undefined ? {} : { name }),
    ...(given === undefined ? {} : { options: given }),
    ...(webhookUrl === undefined ? {} : { webhookUrl }),
    ...(waitSeconds === undefined ? {} : { waitSeconds }),
    ...(isActive === undefined ? {} : { isActive }),
  };
}

export function viewOfDeployment(found: Deployment, organizationName: string): z.infer<typeof deployment> {
  return {
    id: found.id,
    organization_id: found.organizationId,
    organization: organizationName,
    name: found.name,
    workflow: found.workflow,
    options: found.options,
    webhook_url: found.webhookUrl,
    wait_seconds: found.waitSeconds,
    active: found.isActive,
    path: `/deployment/api/${found.organizationId}/${found.name}`,
    created_at: found.createdAt.toISOString(),
    modified_at: found.modifiedAt.toISOString(),
  };
}
