// The ledger over HTTP.
import { z } from 'zod';
import type { LedgerEntry } from '../../ledger/index.ts';
import { id, instant, isoOrNull, limitOf } from './fields.ts';

const kind = z
  .string()
  .min(1)
  .max(200)
  .meta({ examples: ['knowledge.embedding-missing'] });

export const ledgerEntry = z
  .object({
    id,
    kind,
    subject: z.string().describe('What it happened to.'),
    cause: z.string().describe("The error's class or code."),
    message: z.string(),
    details: z.record(z.string(), z.unknown()),
    count: z.number().int().describe('How often it was seen.'),
    first_seen_at: instant,
    last_seen_at: instant,
    repaired_at: instant.nullable(),
    repaired_how: z.string().nullable(),
    repair_attempts: z.number().int(),
    next_repair_at: instant.nullable(),
    last_repair_error: z.string().nullable(),
  })
  .meta({ id: 'LedgerEntry', description: 'Something that fell back or stayed undone.' });

export const ledgerQuery = z.strictObject({
  state: z.enum(['open', 'repaired', 'all']).default('open'),
  kind: kind.optional(),
  subject: z.string().min(1).max(1000).optional(),
  limit: limitOf(500, 100),
  after: id.optional().describe('The `next` of the page before.'),
});

export const ledgerPage = z
  .object({
    entries: z.array(ledgerEntry),
    next: z.string().nullable().describe('Give it as `after` to read on; null at the end.'),
  })
  .meta({ id: 'LedgerPage', description: 'Ledger rows, newest first.' });

export const ledgerKinds = z
  .object({
    kinds: z.array(
      z.object({
        kind,
        open: z.number().int(),
        repaired: z.number().int(),
        repair: z
          .string()
          .nullable()
          .describe('What its repair does; null when only a person can settle it.'),
      }),
    ),
  })
  .meta({ id: 'LedgerKinds', description: 'Every kind that has rows or a repair.' });

export const repairBody = z
  .strictObject({ kind: kind.optional(), id: id.optional() })
  .refine((body) => body.kind === undefined || body.id === undefined, 'give kind or id, not both')
  .nullish()
  .meta({ description: 'Nothing means: everything that is open.', examples: [{ kind: 'demo.kind' }] });

export const repairAnswer = z
  .object({
    job_id: z.string().nullable().describe('Null when the same repair is already waiting or running.'),
  })
  .meta({ id: 'RepairRequested', description: 'A job repairs; look at it under /api/v1/jobs.' });

export const resolveBody = z.strictObject({
  how: z.string().trim().min(1).max(500).describe('One sentence that is kept with the row.'),
});

export function viewOfEntry(entry: LedgerEntry): z.infer<typeof ledgerEntry> {
  return {
    id: entry.id,
    kind: entry.kind,
    subject: entry.subject,
    cause: entry.cause,
    message: entry.message,
    details: entry.details,
    count: entry.count,
    first_seen_at: entry.firstSeenAt.toISOString(),
    last_seen_at: entry.lastSeenAt.toISOString(),
    repaired_at: isoOrNull(entry.repairedAt),
    repaired_how: entry.repairedHow,
    repair_attempts: entry.repairAttempts,
    next_repair_at: isoOrNull(entry.nextRepairAt),
    last_repair_error: entry.lastRepairError,
  };
}
