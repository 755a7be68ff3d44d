// What the dashboard shows at a glance, one answer a page.
import { z } from 'zod';
import type { MinuteCounts, RunSample, TenantActivity } from '../activity.ts';
import { instant } from './fields.ts';
import { limitAnswer } from './limits.ts';

const count = z.number().int();

const minute = z.object({
  at: instant,
  admitted: count,
  refused: count,
  model_calls: count,
  model_failures: count,
  executions_ended: count,
});

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

export const tenantsOverview = z
  .object({
    counted_since: instant.describe('When this server began to count.'),
    default_limit: count,
    global_limit: count,
    global_used: count.nullable().describe('Null when nobody could be asked.'),
    organizations: z.array(tenantRow).describe('The most refused first, then by name; at most 200.'),
    organization_count: count,
    minutes,
  })
  .meta({
    id: 'TenantsOverview',
    description: 'Organizations, what they use of what they may, and refusals.',
  });

const gate = {
  degraded: count.describe('Open ledger rows of it.'),
};

export const flowAnswer = z
  .object({
    counted_since: instant,
    minutes,
    extraction: z.object({
      ...gate,
      sources: count,
      running: z.array(
        z.object({
          run_id: z.string(),
          source: z.string(),
          items: count,
          total: count.nullable(),
          items_per_second: z.number().nullable(),
          multiplier: z.number().describe('By what its rate limits are divided now.'),
          refusals: count,
        }),
      ),
      last_finished: z
        .object({
          run_id: z.string(),
          source: z.string(),
          state: z.string(),
          finished_at: instant.nullable(),
        })
        .nullable(),
    }),
    knowledge: z.object({
      ...gate,
      jobs_waiting: count.describe('Documents that wait to be read.'),
      jobs_running: count,
    }),
    gateway: z.object({
      ...gate,
      available: count.describe('Models that may be asked now.'),
      cooling: z.array(
        z.object({
          id: count,
          name: z.string(),
          available_at: instant.nullable(),
          cause: z.string().nullable(),
        }),
      ),
      without_key: count,
    }),
    admission: z.object({
      ...gate,
      global_used: count.nullable(),
      global_limit: count,
      organizations: count,
    }),
    executions: z.object({ ...gate, queued: count, executing: count }),
    other_degraded: count.describe('Open ledger rows of none of these.'),
    alerts: count,
    dependencies: z.array(z.object({ name: z.string(), state: z.enum(['up', 'down', 'not-configured']) })),
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

export const viewOfMinute = (each: MinuteCounts): z.infer<typeof minute> => ({
  at: new Date(each.at).toISOString(),
  admitted: each.admitted,
  refused: each.refused,
  model_calls: each.modelCalls,
  model_failures: each.modelFailures,
  executions_ended: each.executionsEnded,
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
