// Concurrency limits of organizations, and alerts.
import { z } from 'zod';
import { maxLimit } from '../tenancy/vocabulary.ts';
import { count, instant, queryFlag } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';
import { organizationId, organizationParams, organizationReference } from './organizations.ts';

export const defaultLimit = count.describe('Limit of organizations without a custom limit.');
export const globalLimit = count.describe('Limit of all organizations together.');

const LimitUsage = z
  .object({
    organization: count.describe('Requests of the organization in flight.'),
    organization_limit: count.describe('Limit of the organization.'),
    organization_percent: z.number().describe('Used part of the limit, in percent.'),
    global: count.describe('Requests of all organizations in flight.'),
    global_limit: globalLimit,
    global_percent: z.number().describe('Used part of the global limit, in percent.'),
    counted_by: z
      .enum(['slots', 'executions'])
      .describe('`executions`: Redis is unavailable, so running executions were counted in the database.'),
  })
  .meta({ id: 'LimitUsage' });

export const Limit = z
  .object({
    organization_id: organizationId,
    organization_name: z.string(),
    custom_limit: count.nullable().describe('Its own limit; null: the default applies.'),
    limit: count.describe('The limit in effect.'),
    created_at: instant.nullable().describe('When the custom limit was created; null without one.'),
    modified_at: instant.nullable().describe('When the custom limit was last changed; null without one.'),
    cached_limit: count.nullable().describe('Limit cached by servers; null: none, or unknown.'),
    is_cache_known: z.boolean().describe('False when Redis is unavailable.'),
    usage: LimitUsage.nullable().describe(
      'Slots in use; null when not requested, or when no store can count them.',
    ),
  })
  .meta({ id: 'Limit', description: 'How many requests an organization may have in flight.' });
export type Limit = z.infer<typeof Limit>;

const range = `must be a whole number from 1 to ${maxLimit}`;

export const limitsApi = {
  list: operation('GET /api/v1/limits', {
    id: 'limits.list',
    summary: 'List organizations that have a custom limit',
    query: z.strictObject({ with_usage: queryFlag(false).describe('Count slots in use as well.') }),
    output: z
      .object({ default_limit: defaultLimit, global_limit: globalLimit, limits: z.array(Limit) })
      .meta({ id: 'Limits' }),
  }),

  get: operation('GET /api/v1/limits/:organization', {
    id: 'limits.get',
    summary: 'Get the limit of an organization and its usage',
    params: organizationParams,
    output: Limit,
  }),

  refreshCache: operation('POST /api/v1/limits/:organization/refresh-cache', {
    id: 'limits.refresh-cache',
    summary: 'Replace the cached limit of an organization with the one in the database, and get it',
    params: organizationParams,
    output: Limit,
  }),

  set: operation('PUT /api/v1/limits/:organization', {
    id: 'limits.set',
    summary: 'Set a custom limit; it takes effect at once on every server',
    params: organizationParams,
    body: z
      .strictObject({
        limit: z
          .number(range)
          .int(range)
          .min(1, range)
          .max(maxLimit, range)
          .describe(`Requests that the organization may have in flight, 1 to ${maxLimit}.`),
      })
      .meta({ id: 'LimitRequest', examples: [{ limit: 50 }] }),
    output: Limit.extend({
      is_new: z.boolean().describe('True: the organization had no custom limit before.'),
    }).meta({
      id: 'LimitChanged',
    }),
  }),

  delete: operation('DELETE /api/v1/limits/:organization', {
    id: 'limits.delete',
    summary: 'Delete the custom limit of an organization; the default applies again',
    params: organizationParams,
    output: Limit,
  }),

  clearCache: operation('POST /api/v1/limits/clear-cache', {
    id: 'limits.clear-cache',
    summary: 'Clear cached limits; they are read again with the next request',
    body: z
      .strictObject({
        organization: organizationReference.optional().describe('Only this organization: id or name.'),
        all: z.boolean().optional().describe('Include organizations without a custom limit.'),
      })
      .refine(
        (body) => body.organization === undefined || body.all !== true,
        'give organization or all, not both',
      )
      .nullish()
      .meta({ description: 'Empty: organizations with a custom limit.', examples: [{ all: true }] }),
    output: z.object({ deleted: count.describe('Cache entries deleted.') }).meta({ id: 'LimitCacheCleared' }),
  }),
} as const;

export const alertsApi = {
  list: operation('GET /api/v1/alerts', {
    id: 'alerts.list',
    tag: 'operations',
    summary: 'List pending and firing alerts of this server',
    description:
      'Every server evaluates the rules of monitoring/headworks-alerts.yml, which Prometheus can load too, on its own metrics.',
    output: z
      .object({
        alerts: z.array(
          z.object({
            name: z.string().describe('As in monitoring/headworks-alerts.yml.'),
            organization_id: organizationId
              .nullable()
              .describe('The organization that the alert is about; null for others.'),
            labels: z
              .record(z.string(), z.string())
              .describe('What it is about, for example `model`; empty: the whole server.'),
            severity: z
              .enum(['info', 'warning', 'critical'])
              .describe('`critical` makes the server degraded.'),
            state: z
              .enum(['pending', 'firing'])
              .describe('`pending` until the condition has lasted as long as the rule demands.'),
            message: z.string().describe('What is wrong, and what to do.'),
            since: instant.describe('When the condition became true.'),
          }),
        ),
      })
      .meta({ id: 'Alerts' }),
  }),
} as const;

export type Alerts = OutputOf<typeof alertsApi.list>;
