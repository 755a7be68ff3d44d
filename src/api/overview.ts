// What the dashboard shows at a glance, one response per page; and its login.
import { z } from 'zod';
import { count, instant } from './fields.ts';
import { defaultLimit, globalLimit, Limit } from './limits.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const counts = {
  admitted: count.describe('Requests to deployments that got a slot.'),
  rejected: count.describe('Requests to deployments rejected with 429.'),
  model_calls: count.describe('Calls to models, all attempts included.'),
  model_failures: count.describe('Calls to models that failed.'),
  executions_ended: count.describe('Executions that completed, failed or were canceled.'),
  documents_read: count.describe('Documents whose processing completed.'),
};

const minutes = z
  .array(z.object({ at: instant, ...counts }))
  .describe('The last hour by minute, oldest first, as counted by this server.');

const globalUsed = count
  .nullable()
  .describe('Slots in use by all organizations; null when no store can count them.');

const countedSince = instant.describe('When this server started counting.');

export const overviewApi = {
  getOrganizations: operation('GET /api/v1/overview/organizations', {
    id: 'overview.get-organizations',
    summary: 'Get organizations with usage, limits and rejections',
    query: z.strictObject({
      name: z.string().min(1).max(200).optional().describe('Part of a name, ignoring case.'),
    }),
    output: z
      .object({
        counted_since: countedSince,
        default_limit: defaultLimit,
        global_limit: globalLimit,
        global_used: globalUsed,
        queued: count.describe('Requests that wait for a slot in this server.'),
        organizations: z
          .array(
            z.object({
              limit: Limit,
              admitted: count.describe('Requests admitted in the last hour, on this server.'),
              rejected: count.describe('Requests rejected in the last hour, on this server.'),
              ended: count.describe('Executions that ended in the last hour, on this server.'),
              average_hold_ms: z
                .number()
                .nullable()
                .describe('Average time a slot was held; null: none was released.'),
              longest_hold_ms: z.number().nullable().describe('Longest time a slot was held.'),
            }),
          )
          .describe('Most rejections first, then by name; at most 200.'),
        organization_count: count.describe('All organizations, shown or not.'),
        minutes,
      })
      .meta({ id: 'OrganizationsOverview' }),
  }),

  getFlow: operation('GET /api/v1/overview/flow', {
    id: 'overview.get-flow',
    summary: 'Get rates, limits, queues and degradations of every stage now',
    output: z
      .object({
        counted_since: countedSince,
        last_minute: z.object(counts).describe('The last 60 seconds, as counted by this server.'),
        minutes,
        extraction: z.object({
          sources: count.describe('Number of registered sources.'),
          calls_per_minute_limit: count.describe('Sum of the limits of all registered sources.'),
          running: z.array(
            z.object({
              id: z.string(),
              source: z.string(),
              state: z.string(),
              items: count.describe('Items extracted so far.'),
              total: count.nullable().describe('Items at the source; null when it does not report them.'),
              items_per_second: z.number().nullable().describe('Average of the run; null: no items yet.'),
              calls_last_minute: count
                .nullable()
                .describe('Requests of the last minute; null when another server executes the run.'),
              calls_per_minute_limit: count
                .nullable()
                .describe('Limit of the registered source; null for a run of a command.'),
              multiplier: z.number().describe('The rate limits are divided by it; 1: full rate.'),
              rate_limited_calls: count.describe('Requests that got status 429.'),
            }),
          ),
          last_finished: z
            .object({
              id: z.string(),
              source: z.string(),
              state: z.string(),
              items: count,
              finished_at: instant.nullable(),
            })
            .nullable()
            .describe('The run that ended last; null without any.'),
        }),
        knowledge: z.object({
          jobs_queued: count.describe('Documents that wait to be processed.'),
          jobs_running: count.describe('Documents that are being processed.'),
        }),
        gateway: z.object({
          in_flight: count.describe('Requests in flight in this server.'),
          queued: count.describe('Requests in flight that wait for a model to become available.'),
          requests_per_minute_limit: count
            .nullable()
            .describe('Sum of the quotas of all models; null when one has none.'),
          available: count.describe('Models that can be called now and work.'),
          failing: z
            .array(
              z.object({
                id: count,
                name: z.string(),
                last_failure: z.string().nullable().describe('Outcome of the last call; null: it succeeded.'),
                success_rate: z
                  .number()
                  .nullable()
                  .describe('Successful part of the last 15 minutes, 0 to 1; null without requests.'),
                request_count: count.describe('Requests of the last 15 minutes.'),
              }),
            )
            .describe('Models whose last calls failed.'),
          cooling_down: z
            .array(
              z.object({
                id: count,
                name: z.string(),
                available_at: instant.nullable().describe('End of the cooldown.'),
                cause: z.string().nullable().describe('A failure class, `quota` or `manual`.'),
              }),
            )
            .describe('Models that are cooling down, the first to become available first.'),
          without_key: count.describe('Models without a key.'),
        }),
        admission: z.object({
          global_used: globalUsed,
          global_limit: globalLimit,
          organizations: count.describe('Number of organizations.'),
          queued: count.describe('Requests that wait for a slot in this server.'),
        }),
        executions: z.object({ queued: count, running: count }),
        degraded: z
          .array(z.object({ kind: z.string(), open: count }))
          .describe('Kinds with open ledger entries, highest count first; at most 20.'),
        degraded_count: count.describe('Open ledger entries of all kinds.'),
        dependencies: z.array(
          z.object({
            name: z.string(),
            state: z.enum(['up', 'down', 'not-configured']),
            detail: z.string().nullable().describe('What was found.'),
          }),
        ),
      })
      .meta({ id: 'Flow' }),
  }),
} as const;

const Session = z
  .object({ expires_at: instant.nullable().describe('End of the session; null: there is none.') })
  .meta({ id: 'DashboardSession', description: 'The session of this browser.' });

export const dashboardApi = {
  createLoginLink: operation('POST /api/v1/dashboard/login-links', {
    id: 'dashboard.create-login-link',
    summary: 'Create a link that logs one browser in, once, within ten minutes',
    status: 201,
    output: z
      .object({
        path: z.string().describe('Open it at the address by which the browser reaches this server.'),
        expires_at: instant,
      })
      .meta({ id: 'LoginLink' }),
  }),

  logIn: operation('POST /api/v1/dashboard/session', {
    id: 'dashboard.log-in',
    summary: 'Log a browser in with the token of a login link or the admin token',
    description:
      'The session is a cookie that scripts cannot read and other sites do not send; it lasts 12 hours.',
    access: 'public',
    body: z
      .strictObject({
        token: z
          .string('must be text')
          .min(1, 'must not be empty')
          .max(512, 'is longer than any token')
          .describe('Token of a login link, or the admin token.'),
      })
      .meta({ id: 'LoginRequest' }),
    output: Session,
  }),

  logOut: operation('DELETE /api/v1/dashboard/session', {
    id: 'dashboard.log-out',
    summary: 'End the session of this browser',
    access: 'public',
    output: Session,
  }),
} as const;

export type OrganizationsOverview = OutputOf<typeof overviewApi.getOrganizations>;
export type Flow = OutputOf<typeof overviewApi.getFlow>;
