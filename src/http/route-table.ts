// Every route of the server, as it was added: for the answers to unknown paths, and for tests that miss none.
import type { FastifyInstance } from 'fastify';
import type { KnownRoute } from './server-types.ts';

/** Must be installed after the access check and before the routes. */
export function installRouteTable(server: FastifyInstance): void {
  const routes: KnownRoute[] = [];
  server.decorate('knownRoutes', routes);
  server.addHook('onRoute', ({ url, method, config }) => {
    const access = config?.access ?? 'admin';
    for (const name of [method].flat()) routes.push({ method: name, url, access });
  });
}
