// headworks limits: concurrency limits of organizations. The output is that of the founding document.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import type { Limit } from '../../api/limits.ts';
import { limitsApi } from '../../api/limits.ts';
import type { CliCommand } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { commandFor } from '../derive.ts';
import type { Output } from '../output.ts';
import { counted, printable } from '../output.ts';

const organizationArgument = { organization: ['organization', 'name or id of the organization'] } as const;

export function register(group: CliCommand): void {
  commandFor(group, limitsApi.set, {
    name: 'set',
    arguments: { ...organizationArgument, limit: ['limit', 'concurrent requests, from 1 to 2147483647'] },
    examples: ['headworks limits set acme-corp 50', 'headworks limits set org_a1b2c3d4e5f6g7h8 50'],
    print: ({ out }, changed) => {
      const verb = changed.is_new ? 'Created' : 'Updated';
      out.line(`${verb} rate limit for organization ${quotedLabelOf(changed)}: ${changed.limit}`);
      printEffect(out, changed);
    },
  });

  commandFor(group, limitsApi.get, {
    name: 'get',
    arguments: organizationArgument,
    options: [
      new Option('--clear-cache', 'replace the cached limit with the one in the database first').default(
        false,
      ),
    ],
    examples: ['headworks limits get acme-corp', 'headworks limits get acme-corp --clear-cache'],
    resolve: async (_input, { own }) =>
      own['clearCache'] === true ? { instead: limitsApi.refreshCache } : {},
    print: ({ out }, limit, { own }) => {
      out.note(`Organization: ${labelOf(limit)}`);
      if (own['clearCache'] === true) out.note('✓ Cache cleared, and the limit read again from the database');
      printLimit(out, limit);
    },
  });

  commandFor(group, limitsApi.list, {
    name: 'list',
    isDefault: true,
    examples: ['headworks limits list --with-usage', 'headworks limits list --json'],
    print: ({ out }, { limits, default_limit }, { own }) => {
      if (limits.length === 0)
        return out.line(`No custom rate limits: every organization uses the default of ${default_limit}.`);
      out.line(`Found ${counted(limits.length, 'custom rate limit')}:`);
      for (const each of limits) {
        out.line();
        out.line(`• ${labelOf(each)}`);
        out.line(`  Limit: ${each.limit}`);
        if (own['withUsage'] === true) out.line(usageLine(out, each.usage));
      }
    },
  });

  commandFor(group, limitsApi.delete, {
    name: 'delete',
    arguments: organizationArgument,
    examples: ['headworks limits delete acme-corp', 'headworks limits delete acme-corp --force'],
    resolve: async ({ params }, { client, session }) => {
      if (session.out.isJson) return {};
      const organization = String(params['organization']);
      const subject = await callApi(client, 'GET /api/v1/limits/:organization', { params: { organization } });
      if (subject.custom_limit !== null) return { subject };
      throw new UsageError(
        `The organization ${quotedLabelOf(subject)} has no custom limit; the default of ${subject.limit} applies.`,
      );
    },
    confirm: (_input, limit: Limit) =>
      `Organization: ${labelOf(limit)}\nCurrent custom limit: ${limit.custom_limit}\n\n` +
      'This will delete the custom rate limit and revert to the system default.\nContinue?',
    print: ({ out }, limit, { own }) => {
      if (own['force'] !== true) out.note('');
      out.line(`Deleted custom rate limit for organization ${quotedLabelOf(limit)}`);
      out.line(`Will now use system default: ${limit.limit}`);
      printEffect(out, limit);
    },
  });

  commandFor(group, limitsApi.clearCache, {
    name: 'clear-cache',
    flags: {
      organization: { description: 'only of this organization: id or name' },
      all: { conflicts: ['organization'] },
    },
    examples: [
      'headworks limits clear-cache --organization acme-corp',
      'headworks limits clear-cache',
      'headworks limits clear-cache --all',
    ],
    print: ({ out }, { deleted }, { body: { organization, all } }) => {
      const keys = counted(deleted, 'cache key');
      if (all === true) {
        out.line('Clearing cache for ALL organizations (including those using defaults)...');
        out.line(`Deleted ${keys} using pattern`);
        out.line('✓ Cleared all organization rate limit caches using pattern deletion');
      } else {
        const whose =
          organization === undefined
            ? 'organizations with custom limits'
            : `organization ${printable(organization)}`;
        out.line(`Clearing cache for ${whose}...`);
        out.line(`Deleted ${keys}`);
        out.line(`✓ Cleared rate limit cache for ${whose}`);
      }
      out.line('Note: Cache will be repopulated on next API request for each org');
    },
  });
}

