// Spaces of knowledge; folders that are read into them, for the admin.
import { z } from 'zod';
import { knowledgeAccess, knowledgePath, ownerOf, spaceOf } from '../knowledge-space.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  folderBody,
  folderParams,
  foldersAnswer,
  foldersQuery,
  folderView,
  spaceBody,
  spaceParams,
  spacesAnswer,
  spacesQuery,
  spaceView,
  viewOfFolder,
  viewOfSpace,
} from '../schemas/spaces.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['knowledge'];
const gone = z.null().describe('It is gone.');

export function spaceRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  ownRoutes(server, dependencies);
  folderRoutes(server, dependencies);
}

function ownRoutes(server: TypedServer, dependencies: HttpDependencies): void {
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
        body: spaceBody,
        response: { 201: spaceView, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { name, language, organization } = request.body;
      const added = await spaces.add(ownerOf(dependencies, request, organization), name, language);
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
      await spaces.remove(await spaceOf(dependencies, request, { organization, ...request.params }));
      return reply.code(204).send(null);
    },
  );
}

/** Admins only: a folder is one of the server's machine. */
function folderRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { folders } = dependencies.knowledge;
  const config = { access: 'admin' } as const;

  server.get(
    `${knowledgePath}/folders`,
    {
      config,
      schema: {
        operationId: 'folders.list',
        tags,
        summary: 'Folders that are read into a space',
        querystring: foldersQuery,
        response: { 200: foldersAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { spaceId } = await spaceOf(dependencies, request, request.query);
      return { folders: (await folders.list(spaceId)).map(viewOfFolder) };
    },
  );

  server.post(
    `${knowledgePath}/folders`,
    {
      config,
      schema: {
        operationId: 'folders.add',
        tags,
        summary: 'Reads a folder into a space from now on: watched, or on a schedule',
        body: folderBody,
        response: { 201: folderView, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { path, cron } = request.body;
      const space = await spaceOf(dependencies, request, request.body);
      return reply.code(201).send(viewOfFolder(await folders.add(space, path, cron ?? null)));
    },
  );

  server.delete(
    `${knowledgePath}/folders/:id`,
    {
      config,
      schema: {
        operationId: 'folders.remove',
        tags,
        summary: 'Reads a folder no longer; what was read stays',
        params: folderParams,
        querystring: foldersQuery,
        response: { 204: gone, ...errorAnswers },
      },
    },
    async (request, reply) => {
      await folders.remove(await spaceOf(dependencies, request, request.query), request.params.id);
      return reply.code(204).send(null);
    },
  );
}
