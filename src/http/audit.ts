// Audit rows and change events of successful and refused changes.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Emitter } from '../core/index.ts';
import { CoreError, kindOf } from '../core/index.ts';
import type { AuditRow, AuditTrail } from './deps.ts';
import type { HttpEvents } from './events.ts';

export interface AuditDeps {
  readonly clock: Clock;
  readonly audit: AuditTrail;
  readonly events: Emitter<HttpEvents>;
  readonly auditTimeoutMs: number;
}

/**
 * One row per change with admin rights, written before the response is sent. Reads write none, and neither do rejected
 * credentials: they could fill the table. A row that cannot be written is an error event; the response is sent anyway.
 */
export function installAudit(server: FastifyInstance, parts: AuditDeps): void {
  server.decorateRequest('isAudited', false);
  server.addHook('onSend', async (request, reply) => {
    if (request.isAudited || request.caller?.kind !== 'admin') return;
    if (request.method === 'GET' || request.method === 'HEAD') return;
    if (request.routeOptions.config.audit === false) return;
    request.isAudited = true;
    const row = rowOf(request, reply, parts.clock);
    try {
      await inTime(parts, parts.audit.record(row));
    } catch (error) {
      const { requestId, action, status } = row;
      parts.events.emit('http:audit-failed', { requestId, action, status, cause: kindOf(error) });
    }
  });
}

function rowOf(request: FastifyRequest, reply: FastifyReply, clock: Clock): AuditRow {
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

/** A store that hangs must not delay the response forever. */
function inTime({ clock, auditTimeoutMs }: AuditDeps, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(auditTimeoutMs, () =>
      reject(
        new CoreError('DEADLINE_EXCEEDED', `The audit row was not written within ${auditTimeoutMs} ms.`),
      ),
    );
    work.finally(cancel).then(resolve, reject);
  });
}

/** Tells readers of the live stream which operation changed something, and no more. */
export function installChanges(server: FastifyInstance, events: Emitter<HttpEvents>): void {
  // When the response is made: the change happened even if the caller does not wait for it.
  server.addHook('onSend', (request, reply, payload, done) => {
    const { url = '', schema, config } = request.routeOptions;
    const isChange = request.method !== 'GET' && request.method !== 'HEAD' && config.audit !== false;
    const isDone = reply.statusCode >= 200 && reply.statusCode < 300;
    if (isChange && isDone && url.startsWith('/api/v1/') && schema?.operationId !== undefined)
      events.emit('http:changed', { operation: schema.operationId });
    done(null, payload);
  });
}
