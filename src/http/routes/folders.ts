// Folders that are read into spaces again and again. For admins only: they are of the server's machine.
import { z } from 'zod';
import { knowledgePath, spaceOf } from '../knowledge-space.ts';
import { callerSignal } from '../openai/caller-signal.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import {
  addedFolderView,
  folderBody,
  folderParams,
  folderResultView,
  foldersAnswer,
  foldersQuery,
  scanBody,
  viewOfFolder,
  viewOfResult,
  wishOfFolder,
} from '../schemas/folders.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['knowledge'];
const config = { access: 'admin' } as const;

export function folderRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { folders } = dependencies.knowledge;

  server.get(
    `${knowledgePath}/folders`,
    {
      config,
      schema: {
        operationId: 'folders.list',
        tags,
        summary: 'Folders that are read into a space, or into all',
        querystring: foldersQuery,
        response: { 200: foldersAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const { all, ...named } = request.query;
      const spaceId = all ? undefined : (await spaceOf(dependencies, request, named)).spaceId;
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
        summary:
          'Reads a folder into a space from now on: watched, or on a schedule; a known one gets the new schedule',
        body: folderBody,
        response: { 200: addedFolderView, 201: addedFolderView, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const space = await spaceOf(dependencies, request, request.body);
      const { outcome, ...folder } = await folders.create(space, wishOfFolder(request.body));
      return reply.code(outcome === 'added' ? 201 : 200).send({ ...viewOfFolder(folder), outcome });
    },
  );

  server.post(
    `${knowledgePath}/folders/:id/scan`,
    {
      config,
      schema: {
        operationId: 'folders.scan',
        tags,
        summary: 'Reads a folder now, files that failed before included; answers when it is through',
        params: folderParams,
        body: scanBody,
        response: { 200: folderResultView, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const options = { removesMissing: request.body.remove_missing };
      return viewOfResult(await folders.scan(request.params.id, options, callerSignal(reply.raw)));
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
        response: { 204: z.null().describe('It is gone.'), ...errorAnswers },
      },
    },
    async (request, reply) => {
      await folders.delete(request.params.id);
      return reply.code(204).send(null);
    },
  );
}
