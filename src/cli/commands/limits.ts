// headworks limits: how many requests organizations may have under way at once.
import type { Limit, LimitCacheCleared, LimitChanged, Limits } from '../../api/limits.ts';
import type { Command } from 'commander';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { UsageError } from '../report-error.ts';
import type { CliSession } from '../session.ts';
import {
  cacheCleared,
  labelOf,
  quotedLabelOf,
  showAfterwards,
  showCleared,
  showList,
  showOne,
} from './limits-screen.ts';

const path = '/api/v1/limits';
/** As the server says, too: what Postgres's integer holds. */
const maxLimit = 2_147_483_647;
const pathOf = (organization: string): string => `${path}/${encodeURIComponent(organization)}`;

export function registerLimits(program: Command, host: CommandHost): void {
  const group = program.command('limits').description('how many requests organizations may have under way');
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
    // The server knows the id only, and whoever typed a name would have to look it up.
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
