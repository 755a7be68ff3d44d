// Bodies that take too long to arrive, and callers that ask before they send one.
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../core/index.ts';

/**
 * Node knows one time limit for the whole server, which must let uploads pass; other routes keep their own, shorter
 * one here, and tell it in the same way. `Expect: 100-continue` is answered before a body is read, and on routes that
 * read it themselves by them: a refused upload is then never sent.
 */
export function installSlowRequests(server: FastifyInstance, clock: Clock, requestTimeoutMs: number): void {
  const { server: node } = server;
  node.on('checkContinue', (request, response) => void node.emit('request', request, response));
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    if (hasBody(raw.headers) && !request.routeOptions.config.readsBodyItself) {
      if (raw.headers.expect !== undefined) reply.raw.writeContinue();
      const cancel = clock.after(requestTimeoutMs, () => {
        if (!raw.complete) node.emit('clientError', tooSlow(), raw.socket);
      });
      reply.raw.on('close', cancel);
    }
    done();
  });
}

const hasBody = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** As Node itself would say it. */
const tooSlow = (): Error =>
  Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
