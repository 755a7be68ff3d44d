// The graph: how it is and its rebuild, for the admin; what lies around an entity, for whoever reaches its space.
import type { z } from 'zod';
import { knowledgeAccess, knowledgePath, spaceOf } from '../knowledge-space.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { idParams } from '../schemas/fields.ts';
import {
  aroundAnswer,
  aroundQuery,
  graphRebuildAnswer,
  graphStatusAnswer,
} from '../schemas/knowledge-graph.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['knowledge'];
const config = { access: 'admin' } as const;

export function knowledgeGraphRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { graph } = dependencies.knowledge;

  server.get(
    `${knowledgePath}/graph`,
    {
      config,
      schema: {
        operationId: 'graph.status',
        tags,
        summary: 'Where the graph lives, and whether it can be used',
        response: { 200: graphStatusAnswer, ...errorAnswers },
      },
    },
    async () => (await graph.status()) as z.infer<typeof graphStatusAnswer>,
  );

  server.post(
    `${knowledgePath}/graph/rebuild`,
    {
      config,
      schema: {
        operationId: 'graph.rebuild',
        tags,
        summary: 'Builds the graph anew beside the one that answers, and swaps them',
        response: { 202: graphRebuildAnswer, ...errorAnswers },
      },
    },
    async (_request, reply) => reply.code(202).send({ job_id: await graph.requestRebuild() }),
  );

  server.get(
    `${knowledgePath}/entities/:id/around`,
    {
      config: knowledgeAccess,
      schema: {
        operationId: 'graph.around',
        tags,
        summary: 'What an entity takes part in, and who else does',
        params: idParams,
        querystring: aroundQuery,
        response: { 200: aroundAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const space = await spaceOf(dependencies, request, request.query);
      const found = await graph.around(space, request.params.id, request.query.limit);
      return found as unknown as z.infer<typeof aroundAnswer>;
    },
  );
}
