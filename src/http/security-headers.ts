// Headers that every answer carries.
import type { FastifyInstance } from 'fastify';

/** Nothing may be loaded or framed; only the docs page needs more and says so itself. */
const strictest = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export function installSecurityHeaders(server: FastifyInstance): void {
  server.addHook('onSend', async (request, reply) => {
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
    if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', strictest);
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  });
}
