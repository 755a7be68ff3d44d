// A span for every request, by its route: never its query, its body or who asks.
import type { FastifyInstance } from 'fastify';
import type { OpenSpan, Tracer } from '../core/index.ts';

declare module 'fastify' {
  interface FastifyRequest {
    openSpan: OpenSpan | null;
  }
}

export function traceRequests(server: FastifyInstance, tracer: Tracer): void {
  server.decorateRequest('openSpan', null);
  server.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unmatched';
    const facts = {
      'http.request.method': request.method,
      'http.route': route,
      'headworks.request_id': request.id,
    };
    const span = tracer.begin(`${request.method} ${route}`, facts, request.headers);
    request.openSpan = span;
    // 'close' comes always, once, also when the caller has left.
    reply.raw.on('close', () => {
      const status = reply.raw.writableFinished ? reply.raw.statusCode : 499;
      span.end({ 'http.response.status_code': status }, status >= 500);
    });
    span.run(done);
  });
  // Reading a body goes on in whatever the socket runs in: back into the request's own.
  server.addHook('preValidation', (request, _reply, done) => {
    if (request.openSpan) request.openSpan.run(done);
    else done();
  });
}
