// Deployments: workflows published to organizations, for the admin.
import { z } from 'zod';
import type { Deployment } from '../../tenancy/index.ts';
import type { HttpDependencies } from '../ports.ts';
import {
  deploymentBody,
  deploymentChange,
  deployments,
  deploymentsQuery,
  deploymentWithSecret,
  viewOfDeployment,
  wishOf,
} from '../schemas/deployments.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['deployments'];
const config = { access: 'admin' } as const;

export function deploymentRoutes(server: TypedServer, { tenants }: HttpDependencies): void {
  const desk = tenants.deployments;
  const viewWithSecret = async (found: Deployment): Promise<z.infer<typeof deploymentWithSecret>> => ({
    ...viewOfDeployment(found, tenants.organizations.find(found.organizationId).name),
    webhook_secret: secretOf(desk, found),
    warnings: [...(await desk.warnings(found))],
  });

  server.get(
    '/api/v1/deployments',
    {
      config,
      schema: {
        operationId: 'deployments.list',
        tags,
        summary: 'Deployments, of all organizations or of one',
        querystring: deploymentsQuery,
        response: { 200: deployments, ...errorAnswers },
      },
    },
    async ({ query }) => {
      const names = new Map(tenants.organizations.list().map(({ id, name }) => [id, name]));
      const found = desk.list(query.organization);
      return {
        deployments: found.map((each) => viewOfDeployment(each, names.get(each.organizationId) ?? '')),
      };
    },
  );

  server.post(
    '/api/v1/deployments',
    {
      config,
      schema: {
        operationId: 'deployments.add',
        tags,
        summary: 'Publishes a workflow to an organization',
        body: deploymentBody,
        response: { 201: deploymentWithSecret, ...errorAnswers },
      },
    },
    async ({ body }, reply) => {
      const { organization, workflow, name, options, active } = body;
      const added = await desk.create(organization, {
        name,
        workflow,
        options,
        webhookUrl: body.webhook_url,
        waitSeconds: body.wait_seconds,
        isActive: active,
      });
      return reply.code(201).send(await viewWithSecret(added));
    },
  );

  server.get(
    '/api/v1/deployments/:id',
    {
      config,
      schema: {
        operationId: 'deployments.get',
        tags,
        summary: 'One deployment, with the secret of its webhook',
        params: idParams,
        response: { 200: deploymentWithSecret, ...errorAnswers },
      },
    },
    async ({ params }) => viewWithSecret(desk.get(params.id)),
  );

  server.patch(
    '/api/v1/deployments/:id',
    {
      config,
      schema: {
        operationId: 'deployments.change',
        tags,
        summary: 'Changes a deployment',
        description:
          'Options are replaced as a whole. Executions that were accepted before go on with the options they find ' +
          'when they begin. The workflow stays: publish another deployment instead.',
        params: idParams,
        body: deploymentChange,
        response: { 200: deploymentWithSecret, ...errorAnswers },
      },
    },
    async ({ params, body }) => viewWithSecret(await desk.update(params.id, wishOf(body))),
  );

  server.delete(
    '/api/v1/deployments/:id',
    {
      config,
      schema: {
        operationId: 'deployments.remove',
        tags,
        summary: 'Removes a deployment',
        description: 'Its ended executions go with it. Refused while one of them is under way.',
        params: idParams,
        response: { 204: z.null().describe('It is gone.'), ...errorAnswers },
      },
    },
    async ({ params }, reply) => {
      await desk.delete(params.id);
      return reply.code(204).send(null);
    },
  );
}

/** Null, too, where this machine has nothing to sign with: the deployment can be looked at all the same. */
function secretOf(desk: HttpDependencies['tenants']['deployments'], found: Deployment): string | null {
  try {
    return desk.signingSecret(found);
  } catch {
    return null;
  }
}
