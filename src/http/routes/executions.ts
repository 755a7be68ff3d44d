// Executions of all organizations: what there is, what became of it, stop, free a slot.
import type { HttpDependencies } from '../ports.ts';
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
  const { executions, organizations } = tenants;

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
      const { organization, deployment_id: deploymentId, status: statuses, limit, before } = request.query;
      // One more than asked for tells whether there is a next page.
      const found = await executions.list({
        limit: limit + 1,
        ...(organization === undefined ? {} : { organizationId: organizations.find(organization).id }),
        ...(deploymentId === undefined ? {} : { deploymentId }),
        ...(statuses === undefined ? {} : { statuses }),
        ...(before === undefined ? {} : { before }),
      });
      const page = found.slice(0, limit).map(viewOfExecution);
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
    async (request) => viewOfExecution(await executions.get(request.params.id)),
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
    async (request) => viewOfExecution(await executions.stop(request.params.id)),
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
