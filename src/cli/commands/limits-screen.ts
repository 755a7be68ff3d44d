// How limits look to people.
import type { Limit, Limits } from '../../api/limits.ts';
import { counted } from '../counted.ts';
import type { Output } from '../output.ts';
import { printable } from '../table.ts';

/** From here on usage has a warning sign. */
const warnPercent = 90;

const why = 'Redis is away, or another server counts';
const unknown = `not known: ${why}`;

export const cacheCleared = '✓ Cache cleared, and the limit read again from the database';

/** `acme-corp (org_a1b2c3d4e5f6g7h8)` */
export const labelOf = ({ organization_name, organization_id }: Limit): string =>
  `${printable(organization_name)} (${organization_id})`;

/** `"acme-corp" (org_a1b2c3d4e5f6g7h8)`, within a sentence */
export const quotedLabelOf = ({ organization_name, organization_id }: Limit): string =>
  `"${printable(organization_name)}" (${organization_id})`;

const percentText = (percent: number): string => `${percent.toFixed(1)}%`;

/** After a change: what is in use, whether that is too much, and that everybody knows. */
export function showAfterwards(out: Output, { usage, limit, is_cache_known }: Limit): void {
  if (!usage) out.line(`Current usage: ${unknown}`);
  else
    out.line(
      `Current usage: ${usage.organization}/${limit} concurrent requests${fromDatabase(usage.counted_by)}`,
    );
  if (usage && usage.organization > limit)
    out.line(
      out.style(
        'yellow',
        `⚠ Current usage exceeds the new limit: nobody is stopped, and nobody is admitted until ` +
          `${counted(usage.organization - limit + 1, 'request')} have ended`,
      ),
    );
  if (is_cache_known) out.line('✓ Cache automatically cleared');
  else out.line(out.style('yellow', `⚠ Servers use the new limit soon; their cache was not reached: ${why}`));
}

export function showOne(out: Output, answer: Limit): void {
  const { custom_limit, limit, modified_at, usage } = answer;
  out.line(`Database Limit: ${custom_limit ?? `not set, using default ${limit}`}`);
  if (modified_at !== null) out.line(`Last Modified: ${modified_at.slice(0, 19).replace('T', ' ')}`);
  out.line(`Cached Limit: ${cachedText(answer)}`);
  out.line();
  out.line('--- Current Usage ---');
  if (!usage) return out.line(unknown);
  const source = fromDatabase(usage.counted_by);
  out.line(`Organization: ${usage.organization}/${usage.organization_limit} concurrent requests${source}`);
  out.line(`Global System: ${usage.global}/${usage.global_limit} concurrent requests${source}`);
  out.line(capacity(out, 'Organization', usage.organization_percent));
  out.line(capacity(out, 'Global System', usage.global_percent));
}

function cachedText({ cached_limit, is_cache_known }: Limit): string {
  if (!is_cache_known) return unknown;
  return cached_limit === null ? 'not cached' : `${cached_limit} ✓`;
}

/** Requests that are still being read are not among those. */
const fromDatabase = (countedBy: 'slots' | 'executions'): string =>
  countedBy === 'executions' ? ' (executions in the database)' : '';

/** `whose`: all, custom, or the organization that was named. */
export function showCleared(out: Output, deleted: number, whose: string): void {
  const keys = counted(deleted, 'cache key');
  if (whose === 'all') {
    out.line('Clearing cache for ALL organizations (including those using defaults)...');
    out.line(`Deleted ${keys} using pattern`);
    out.line('✓ Cleared all organization rate limit caches using pattern deletion');
  } else {
    const of = whose === 'custom' ? 'organizations with custom limits' : `organization ${printable(whose)}`;
    out.line(`Clearing cache for ${of}...`);
    out.line(`Deleted ${keys}`);
    out.line(`✓ Cleared rate limit cache for ${of}`);
  }
  out.line('Note: Cache will be repopulated on next API request for each org');
}

function capacity(out: Output, what: string, percent: number): string {
  const text = `${what} at ${percentText(percent)} capacity`;
  return percent >= warnPercent ? out.style('yellow', `⚠ ${text}`) : text;
}

export function showList(out: Output, { limits, default_limit }: Limits, withUsage: boolean): void {
  if (limits.length === 0) {
    out.line(`No custom rate limits: every organization uses the default of ${default_limit}.`);
    return;
  }
  out.line(`Found ${counted(limits.length, 'custom rate limit')}:`);
  for (const each of limits) {
    const { limit, usage } = each;
    out.line();
    out.line(`• ${labelOf(each)}`);
    out.line(`  Limit: ${limit}`);
    if (withUsage) out.line(usageLine(out, usage));
  }
}

function usageLine(out: Output, usage: Limit['usage']): string {
  if (!usage) return `  Usage: ${unknown}`;
  const { organization, organization_limit, organization_percent, counted_by } = usage;
  const percent = percentText(organization_percent);
  const text = `Usage: ${organization}/${organization_limit} (${percent})${fromDatabase(counted_by)}`;
  return organization_percent >= warnPercent ? out.style('yellow', `  ⚠ ${text}`) : `  ${text}`;
}
