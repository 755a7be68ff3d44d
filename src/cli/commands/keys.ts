// headworks keys: gateway keys, their limits and usage.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import { keysApi } from '../../api/keys.ts';
import { CoreError } from '../../core/index.ts';
import { formatUsd } from '../../core/text.ts';
import type { CliCommand } from '../command.ts';
import { wholeNumber } from '../command.ts';
import type { CallContext, CommandInput, OwnOptions } from '../derive.ts';
import { commandFor } from '../derive.ts';
import type { Column, Output } from '../output.ts';
import type { CliSession } from '../session.ts';

const dayMs = 86_400_000;

export function register(group: CliCommand): void {
  commandFor(group, keysApi.list, {
    name: 'list',
    isDefault: true,
    examples: ['headworks keys list --json'],
    print: ({ out, io }, { keys }) =>
      out.list(keys, 'There are no keys. Create one with "headworks keys create NAME".', [
        ...keyColumns(out, io.clock.now()),
        ['per minute', ({ requests_per_minute: limit }) => limit ?? 'unlimited'],
        ['tokens today', ({ tokens_today: used, tokens_per_day: limit }) => ofLimit(used, limit)],
        ['usd today', ({ usd_today: used, usd_per_day: limit }) => ofLimit(formatUsd(used), limit)],
      ]),
  });

  commandFor(group, keysApi.create, {
    name: 'create',
    description: 'create a key; it is shown only once',
    arguments: { name: ['name', 'purpose of the key'] },
    flags: { expires_at: { isHidden: true } },
    options: [expiryOption()],
    examples: [
      'headworks keys create laptop',
      'headworks keys create ci --expires-days 30 --tokens-per-day 200000',
      'headworks keys create team --requests-per-minute 60 --usd-per-day 5',
    ],
    prepare: ({ body }, context) => ({ body: { ...body, ...expiry(context) } }),
    print: ({ out }, { key }) => {
      out.line(key);
      out.note(
        'It is not shown again. Use it as OPENAI_API_KEY, with the address of this server + /v1 as base URL.',
      );
    },
  });

  commandFor(group, keysApi.update, {
    name: 'update',
    arguments: { id: ['key', 'name or id of the key'] },
    flags: {
      requests_per_minute: {
        description: 'requests in any 60 seconds',
        negation: 'remove this limit',
      },
      tokens_per_day: { description: 'tokens per day, UTC', negation: 'remove this limit' },
      usd_per_day: { description: 'US dollars per day, UTC', negation: 'remove this limit' },
    },
    examples: [
      'headworks keys update laptop --usd-per-day 10 --tokens-per-day 200000',
      'headworks keys update laptop --requests-per-minute 30 --no-tokens-per-day',
    ],
    resolve: resolveKey,
    print: ({ out }, { name, requests_per_minute, tokens_per_day, usd_per_day }) => {
      out.line(`Limits of ${name}:`);
      const limits = { requests_per_minute, tokens_per_day, usd_per_day };
      out.fields(
        Object.fromEntries(Object.entries(limits).map(([limit, value]) => [limit, value ?? 'unlimited'])),
      );
    },
  });

  commandFor(group, keysApi.revoke, {
    name: 'revoke',
    arguments: { id: ['key', 'name or id of the key'] },
    examples: ['headworks keys revoke laptop', 'headworks keys revoke laptop --force'],
    resolve: resolveKey,
    confirm: revokeQuestion,
    print: ({ out }, { name }) => out.line(`Key ${name} is revoked.`),
  });

  commandFor(group, keysApi.listUsage, {
    name: 'usage',
    flags: { from_day: { isHidden: true } },
    options: [
      new Option('--days <number>', 'number of days, today included')
        .argParser(wholeNumber(1, 400))
        .default(7),
    ],
    examples: ['headworks keys usage --days 30'],
    prepare: ({ query }, { session, own }) => {
      const first = session.io.clock.now() - (Number(own['days']) - 1) * dayMs;
      return { query: { ...query, from_day: new Date(first).toISOString().slice(0, 10) } };
    },
    print: ({ out }, { usage, totals }) => {
      out.list(usage, 'No usage in this period.', [
        'day',
        'caller',
        'model',
        'requests',
        'prompt_tokens',
        'completion_tokens',
        ['usd', ({ cost_usd: cost }) => formatUsd(cost)],
      ]);
      const unpriced = totals.reduce((sum, { unpriced_requests: requests }) => sum + requests, 0);
      const costs = totals.flatMap(({ cost_usd: cost }) => cost ?? []);
      if (costs.length > 0)
        out.note(`Total: ${formatUsd(costs.reduce((sum, cost) => sum + cost, 0))} US dollars.`);
      if (unpriced > 0) out.note(`Requests of unknown cost (their models have no price): ${unpriced}.`);
    },
  });
}

async function resolveKey(
  { params }: Pick<CommandInput, 'params'>,
  { client }: Pick<CallContext, 'client'>,
): Promise<{ readonly params: { readonly id: string }; readonly subject: string }> {
  const { keys } = await callApi(client, 'GET /api/v1/keys');
  const { id, name } = keyNamed(keys, String(params['id']), 'headworks keys');
  return { params: { id }, subject: name };
}

const ofLimit = (used: string | number, limit: number | null): string | number =>
  limit === null ? used : `${used} of ${limit}`;

interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly created_at: string;
  readonly revoked_at: string | null;
  readonly expires_at: string | null;
}

/** Columns of gateway keys and of keys of organizations. */
export const keyColumns = (out: Output, now: number): readonly Column<ListedKey>[] => [
  'id',
  'name',
  ['key', ({ prefix }) => `${prefix}…`],
  ['state', (key) => keyState(out, key, now)],
  'created_at',
];

export function keyState(out: Output, { revoked_at, expires_at }: ListedKey, now: number): string {
  if (revoked_at !== null) return 'revoked';
  if (expires_at === null) return 'active';
  return Date.parse(expires_at) <= now ? 'expired' : `active, expires ${out.ago(expires_at)}`;
}

/**
 * Finds a key by id or name. Fails with CONFLICT when several keys have the name. `list` is the command that lists all.
 */
export function keyNamed(keys: readonly ListedKey[], wanted: string, list: string): ListedKey {
  const byId = keys.find(({ id }) => id === wanted);
  if (byId) return byId;
  const named = keys.filter(({ name, revoked_at }) => name === wanted && revoked_at === null);
  const [only] = named;
  if (only && named.length === 1) return only;
  if (named.length > 1)
    throw new CoreError(
      'CONFLICT',
      `${named.length} keys are named ${wanted}; give the id of one (${list}).`,
    );
  throw new CoreError('NOT_FOUND', `There is no active key ${wanted}. "${list}" lists all.`);
}

/** The confirmation question of the commands that revoke a key. */
export const revokeQuestion = (_input: unknown, name: string): string =>
  `Revoke the key ${name}? Clients that use it are rejected from then on.`;

export const expiryOption = (): Option =>
  new Option('--expires-days <number>', 'number of days after which it expires; default: never').argParser(
    wholeNumber(1, 36_500),
  );

/** The value of `expiryOption` in the format of the API. */
export function expiry({ session, own }: { readonly session: CliSession; readonly own: OwnOptions }) {
  const days = own['expiresDays'];
  if (typeof days !== 'number') return {};
  return { expires_at: new Date(session.io.clock.now() + days * dayMs).toISOString() };
}
