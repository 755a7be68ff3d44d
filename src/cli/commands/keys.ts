// headworks keys: keys for clients of the gateway, and what was used with them.
import type { Command } from 'commander';
import type { GatewayKey, GatewayKeys, NewGatewayKey, Usage } from '../../api/keys.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { daysFrom, humanMoment, keyNamed, keyState } from '../output.ts';
import type { CliSession } from '../session.ts';

const path = '/api/v1/keys';
const dayMs = 86_400_000;

export function registerKeys(program: Command, host: CommandHost): void {
  const group = program.command('keys').description('keys for clients of the AI gateway, and their usage');
  examples(group, ['headworks keys create --name laptop', 'headworks keys', 'headworks keys revoke laptop']);
  registerCreate(group, host);
  registerList(group, host);
  registerRevoke(group, host);
  registerUsage(group, host);
}

interface CreateOptions {
  readonly name: string;
  readonly expiresDays?: number;
  readonly dailyTokens?: number;
}

function registerCreate(group: Command, host: CommandHost): void {
  const command = group
    .command('create')
    .description('make a key; it is shown this once')
    .requiredOption('--name <name>', 'what it is for')
    .option('--expires-days <days>', 'it stops working after so many days', wholeNumber(1, 36_500))
    .option('--daily-tokens <count>', 'the most tokens it may use in a day (UTC)', wholeNumber(1, 1e15 - 1));
  examples(command, [
    'headworks keys create --name laptop',
    'headworks keys create --name ci --expires-days 30 --daily-tokens 200000',
  ]);
  act<CreateOptions>(host, command, async (session, { name, expiresDays, dailyTokens }) => {
    const { out, io } = session;
    const body = {
      name,
      ...(expiresDays === undefined ? {} : { expires_at: daysFrom(io.clock.now(), expiresDays) }),
      ...(dailyTokens === undefined ? {} : { daily_token_cap: dailyTokens }),
    };
    const made = await session.withClient((client) =>
      client.call<NewGatewayKey>('POST', path, { body, signal: io.signal }),
    );
    if (out.isJson) out.json(made);
    else {
      out.line(made.key);
      out.note(
        'This is the only time it is shown. Use it as OPENAI_API_KEY, with the base URL of this server + /v1.',
      );
    }
    return exitCodes.ok;
  });
}

const listed = (session: CliSession): Promise<GatewayKeys> =>
  session.withClient((client) => client.call<GatewayKeys>('GET', path, { signal: session.io.signal }));

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list keys; the keys themselves are kept nowhere');
  examples(command, ['headworks keys list --json']);
  act(host, command, async (session) => {
    const { out, io } = session;
    const answer = await listed(session);
    const now = io.clock.now();
    if (out.isJson) out.json(answer);
    else if (answer.keys.length === 0)
      out.line('There are no keys. Make one with "headworks keys create --name NAME".');
    else
      out.table(
        ['ID', 'NAME', 'KEY', 'STATE', 'CREATED', 'TOKENS TODAY'],
        answer.keys.map((key) => [
          key.id,
          key.name,
          `${key.prefix}…`,
          keyState(key, now),
          humanMoment(key.created_at, now),
          key.daily_token_cap === null
            ? String(key.tokens_today)
            : `${key.tokens_today} of ${key.daily_token_cap}`,
        ]),
      );
    return exitCodes.ok;
  });
}

function registerRevoke(group: Command, host: CommandHost): void {
  const command = group
    .command('revoke')
    .argument('<key>', 'its id or name')
    .description('end a key for good');
  examples(command, ['headworks keys revoke laptop']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const revoked = await session.withClient(async (client) => {
      const { signal } = session.io;
      const { keys } = await client.call<GatewayKeys>('GET', path, { signal });
      const { id } = keyNamed(keys, wanted, 'headworks keys');
      return client.call<GatewayKey>('DELETE', `${path}/${id}`, { signal });
    });
    if (session.out.isJson) session.out.json(revoked);
    else session.out.line(`The key ${revoked.name} is revoked.`);
    return exitCodes.ok;
  });
}

function registerUsage(group: Command, host: CommandHost): void {
  const command = group
    .command('usage')
    .description('requests and tokens by day, caller and model')
    .option('--days <count>', 'how many days back, today included', wholeNumber(1, 400), 7);
  examples(command, ['headworks keys usage --days 30']);
  act<{ days: number }>(host, command, async (session, { days }) => {
    const { out, io } = session;
    const fromDay = new Date(io.clock.now() - (days - 1) * dayMs).toISOString().slice(0, 10);
    const answer = await session.withClient((client) =>
      client.call<Usage>('GET', '/api/v1/usage', { query: { from_day: fromDay }, signal: io.signal }),
    );
    if (out.isJson) out.json(answer);
    else if (answer.usage.length === 0) out.line('No usage in this period.');
    else
      out.table(
        ['DAY', 'CALLER', 'MODEL', 'REQUESTS', 'PROMPT TOKENS', 'COMPLETION TOKENS'],
        answer.usage.map((line) => [
          line.day,
          line.caller,
          line.model,
          String(line.requests),
          String(line.prompt_tokens),
          String(line.completion_tokens),
        ]),
      );
    return exitCodes.ok;
  });
}
