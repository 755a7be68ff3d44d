// The audit trail over HTTP.
import { z } from 'zod';
import { id, instant, limitOf } from './fields.ts';

export const auditQuery = z.strictObject({
  limit: limitOf(500, 100),
  before: id.optional().describe('The `next` of the page before.'),
});

export const auditPage = z
  .object({
    rows: z.array(
      z.object({
        id: z.string(),
        at: instant,
        actor: z.string().meta({ examples: ['admin'] }),
        action: z.string().meta({ examples: ['ledger.repair'] }),
        subject: z.string().nullable(),
        outcome: z.enum(['done', 'refused', 'failed']),
        status: z.number().int().nullable(),
        request_id: z.string().nullable(),
      }),
    ),
    next: z.string().nullable().describe('Give it as `before` to read on; null at the end.'),
  })
  .meta({ id: 'AuditPage', description: 'What was done with administrative rights, newest first.' });
