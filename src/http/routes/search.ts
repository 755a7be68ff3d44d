// Search: what a space knows about a question, with evidence.
import { knowledgeAccess, knowledgePath, spaceOf } from '../knowledge-space.ts';
import { callerSignal } from '../openai/caller-signal.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { requestOf, searchAnswer, searchBody, searchQuery, viewOfSearch } from '../schemas/search.ts';
import type { TypedServer } from './typed-server.ts';

export function searchRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  server.post(
    `${knowledgePath}/search`,
    {
      config: { ...knowledgeAccess, nulAllowedIn: ['query'] },
      schema: {
        operationId: 'search',
        tags: ['knowledge'],
        summary: 'Searches a space by words, vectors and, on wish, the graph',
        description:
          'What was left out (no vectors, a graph that took too long, chunks that are not embedded yet) is said in ' +
          '`warning`; the results come all the same.',
        querystring: searchQuery,
        body: searchBody,
        response: { 200: searchAnswer, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const space = await spaceOf(dependencies, request, { ...request.query, ...request.body });
      const { search } = dependencies.knowledge;
      return viewOfSearch(await search.search(space, requestOf(request.body), callerSignal(reply.raw)));
    },
  );
}
