// Spaces of knowledge.
import { z } from 'zod';
import { knowledgeAccess, knowledgePath, ownerOf, spaceOf } from '../knowledge-space.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  spaceBody,
  spaceParams,
  spacesAnswer,
  spacesQuery,
  spaceView,
  viewOfSpace,
} from '../schemas/spaces.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['knowledge'];
const gone = z.null().describe('It is gone.');

export function spaceRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { spaces } = dependencies.knowledge;
  const config = knowledgeAccess;

  server.get(
    `${knowledgePath}/spaces`,
    {
      config,
      schema: {
        operationId: 'spaces.list',
        tags,
        summary: 'Spaces: those of the key’s organization; for the admin those of all, or of one',
        querystring: spacesQuery,
        response: { 200: spacesAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { organization } = request.query;
      const isAll = request.caller?.kind === 'admin' && organization === undefined;
      const found = await spaces.list(isAll ? undefined : ownerOf(dependencies, request, organization));
      return { spaces: found.map(viewOfSpace) };
    },
  );

  server.post(
    `${knowledgePath}/spaces`,
    {
      config,
      schema: {
        operationId: 'spaces.add',
        tags,
        summary: 'Makes a space',
        querystring: spacesQuery,
        body: spaceBody,
        response: { 201: spaceView, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { name, language, organization = request.query.organization } = request.body;
      const added = await spaces.create(ownerOf(dependencies, request, organization), name, language);
      return reply.code(201).send(viewOfSpace(added));
    },
  );

  server.delete(
    `${knowledgePath}/spaces/:space`,
    {
      config,
      schema: {
        operationId: 'spaces.remove',
        tags,
        summary: 'Removes a space with everything in it',
        params: spaceParams,
        querystring: spacesQuery,
        response: { 204: gone, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { organization } = request.query;
      await spaces.delete(await spaceOf(dependencies, request, { organization, ...request.params }));
      return reply.code(204).send(null);
    },
  );
}
