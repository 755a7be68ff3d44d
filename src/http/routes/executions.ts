// Executions of all organizations: what there is, what became of it, stop, free a slot.
import type { Deployment, Execution } from '../../tenancy/index.ts';
import type { HttpDependencies, TenantServices } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  executionAnswer,
  executionsAnswer,
  executionsQuery,
  releasedAnswer,
  viewOfExecution,
} from '../schemas/executions.ts';
import { idParams } from '../schemas/fields.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['executions'];
const config = { access: 'admin' } as const;

export function executionRoutes(server: TypedServer, { tenants }: HttpDependencies): void {
  const { executions, organizations, deployments } = tenants;

  server.get(
    '/api/v1/executions',
    {
      config,
      schema: {
        operationId: 'executions.list',
        tags,
        summary: 'Executions, newest first, without results',
        querystring: executionsQuery,
        response: { 200: executionsAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { organization, deployment, status: statuses, limit, before } = request.query;
      // One more than asked for tells whether there is a next page.
      const found = await executions.list({
        limit: limit + 1,
        ...(organization === undefined ? {} : { organizationId: organizations.find(organization).id }),
        ...(deployment === undefined ? {} : { deploymentId: referred(deployments, deployment).id }),
        ...(statuses === undefined ? {} : { statuses }),
        ...(before === undefined ? {} : { before }),
      });
      const page = found.slice(0, limit).map(viewer(tenants));
      return { executions: page, next: found.length > limit ? (page.at(-1)?.id ?? null) : null };
    },
  );

  server.get(
    '/api/v1/executions/:id',
    {
      config,
      schema: {
        operationId: 'executions.get',
        tags,
        summary: 'One execution, with its result',
        params: idParams,
        response: { 200: executionAnswer, ...errorAnswers },
      },
    },
    async (request) => viewer(tenants)(await executions.get(request.params.id)),
  );

  server.post(
    '/api/v1/executions/:id/stop',
    {
      config,
      schema: {
        operationId: 'executions.stop',
        tags,
        summary: 'Stops an execution and frees its slot; one that has ended stays as it is',
        params: idParams,
        response: { 200: executionAnswer, ...errorAnswers },
      },
    },
    async (request) => viewer(tenants)(await executions.stop(request.params.id)),
  );

  server.post(
    '/api/v1/executions/:id/release',
    {
      config,
      schema: {
        operationId: 'executions.release',
        tags,
        summary:
          'Frees a slot that is held for nothing: by an execution that has ended, or that nobody knows',
        params: idParams,
        response: { 200: releasedAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { wasHeld } = await executions.release(id);
      return { id, was_held: wasHeld };
    },
  );
}

/** By its id, or as ORGANIZATION/NAME: names of organizations hold no slash. Fails with NOT_FOUND. */
function referred(deployments: HttpDependencies['tenants']['deployments'], reference: string): Deployment {
  const slash = reference.indexOf('/');
  return slash === -1
    ? deployments.get(reference)
    : deployments.find(reference.slice(0, slash), reference.slice(slash + 1));
}

/** With names; what was removed this very moment is called by its id. */
function viewer({ organizations, deployments }: TenantServices) {
  const names = new Map([...organizations.list(), ...deployments.list()].map(({ id, name }) => [id, name]));
  const nameOf = (id: string): string => names.get(id) ?? id;
  return (execution: Execution) =>
    viewOfExecution(execution, {
      organization: nameOf(execution.organizationId),
      deployment: nameOf(execution.deploymentId),
    });
}
