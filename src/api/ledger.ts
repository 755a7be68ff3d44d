// The ledger: operations that degraded or stayed undone, and their repairs.
import { z } from 'zod';
import { after, count, id, instant, next, pageSize } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const kind = z
  .string()
  .min(1)
  .max(200)
  .meta({ examples: ['knowledge.embedding-missing'] });

export const LedgerEntry = z
  .object({
    id,
    kind,
    subject: z.string().describe('What it happened to, for example a document or a run.'),
    cause: z.string().describe('Class or code of the error.'),
    message: z.string().describe('What happened, and what follows from it.'),
    details: z.record(z.string(), z.unknown()).describe('Further fields; they depend on the kind.'),
    count: count.describe('How often it was recorded.'),
    first_seen_at: instant.describe('When it was first recorded.'),
    last_seen_at: instant.describe('When it was last recorded.'),
    resolved_at: instant.nullable().describe('Null while the entry is open.'),
    resolution: z
      .string()
      .nullable()
      .describe(
        '`repair`, `gone` (the subject no longer exists) or the text given by the person who resolved it.',
      ),
    repair_attempts: count.describe('Repairs that failed.'),
    next_repair_at: instant.nullable().describe('Background repair does not run before this.'),
    last_repair_error: z.string().nullable().describe('Why the last repair failed; null: none did.'),
  })
  .meta({ id: 'LedgerEntry', description: 'An operation that was degraded or skipped.' });
export type LedgerEntry = z.infer<typeof LedgerEntry>;

export const ledgerApi = {
  list: operation('GET /api/v1/ledger', {
    id: 'ledger.list',
    summary: 'List ledger entries, newest first',
    query: z.strictObject({
      state: z.enum(['open', 'resolved', 'all']).default('open').describe('Which entries to list.'),
      kind: kind.optional().describe('Only entries of this kind.'),
      subject: z.string().min(1).max(1000).optional().describe('Only entries about exactly this subject.'),
      limit: pageSize(500, 100),
      after,
    }),
    output: z.object({ entries: z.array(LedgerEntry), next }).meta({ id: 'LedgerPage' }),
  }),

  listKinds: operation('GET /api/v1/ledger/kinds', {
    id: 'ledger.list-kinds',
    summary: 'List the kinds of entries with their counts and repairs',
    output: z
      .object({
        kinds: z.array(
          z.object({
            kind,
            open: count.describe('Open entries.'),
            resolved: count.describe('Resolved entries.'),
            repair: z
              .string()
              .nullable()
              .describe('What the automatic repair does; null when only a person can resolve it.'),
          }),
        ),
      })
      .meta({ id: 'LedgerKinds' }),
  }),

  get: operation('GET /api/v1/ledger/:id', {
    id: 'ledger.get',
    summary: 'Get a ledger entry',
    output: LedgerEntry,
  }),

  repair: operation('POST /api/v1/ledger/repair', {
    id: 'ledger.repair',
    summary: 'Repair one entry, one kind, or everything that is open',
    description: 'Queues a job and returns at once. Repairs are idempotent.',
    body: z
      .strictObject({
        kind: kind.optional().describe('Repair all open entries of this kind.'),
        id: id.optional().describe('Repair this entry.'),
      })
      .refine((body) => body.kind === undefined || body.id === undefined, 'give kind or id, not both')
      .nullish()
      .meta({
        description: 'Empty: everything that is open.',
        examples: [{ kind: 'retention.purge-failed' }],
      }),
    status: 202,
    output: z
      .object({
        job_id: z.string().nullable().describe('Null when the same repair is already queued or running.'),
      })
      .meta({ id: 'RepairRequested', description: 'The job that runs the repair.' }),
  }),

  resolve: operation('POST /api/v1/ledger/:id/resolve', {
    id: 'ledger.resolve',
    summary: 'Mark an entry as resolved by hand',
    body: z.strictObject({
      resolution: z.string().trim().min(1).max(500).describe('How it was resolved; kept with the entry.'),
    }),
    output: LedgerEntry,
  }),
} as const;

export type LedgerPage = OutputOf<typeof ledgerApi.list>;
export type LedgerKinds = OutputOf<typeof ledgerApi.listKinds>;