/** Usage from this percentage on has a warning sign. */
const warnPercent = 90;

const why = 'Redis is unavailable, or another server counts';
const unknown = `unknown: ${why}`;

/** `acme-corp (org_a1b2c3d4e5f6g7h8)` */
const labelOf = ({ organization_name, organization_id }: Limit): string =>
  `${printable(organization_name)} (${organization_id})`;

/** `"acme-corp" (org_a1b2c3d4e5f6g7h8)`, within a sentence */
const quotedLabelOf = ({ organization_name, organization_id }: Limit): string =>
  `"${printable(organization_name)}" (${organization_id})`;

/** After a change: the usage, whether it exceeds the limit, and whether all servers use the new limit. */
function printEffect(out: Output, { usage, limit, is_cache_known }: Limit): void {
  if (!usage) out.line(`Current usage: ${unknown}`);
  else out.line(`Current usage: ${usage.organization}/${limit} concurrent requests${fromDatabase(usage)}`);
  if (usage && usage.organization > limit)
    out.line(
      out.style(
        'yellow',
        '⚠ Current usage exceeds the new limit: running executions continue, and new ones are rejected until ' +
          `${counted(usage.organization - limit + 1, 'request')} have ended`,
      ),
    );
  if (is_cache_known) out.line('✓ Cache automatically cleared');
  else out.line(out.style('yellow', `⚠ Servers use the new limit soon; their cache was not reached: ${why}`));
}

function printLimit(out: Output, limit: Limit): void {
  const { custom_limit, modified_at, usage } = limit;
  out.line(`Database Limit: ${custom_limit ?? `not set, using default ${limit.limit}`}`);
  if (modified_at !== null) out.line(`Last Modified: ${modified_at.slice(0, 19).replace('T', ' ')}`);
  out.line(`Cached Limit: ${cachedText(limit)}`);
  out.line();
  out.line('--- Current Usage ---');
  if (!usage) return out.line(unknown);
  const source = fromDatabase(usage);
  out.line(`Organization: ${usage.organization}/${usage.organization_limit} concurrent requests${source}`);
  out.line(`Global System: ${usage.global}/${usage.global_limit} concurrent requests${source}`);
  out.line(capacity(out, 'Organization', usage.organization_percent));
  out.line(capacity(out, 'Global System', usage.global_percent));
}

function cachedText({ cached_limit, is_cache_known }: Limit): string {
  if (!is_cache_known) return unknown;
  return cached_limit === null ? 'not cached' : `${cached_limit} ✓`;
}

/** Requests that are still being received are not among executions. */
const fromDatabase = ({ counted_by }: NonNullable<Limit['usage']>): string =>
  counted_by === 'executions' ? ' (executions in the database)' : '';

function capacity(out: Output, what: string, percent: number): string {
  const text = `${what} at ${percent.toFixed(1)}% capacity`;
  return percent >= warnPercent ? out.style('yellow', `⚠ ${text}`) : text;
}

function usageLine(out: Output, usage: Limit['usage']): string {
  if (!usage) return `  Usage: ${unknown}`;
  const { organization, organization_limit, organization_percent: percent } = usage;
  const text = `Usage: ${organization}/${organization_limit} (${percent.toFixed(1)}%)${fromDatabase(usage)}`;
  return percent >= warnPercent ? out.style('yellow', `  ⚠ ${text}`) : `  ${text}`;
}
