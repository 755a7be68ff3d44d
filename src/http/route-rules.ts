// What every route must bring, checked while the server is built.
import type { FastifyInstance } from 'fastify';

/** Documented routes need an operation id (it names audit rows), a summary and answer schemas. */
export function installRouteRules(server: FastifyInstance, handlerTimeoutMs: number): void {
  const operations = new Map<string, string>();
  server.addHook('onRoute', (route) => {
    // A time limit would cut streams off in the middle.
    if (!route.config?.isStream) route.handlerTimeout ??= handlerTimeoutMs;
    if (route.schema?.hide || route.url.startsWith('/docs') || route.method === 'HEAD') return;
    const label = `${String(route.method)} ${route.url}`;
    const { operationId, summary, response } = route.schema ?? {};
    if (!operationId || !summary || !response)
      throw new TypeError(`The route ${label} lacks an operationId, a summary or its answers (schema).`);
    const other = operations.get(operationId);
    if (other !== undefined && other !== label)
      throw new TypeError(`The routes ${other} and ${label} have the same operationId ${operationId}.`);
    operations.set(operationId, label);
  });
}
