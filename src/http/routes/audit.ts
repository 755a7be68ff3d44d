// Who did what with administrative rights.
import type { HttpDependencies } from '../ports.ts';
import { auditPage, auditQuery } from '../schemas/audit.ts';
import { errorAnswers } from '../schemas/error.ts';
import type { TypedServer } from './typed-server.ts';

export function auditRoutes(server: TypedServer, { audit }: HttpDependencies): void {
  server.get(
    '/api/v1/audit',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'audit.list',
        tags: ['audit'],
        summary: 'Admin actions, newest first',
        querystring: auditQuery,
        response: { 200: auditPage, ...errorAnswers },
      },
    },
    async (request) => {
      const { limit, before } = request.query;
      const found = await audit.list({ limit: limit + 1, ...(before === undefined ? {} : { before }) });
      const rows = found.slice(0, limit).map((row) => ({
        id: row.id,
        at: row.at.toISOString(),
        actor: row.actor,
        action: row.action,
        subject: row.subject,
        outcome: row.outcome,
        status: row.status,
        request_id: row.requestId,
      }));
      return { rows, next: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
    },
  );
}
