// What is in and what is missing of several artifacts at once: for a list of them.
import { CoreError } from '../../core/index.ts';
import { knowledgeAccess, knowledgePath, spaceOf } from '../knowledge-space.ts';
import type { HttpDependencies } from '../ports.ts';
import { statusesAnswer, statusesQuery, viewOfStatus } from '../schemas/artifacts.ts';
import { errorAnswers } from '../schemas/error.ts';
import type { TypedServer } from './typed-server.ts';

export function artifactStatusRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { artifacts } = dependencies.knowledge;

  server.get(
    `${knowledgePath}/artifacts/statuses`,
    {
      config: knowledgeAccess,
      schema: {
        operationId: 'artifacts.statuses',
        tags: ['knowledge'],
        summary: 'What is in and what is missing of several artifacts',
        querystring: statusesQuery,
        response: { 200: statusesAnswer, ...errorAnswers },
      },
    },
    async (request) => {
      const space = await spaceOf(dependencies, request, request.query);
      const found = await Promise.all(
        request.query.ids.map((artifactUid) => artifacts.get(space, artifactUid).catch(nullIfGone)),
      );
      return {
        statuses: found
          .filter((artifact) => artifact !== null)
          .map(({ artifactUid, title, sourceId, status }) => ({
            artifact_uid: artifactUid,
            title,
            source_id: sourceId,
            status: viewOfStatus(status),
          })),
      };
    },
  );
}

/** Removed since the list was read. */
function nullIfGone(error: unknown): null {
  if (error instanceof CoreError && error.code === 'NOT_FOUND') return null;
  throw error;
}
