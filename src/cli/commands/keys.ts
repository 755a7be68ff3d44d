// headworks keys: gateway keys and their usage.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import { keysApi } from '../../api/keys.ts';
import { CoreError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { wholeNumber } from '../command.ts';
import type { OwnOptions } from '../derive.ts';
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
        [
          'tokens today',
          ({ tokens_today: used, daily_token_cap: cap }) => (cap === null ? used : `${used} of ${cap}`),
        ],
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
      'headworks keys create ci --expires-days 30 --daily-token-cap 200000',
    ],
    prepare: ({ body }, context) => ({ body: { ...body, ...expiry(context) } }),
    print: ({ out }, { key }) => {
      out.line(key);
      out.note(
        'It is not shown again. Use it as OPENAI_API_KEY, with the address of this server + /v1 as base URL.',
      );
    },
  });

  commandFor(group, keysApi.revoke, {
    name: 'revoke',
    arguments: { id: ['key', 'name or id of the key'] },
    examples: ['headworks keys revoke laptop', 'headworks keys revoke laptop --force'],
    resolve: async ({ params }, { client }) => {
      const { keys } = await callApi(client, 'GET /api/v1/keys');
      const { id, name } = keyNamed(keys, String(params['id']), 'headworks keys');
      return { params: { id }, subject: name };
    },
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
    print: ({ out }, { usage }) =>
      out.list(usage, 'No usage in this period.', [
        'day',
        'caller',
        'model',
        'requests',
        'prompt_tokens',
        'completion_tokens',
      ]),
  });
}

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
