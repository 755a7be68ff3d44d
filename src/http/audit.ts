// Audit rows and change events of successful and rejected changes.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Emitter } from '../core/index.ts';
import { kindOf, withTimeout } from '../core/index.ts';
import type { AuditRecord } from '../operations/index.ts';
import type { ServerDeps } from './deps.ts';
import type { HttpEvents } from './events.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** No audit row and no change event: called too often, or changes nothing. */
    audit?: false;
  }
  interface FastifyRequest {
    isAudited: boolean;
  }
}

/**
 * One row per change with admin rights, written before the response is sent. Reads write none, and neither do rejected
 * credentials: they could fill the table. A row that cannot be written is an error event; the response is sent anyway.
 */
export function installAudit(
  server: FastifyInstance,
  { clock, audit, events }: Pick<ServerDeps, 'clock' | 'audit' | 'events'>,
  timeoutMs: number,
): void {
  server.decorateRequest('isAudited', false);
  server.addHook('onSend', async (request, reply) => {
    if (request.isAudited || request.caller?.kind !== 'admin' || !isChange(request)) return;
    request.isAudited = true;
    const record = recordOf(request, reply, clock);
    try {
      // A store that hangs must not delay the response forever.
      await withTimeout(audit.record(record), { clock, timeoutMs });
    } catch (error) {
      const { action, status } = record;
      events.emit('http:audit-failed', { requestId: request.id, action, status, cause: kindOf(error) });
    }
  });
}

const isChange = ({ method, routeOptions }: FastifyRequest): boolean =>
  method !== 'GET' && method !== 'HEAD' && routeOptions.config.audit !== false;

function recordOf(
  request: FastifyRequest,
  reply: FastifyReply,
  clock: Clock,
): AuditRecord & { readonly status: number } {
  const status = reply.statusCode;
  const parameters = Object.entries(request.params as Record<string, string>);
  return {
    at: new Date(clock.now()),
    actor: 'admin',
    action: request.routeOptions.schema?.operationId ?? 'unknown',
    subject: parameters.length === 0 ? null : parameters.map(([name, value]) => `${name}=${value}`).join(' '),
    outcome: status < 400 ? 'done' : status < 500 ? 'refused' : 'failed',
    status,
    requestId: request.id,
  };
}

/** Emits which operation changed something, and no more; the live stream sends it to dashboards. */
export function installChanges(server: FastifyInstance, events: Emitter<HttpEvents>): void {
  // When the response is made: the change happened even if the caller does not wait for it.
  server.addHook('onSend', (request, reply, payload, done) => {
    const { url = '', schema } = request.routeOptions;
    const isDone = reply.statusCode >= 200 && reply.statusCode < 300;
    if (isDone && isChange(request) && url.startsWith('/api/v1/') && schema?.operationId !== undefined)
      events.emit('http:changed', { operation: schema.operationId });
    done(null, payload);
  });
}
