// headworks models: which AI models there are, how they are doing, and what to do with them.
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { ModelAnswer } from '../../app/api-answers.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';
import { registerExplain, registerProbe } from './models-health.ts';
import { changeModel, modelsPath, withModel } from './models-named.ts';
import { showModel, showModels } from './models-screen.ts';

export function registerModels(program: Command, host: CommandHost): void {
  const group = program.command('models').description('AI models: availability, scores, cooldowns');
  examples(group, [
    'headworks models',
    'headworks models explain groq/llama-3.3-70b-versatile',
    'headworks models add --name mine --base-url http://127.0.0.1:8000/v1 --env-var MINE_API_KEY',
  ]);
  registerList(group, host);
  registerShow(group, host);
  registerAdd(group, host);
  registerActive(group, host, 'enable', true);
  registerActive(group, host, 'disable', false);
  registerCool(group, host);
  registerWarm(group, host);
  registerProbe(group, host);
  registerExplain(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list models, the best first')
    .option('--all', 'also those without a key, and disabled ones')
    .option('--available', 'only those that are not cooling down');
  examples(command, ['headworks models list --all', 'headworks models list --json']);
  act<{ all?: boolean; available?: boolean }>(host, command, async (session, { all, available }) => {
    const models = await listed(session, {
      active_only: all !== true,
      configured_only: all !== true,
      available_only: available === true,
      include_recent: true,
    });
    if (session.out.isJson) session.out.json({ models });
    else showModels(session, models, all === true);
    return exitCodes.ok;
  });
}

const listed = (session: CliSession, query: Record<string, boolean>): Promise<readonly ModelAnswer[]> =>
  session.withClient((client) =>
    client.call<readonly ModelAnswer[]>('GET', modelsPath, { query, signal: session.io.signal }),
  );

function registerShow(group: Command, host: CommandHost): void {
  const command = group
    .command('show')
    .argument('<model>', 'its name or id')
    .description('everything about one model');
  examples(command, ['headworks models show groq/llama-3.3-70b-versatile']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const model = await withModel(session, wanted, async (found) => found);
    if (session.out.isJson) session.out.json(model);
    else showModel(session, model);
    return exitCodes.ok;
  });
}

interface AddOptions {
  readonly name: string;
  readonly baseUrl: string;
  readonly envVar?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly kind: 'chat' | 'embeddings';
  readonly without?: readonly string[];
  readonly vision?: boolean;
  readonly contextTokens?: number;
  readonly requestsPerMinute?: number;
  readonly requestsPerDay?: number;
  readonly tokensPerMinute?: number;
  readonly tokensPerDay?: number;
}

function registerAdd(group: Command, host: CommandHost): void {
  const count = wholeNumber(1, 1e15 - 1);
  const command = group
    .command('add')
    .description('add a model of any OpenAI-compatible server')
    .requiredOption('--name <name>', 'what callers write as model')
    .requiredOption('--base-url <url>', 'up to, and without, /chat/completions')
    .option('--env-var <variable>', 'where its key is; several keys are separated by commas in it')
    .option('--model <name>', 'what the server calls it (default: the name)')
    .option('--provider <name>', 'who runs it (default: the host)')
    .addOption(new Option('--kind <kind>', 'what it does').choices(['chat', 'embeddings']).default('chat'))
    .option('--vision', 'it can look at images')
    .option('--without <abilities>', 'what it cannot: streaming,tools,json', readAbilities)
    .option('--context-tokens <count>', 'how much it reads and writes together', count)
    .option('--requests-per-minute <count>', 'what one key may, kept by us', count)
    .option('--requests-per-day <count>', 'what one key may, kept by us', count)
    .option('--tokens-per-minute <count>', 'what one key may, kept by us', count)
    .option('--tokens-per-day <count>', 'what one key may, kept by us', count);
  examples(command, [
    'headworks models add --name mine --base-url http://127.0.0.1:8000/v1',
    'headworks models add --name acme/large --base-url https://llm.example.com/v1 --env-var ACME_API_KEY --requests-per-minute 30',
  ]);
  act<AddOptions>(host, command, async (session, options) => {
    const model = await session.withClient((client) =>
      client.call<ModelAnswer>('POST', modelsPath, { body: bodyOf(options), signal: session.io.signal }),
    );
    if (session.out.isJson) session.out.json(model);
    else if (model.is_configured) session.out.line(`Model ${model.name} is added.`);
    else
      session.out.line(
        `Model ${model.name} is added. It is asked once ${model.env_var ?? 'its key'} is set where the server runs.`,
      );
    return exitCodes.ok;
  });
}

const abilities = ['streaming', 'tools', 'json'];

function readAbilities(text: string): readonly string[] {
  const given = text.split(',').map((part) => part.trim());
  if (given.some((ability) => !abilities.includes(ability)))
    throw new InvalidArgumentError(`It must be some of ${abilities.join(', ')}, separated by commas.`);
  return given;
}

function bodyOf(options: AddOptions): Record<string, unknown> {
  const capabilities = {
    ...Object.fromEntries((options.without ?? []).map((ability) => [ability, false])),
    ...(options.vision === true ? { vision: true } : {}),
    ...(options.kind === 'embeddings' ? { embeddings: true } : {}),
    ...(options.contextTokens === undefined ? {} : { context_tokens: options.contextTokens }),
  };
  return {
    name: options.name,
    base_url: options.baseUrl,
    env_var: options.envVar,
    model: options.model,
    provider: options.provider,
    capabilities,
    quotas: {
      requests_per_minute: options.requestsPerMinute,
      requests_per_day: options.requestsPerDay,
      tokens_per_minute: options.tokensPerMinute,
      tokens_per_day: options.tokensPerDay,
    },
  };
}

function registerActive(
  group: Command,
  host: CommandHost,
  name: 'enable' | 'disable',
  isActive: boolean,
): void {
  const command = group
    .command(name)
    .argument('<model>', 'its name or id')
    .description(isActive ? 'let a model be asked again' : 'never ask a model until it is enabled');
  examples(command, [`headworks models ${name} groq/llama-3.3-70b-versatile`]);
  act(host, command, (session, _options, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['active', { body: { is_active: isActive } }],
      done: (model) => `Model ${model.name} is ${isActive ? 'enabled' : 'disabled'}.`,
    }),
  );
}

function registerCool(group: Command, host: CommandHost): void {
  const command = group
    .command('cool')
    .argument('<model>', 'its name or id')
    .description('leave a model alone for a while')
    .option('--seconds <count>', 'how long', wholeNumber(1, 2_678_400), 3_600)
    .option('--reason <text>', 'why; shown with the model');
  examples(command, ['headworks models cool groq/llama-3.3-70b-versatile --seconds 600 --reason "billing"']);
  act<{ seconds: number; reason?: string }>(host, command, (session, { seconds, reason }, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['availability', { query: { retry_after_seconds: seconds, reason } }],
      done: (model) => `Model ${model.name} is left alone until ${model.available_at ?? 'now'}.`,
    }),
  );
}

function registerWarm(group: Command, host: CommandHost): void {
  const command = group
    .command('warm')
    .argument('<model>', 'its name or id')
    .description('take back every cooldown of a model');
  examples(command, ['headworks models warm groq/llama-3.3-70b-versatile']);
  act(host, command, (session, _options, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['availability', { query: { retry_after_seconds: 0 } }],
      done: (model) => `Model ${model.name} may be asked again.`,
    }),
  );
}
