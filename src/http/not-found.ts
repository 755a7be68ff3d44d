// Paths that nobody serves, and methods that a path does not know.
import type { FastifyInstance } from 'fastify';
import { CoreError } from '../core/index.ts';
import { HttpError } from './errors.ts';

export function installNotFound(server: FastifyInstance): void {
  server.setNotFoundHandler(async (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const here = server.knownRoutes.filter(({ url }) => matches(url, path));
    // A file below /docs that is not there is served, as it were, by its method.
    if (here.length === 0 || here.some(({ method }) => method === request.method))
      throw new CoreError('NOT_FOUND', 'There is nothing at this path. GET /docs shows what there is.');
    const methods = [...new Set(here.map(({ method }) => method))].sort().join(', ');
    reply.header('allow', methods);
    throw new HttpError('HTTP_METHOD_NOT_ALLOWED', `This path knows only ${methods}.`);
  });
}

/** Segment by segment, so that no path can make it slow. */
function matches(url: string, path: string): boolean {
  const expected = url.split('/');
  const given = path.split('/');
  const isOpenEnded = expected.at(-1) === '*';
  if (isOpenEnded ? given.length < expected.length : given.length !== expected.length) return false;
  return expected.every(
    (part, index) => part === '*' || part === given[index] || (part.startsWith(':') && given[index] !== ''),
  );
}
