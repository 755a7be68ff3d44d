// What the dashboard shows at a glance, one answer a page.
import { z } from 'zod';
import type { ActivityCounts, MinuteCounts, RunSample, TenantActivity } from '../../operations/index.ts';
import { instant } from './fields.ts';
import { limitAnswer } from './limits.ts';

const count = z.number().int();

const counts = {
  admitted: count,
  refused: count,
  model_calls: count,
  model_failures: count,
  executions_ended: count,
  documents_read: count,
};

const minute = z.object({ at: instant, ...counts });

const minutes = z
  .array(minute)
  .describe('The last hour by the minute, oldest first, as this server counted it.');

const tenantRow = z.object({
  limit: limitAnswer,
  admitted: count.describe('In the last hour, on this server.'),
  refused: count.describe('In the last hour, on this server.'),
  ended: count,
  average_hold_ms: z
    .number()
    .nullable()
    .describe('How long a slot was held, on average; null: none was given back.'),
  longest_hold_ms: z.number().nullable(),
});

export const tenantsQuery = z.strictObject({
  name: z.string().min(1).max(200).optional().describe('Part of a name, whatever its case.'),
});

export const tenantsOverview = z
  .object({
    counted_since: instant.describe('When this server began to count.'),
    default_limit: count,
    global_limit: count,
    global_used: count.nullable().describe('Null when nobody could be asked.'),
    waiting: count.describe('Requests that wait for a slot in this server.'),
    organizations: z.array(tenantRow).describe('The most refused first, then by name; at most 200.'),
    organization_count: count.describe('All there are, whatever is shown.'),
    minutes,
  })
  .meta({
    id: 'TenantsOverview',
    description: 'Organizations, what they use of what they may, and refusals.',
  });

export const flowAnswer = z
  .object({
    counted_since: instant.describe('When this server began to count.'),
    last_minute: z.object(counts).describe('The last 60 seconds, as this server counted them.'),
    minutes,
    extraction: z.object({
      sources: count,
      calls_per_minute_limit: count.describe('Of all registered sources together.'),
      running: z.array(
        z.object({
          run_id: z.string(),
          source: z.string(),
          state: z.string(),
          items: count,
          total: count.nullable(),
          items_per_second: z.number().nullable(),
          calls_last_minute: count.nullable().describe('Null when this server does not see the run.'),
          calls_per_minute_limit: count
            .nullable()
            .describe('Of a registered source; null for what a command extracts from.'),
          multiplier: z.number().describe('By what its rate limits are divided now.'),
          refusals: count,
        }),
      ),
      last_finished: z
        .object({
          run_id: z.string(),
          source: z.string(),
          state: z.string(),
          items: count,
          finished_at: instant.nullable(),
        })
        .nullable(),
    }),
    knowledge: z.object({
      jobs_waiting: count.describe('Documents that wait to be read.'),
      jobs_running: count,
    }),
    gateway: z.object({
      unanswered: count.describe('Requests in this server that have no answer yet.'),
      waiting: count.describe('Of those: how many wait for a model to be free, or to recover.'),
      requests_per_minute_limit: count
        .nullable()
        .describe('What the quotas of all models allow together; null when a model has none.'),
      available: count.describe('Models that may be asked now.'),
      cooling: z
        .array(
          z.object({
            id: count,
            name: z.string(),
            available_at: instant.nullable(),
            cause: z.string().nullable(),
          }),
        )
        .describe('Models that are left alone now, the soonest back first.'),
      without_key: count,
    }),
    admission: z.object({
      global_used: count.nullable().describe('Null when nobody could be asked.'),
      global_limit: count,
      organizations: count,
      waiting: count.describe('Requests that wait for a slot in this server.'),
    }),
    executions: z.object({ queued: count, executing: count }),
    degraded: z
      .array(z.object({ kind: z.string(), open: count }))
      .describe('Kinds of ledger rows that are open, the most first; at most 20.'),
    degraded_count: count.describe('Open ledger rows of all kinds.'),
    dependencies: z.array(
      z.object({
        name: z.string(),
        state: z.enum(['up', 'down', 'not-configured']),
        detail: z.string().nullable(),
      }),
    ),
  })
  .meta({
    id: 'Flow',
    description: 'The way of the data now: every gate with its rate, limit, queue and what is degraded.',
  });

export const runSamples = z
  .object({
    samples: z
      .array(
        z.object({
          at: instant,
          items: count,
          calls: count,
          refusals: count,
          multiplier: z.number(),
        }),
      )
      .describe('Oldest first; empty when this server did not see the run.'),
  })
  .meta({ id: 'RunSamples', description: 'How a run went, as far as this server saw it.' });

export const viewOfCounts = (each: ActivityCounts): Omit<z.infer<typeof minute>, 'at'> => ({
  admitted: each.admitted,
  refused: each.refused,
  model_calls: each.modelCalls,
  model_failures: each.modelFailures,
  executions_ended: each.executionsEnded,
  documents_read: each.documentsRead,
});

export const viewOfMinute = (each: MinuteCounts): z.infer<typeof minute> => ({
  at: new Date(each.at).toISOString(),
  ...viewOfCounts(each),
});

export const viewOfTenantRow = (
  limit: z.infer<typeof limitAnswer>,
  activity: TenantActivity | undefined,
): z.infer<typeof tenantRow> => ({
  limit,
  admitted: activity?.admitted ?? 0,
  refused: activity?.refused ?? 0,
  ended: activity?.ended ?? 0,
  average_hold_ms: activity?.averageHoldMs ?? null,
  longest_hold_ms: activity?.longestHoldMs ?? null,
});

export const viewOfSample = (sample: RunSample): z.infer<typeof runSamples>['samples'][number] => ({
  ...sample,
  at: new Date(sample.at).toISOString(),
});
