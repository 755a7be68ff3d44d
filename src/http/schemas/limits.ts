// Concurrency limits and alerts over HTTP.
import { z } from 'zod';
import type { Alert, LimitView } from '../../tenancy/index.ts';
import { maxLimit } from '../../tenancy/index.ts';
import type { KnowledgeAlert } from '../../knowledge/index.ts';
import { instant, isoOrNull } from './fields.ts';
import { organizationId, organizationReference } from './organizations.ts';

const whole = z.number().int();

export const limitUsage = z
  .object({
    organization: whole.describe('Requests of the organization under way.'),
    organization_limit: whole,
    organization_percent: z.number(),
    global: whole.describe('Requests of all organizations under way.'),
    global_limit: whole,
    global_percent: z.number(),
    counted_by: z
      .enum(['slots', 'executions'])
      .describe('executions: Redis is away, so that executions under way were counted in the database.'),
  })
  .meta({ id: 'LimitUsage', description: 'How much of what is allowed is in use.' });

export const limitAnswer = z
  .object({
    organization_id: organizationId,
    organization_name: z.string(),
    custom_limit: whole.nullable().describe('Its own limit; null when the default counts.'),
    limit: whole.describe('What counts.'),
    created_at: instant.nullable(),
    modified_at: instant.nullable(),
    cached_limit: whole
      .nullable()
      .describe('What servers remember; null when that is nothing, or not known.'),
    is_cache_known: z.boolean().describe('False when Redis is away: nobody knows what is cached.'),
    usage: limitUsage.nullable().describe('Null when it was not asked for, or nobody could be asked.'),
  })
  .meta({ id: 'Limit', description: 'How many requests an organization may have under way at once.' });

export const limitChanged = limitAnswer
  .extend({ is_new: z.boolean().describe('Had it no limit of its own before?') })
  .meta({ id: 'LimitChanged', description: 'The organization as it is now.' });

export const limitsAnswer = z
  .object({ default_limit: whole, global_limit: whole, limits: z.array(limitAnswer) })
  .meta({ id: 'Limits', description: 'Organizations that have a limit of their own.' });

const rule = `must be a whole number from 1 to ${maxLimit}`;

export const limitBody = z
  .strictObject({ limit: z.number(rule).int(rule).min(1, rule).max(maxLimit, rule) })
  .meta({ id: 'LimitRequest', examples: [{ limit: 50 }] });

const yesOrNo = z
  .enum(['true', 'false'], 'must be true or false')
  .default('false')
  .transform((text) => text === 'true');

export const limitQuery = z.strictObject({
  clear_cache: yesOrNo.describe(
    'Forget the cached limit first, and cache what the table says (`true` or `false`).',
  ),
});

export const limitsQuery = z.strictObject({
  with_usage: yesOrNo.describe('Count slots as well (`true` or `false`).'),
});

export const clearCacheBody = z
  .strictObject({
    organization: organizationReference.optional(),
    all: z
      .boolean()
      .optional()
      .describe('Of every organization, not only of those with a limit of their own.'),
  })
  .refine(
    (body) => body.organization === undefined || body.all !== true,
    'give organization or all, not both',
  )
  .nullish()
  .meta({
    description: 'Nothing means: of organizations with a limit of their own.',
    examples: [{ all: true }],
  });

export const clearCacheAnswer = z
  .object({ deleted: whole.describe('How many cached limits were forgotten.') })
  .meta({ id: 'LimitCacheCleared', description: 'They are read again with the next request.' });

export const alertsAnswer = z
  .object({
    alerts: z.array(
      z.object({
        name: z.string().describe('As in monitoring/headworks-alerts.yml.'),
        organization_id: organizationId.nullable(),
        severity: z.enum(['info', 'warning', 'critical']),
        state: z
          .enum(['pending', 'firing'])
          .describe('pending until it has lasted as long as the rule says.'),
        message: z.string(),
        since: instant,
      }),
    ),
  })
  .meta({
    id: 'Alerts',
    description: 'What needs attention, as this server sees it; empty when nothing does.',
  });

export function viewOfLimit(view: LimitView, name: string): z.infer<typeof limitAnswer> {
  return {
    organization_id: view.organizationId,
    organization_name: name,
    custom_limit: view.customLimit,
    limit: view.limit,
    created_at: isoOrNull(view.createdAt),
    modified_at: isoOrNull(view.modifiedAt),
    cached_limit: view.cachedLimit,
    is_cache_known: view.isCacheKnown,
    usage: view.usage && viewOfUsage(view.usage),
  };
}

function viewOfUsage(usage: NonNullable<LimitView['usage']>): z.infer<typeof limitUsage> {
  return {
    organization: usage.organization,
    organization_limit: usage.organizationLimit,
    organization_percent: percent(usage.organization, usage.organizationLimit),
    global: usage.global,
    global_limit: usage.globalLimit,
    global_percent: percent(usage.global, usage.globalLimit),
    counted_by: usage.countedBy,
  };
}

/** With one decimal. */
const percent = (used: number, limit: number): number => Math.round((used / limit) * 1_000) / 10;

export function viewOfAlert(alert: Alert | KnowledgeAlert): z.infer<typeof alertsAnswer>['alerts'][number] {
  return {
    name: alert.name,
    organization_id: alert.organizationId,
    severity: alert.severity,
    state: alert.state,
    message: alert.message,
    since: alert.since.toISOString(),
  };
}
