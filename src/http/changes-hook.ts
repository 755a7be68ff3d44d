// Tells whoever follows the live stream that something was changed over the API: by which operation, and no more.
import type { FastifyInstance } from 'fastify';
import type { Emitter } from '../core/index.ts';
import type { HttpEvents } from './events.ts';

/** What is called so often that it leaves no audit row has events of its own. */
export function installChanges(server: FastifyInstance, events: Emitter<HttpEvents>): void {
  // When the answer is made: a caller who does not wait for it has changed something all the same.
  server.addHook('onSend', (request, reply, payload, done) => {
    const { url = '', schema, config } = request.routeOptions;
    const isChange = request.method !== 'GET' && request.method !== 'HEAD' && config.audit !== false;
    const isDone = reply.statusCode >= 200 && reply.statusCode < 300;
    if (isChange && isDone && url.startsWith('/api/v1/') && schema?.operationId !== undefined)
      events.emit('http:changed', { operation: schema.operationId });
    done(null, payload);
  });
}
