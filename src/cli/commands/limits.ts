// headworks limits: concurrency limits of organizations.
import type { Command } from 'commander';
import type { Limit, LimitCacheCleared, LimitChanged, Limits } from '../../api/limits.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { Output } from '../output.ts';
import { counted, printable } from '../output.ts';
import { UsageError } from '../report-error.ts';
import type { CliSession } from '../session.ts';

const path = '/api/v1/limits';
/** As the server says, too: what Postgres's integer holds. */
const maxLimit = 2_147_483_647;
const pathOf = (organization: string): string => `${path}/${encodeURIComponent(organization)}`;

export function registerLimits(program: Command, host: CommandHost): void {
  const group = program.command('limits').description('concurrency limits of organizations');
  examples(group, ['headworks limits list --with-usage', 'headworks limits set acme-corp 50']);
  registerSet(group, host);
  registerGet(group, host);
  registerList(group, host);
  registerDelete(group, host);
  registerClearCache(group, host);
}

const organizationArgument = ['<organization>', 'its id or its name'] as const;

function registerSet(group: Command, host: CommandHost): void {
  const command = group
    .command('set')
    .argument(...organizationArgument)
    .argument('<limit>', `concurrent requests, from 1 to ${maxLimit}`, wholeNumber(1, maxLimit))
    .description('give an organization a limit of its own; it counts at once');
  examples(command, ['headworks limits set acme-corp 50', 'headworks limits set org_a1b2c3d4e5f6g7h8 50']);
  act(host, command, async (session, _options, [organization = '', limit = '']) => {
    const { out } = session;
    const body = { limit: Number(limit) };
    const changed = await callServer<LimitChanged>(session, 'PUT', pathOf(organization), { body });
    if (out.isJson) {
      out.json(changed);
      return exitCodes.ok;
    }
    out.line(
      `${changed.is_new ? 'Created' : 'Updated'} rate limit for organization ${quotedLabelOf(changed)}: ${changed.limit}`,
    );
    showAfterwards(out, changed);
    return exitCodes.ok;
  });
}

function registerGet(group: Command, host: CommandHost): void {
  const command = group
    .command('get')
    .argument(...organizationArgument)
    .description('show the limit of an organization, and what it uses')
    .option('--clear-cache', 'forget the cached limit first, and read it again from the database');
  examples(command, ['headworks limits get acme-corp', 'headworks limits get acme-corp --clear-cache']);
  act<{ clearCache?: boolean }>(host, command, async (session, { clearCache }, [organization = '']) => {
    const { out } = session;
    const query = { clear_cache: clearCache === true };
    const limit = await callServer<Limit>(session, 'GET', pathOf(organization), { query });
    if (out.isJson) {
      out.json(limit);
      return exitCodes.ok;
    }
    out.note(`Organization: ${labelOf(limit)}`);
    if (clearCache === true) out.note(cacheCleared);
    showOne(out, limit);
    return exitCodes.ok;
  });
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('organizations that have a limit of their own')
    .option('--with-usage', 'count their slots as well');
  examples(command, ['headworks limits list --with-usage', 'headworks limits list --json']);
  act<{ withUsage?: boolean }>(host, command, async (session, { withUsage = false }) => {
    const query = { with_usage: withUsage };
    const answer = await callServer<Limits>(session, 'GET', path, { query });
    if (session.out.isJson) session.out.json(answer);
    else showList(session.out, answer, withUsage);
    return exitCodes.ok;
  });
}

function registerDelete(group: Command, host: CommandHost): void {
  const command = group
    .command('delete')
    .argument(...organizationArgument)
    .description('take back the limit of an organization; the default counts from then on')
    .option('--force', 'do not ask');
  examples(command, ['headworks limits delete acme-corp', 'headworks limits delete acme-corp --force']);
  act<{ force?: boolean }>(host, command, async (session, { force }, [organization = '']) => {
    const { out } = session;
    // The server reports the id only; show the name that was given.
    const own = out.isJson ? null : await ownLimit(session, organization);
    if (force !== true && !(await confirmed(session, own))) {
      out.line('Nothing was deleted.');
      return exitCodes.error;
    }
    const limit = await callServer<Limit>(session, 'DELETE', pathOf(organization));
    if (out.isJson) {
      out.json(limit);
      return exitCodes.ok;
    }
    out.line(`Deleted custom rate limit for organization ${quotedLabelOf(limit)}`);
    out.line(`Will now use system default: ${limit.limit}`);
    showAfterwards(out, limit);
    return exitCodes.ok;
  });
}

async function ownLimit(session: CliSession, organization: string): Promise<Limit> {
  const limit = await callServer<Limit>(session, 'GET', pathOf(organization));
  if (limit.custom_limit !== null) return limit;
  throw new UsageError(
    `the organization ${quotedLabelOf(limit)} has no limit of its own; the default of ${limit.limit} counts.`,
  );
}

async function confirmed(session: CliSession, own: Limit | null): Promise<boolean> {
  const { out } = session;
  if (own) {
    out.note(`Organization: ${labelOf(own)}`);
    out.note(`Current custom limit: ${own.custom_limit}`);
    out.note('\nThis will delete the custom rate limit and revert to the system default.');
  }
  const isSure = await confirm(session, 'Continue?');
  out.note('');
  return isSure;
}

function registerClearCache(group: Command, host: CommandHost): void {
  const command = group
    .command('clear-cache')
    .description('forget cached limits: of organizations that have one of their own, of one, or of all')
    .option('--org-id <organization>', 'of this one: its id or its name')
    .option('--all', 'of all, also of those that use the default');
  examples(command, [
    'headworks limits clear-cache --org-id acme-corp',
    'headworks limits clear-cache',
    'headworks limits clear-cache --all',
  ]);
  act<{ orgId?: string; all?: boolean }>(host, command, async (session, { orgId, all = false }) => {
    const { out } = session;
    if (orgId !== undefined && all) throw new UsageError('give --org-id or --all, not both.');
    const body = orgId === undefined ? { all } : { organization: orgId };
    const address = `${path}/clear-cache`;
    const cleared = await callServer<LimitCacheCleared>(session, 'POST', address, { body });
    if (out.isJson) out.json(cleared);
    else showCleared(out, cleared.deleted, orgId ?? (all ? 'all' : 'custom'));
    return exitCodes.ok;
  });
}

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
        `⚠ Current usage exceeds the new limit: running executions continue, and new ones are rejected until ` +
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
