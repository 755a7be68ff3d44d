// headworks models add and remove: models of any OpenAI-compatible server.
import type { Model } from '../../api/models.ts';
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { HeadworksClient } from '../../app/client/session.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';
import { allModels, modelsPath, withModel } from './models-named.ts';

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
  readonly replace?: boolean;
}

export function registerAdd(group: Command, host: CommandHost): void {
  const count = wholeNumber(1, 1e15 - 1);
  const command = group
    .command('add')
    .description('add a model of any OpenAI-compatible server')
    .requiredOption('--name <name>', 'what callers write as model')
    .requiredOption('--base-url <url>', 'up to, and without, /chat/completions')
    .option('--env-var <variable>', 'where its key is; several keys are separated by commas in it')
    .option(
      '--model <name>',
      'what the server calls it (default: the whole --name; if --provider P is given and the name is P/X: X)',
    )
    .option(
      '--provider <name>',
      'who runs it (default: what stands before the first / of the name; without one, the host of the URL)',
    )
    .addOption(new Option('--kind <kind>', 'what it does').choices(['chat', 'embeddings']).default('chat'))
    .option('--vision', 'it can look at images')
    .option('--without <abilities>', 'what it cannot: streaming,tools,json', readAbilities)
    .option('--context-tokens <count>', 'how much it reads and writes together', count)
    .option('--requests-per-minute <count>', 'what one key may, kept by us', count)
    .option('--requests-per-day <count>', 'what one key may, kept by us', count)
    .option('--tokens-per-minute <count>', 'what one key may, kept by us', count)
    .option('--tokens-per-day <count>', 'what one key may, kept by us', count)
    .option(
      '--replace',
      'give a model that was added under that name this definition instead; if there is none, it is added',
    );
  examples(command, [
    'headworks models add --name mine --base-url http://127.0.0.1:8000/v1',
    'headworks models add --name acme/large --base-url https://llm.example.com/v1 --env-var ACME_API_KEY --requests-per-minute 30',
    'headworks models add --replace --name acme/large --base-url https://llm.example.com/v2 --env-var ACME_API_KEY',
  ]);
  act<AddOptions>(host, command, async (session, options) => {
    const { model, replaced } = await session.withClient((client) => addOrReplace(session, client, options));
    if (session.out.isJson) session.out.json({ ...model, replaced });
    else {
      const isMissing = options.replace === true && !replaced;
      const done = isMissing
        ? `There was no model ${model.name} to replace: it is added as a new one.`
        : `Model ${model.name} is ${replaced ? 'replaced' : 'added'}.`;
      const remedy = model.needs && ` It is asked once ${model.needs} is set where the server runs.`;
      session.out.line(done + (remedy ?? ''));
    }
    return exitCodes.ok;
  });
}

async function addOrReplace(session: CliSession, client: HeadworksClient, options: AddOptions) {
  const { signal } = session.io;
  const body = bodyOf(options);
  const models = options.replace === true ? await allModels(session, client) : [];
  const known = models.find(({ name }) => name === options.name);
  const model = known
    ? await client.call<Model>('PUT', `${modelsPath}/${known.id}`, { body, signal })
    : await client.call<Model>('POST', modelsPath, { body, signal });
  return { model, replaced: known !== undefined };
}

export function registerRemove(group: Command, host: CommandHost): void {
  const command = group
    .command('remove')
    .argument('<model>', 'its name or id')
    .description('remove a model that was added; what was used of it stays in the usage');
  examples(command, ['headworks models remove acme/large']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const removed = await withModel(session, wanted, ({ id }, client) =>
      client.call<Model>('DELETE', `${modelsPath}/${id}`, { signal: session.io.signal }),
    );
    if (session.out.isJson) session.out.json({ removed: removed.name });
    else session.out.line(`Model ${removed.name} is removed.`);
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
