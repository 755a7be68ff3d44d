// headworks models: list models, their availability and scores, and manage them.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import type { Discovery, Model } from '../../api/models.ts';
import { modelsApi } from '../../api/models.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { CoreError, nearNames } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import type { CallContext, CommandInput } from '../derive.ts';
import { commandFor } from '../derive.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import type { CliSession } from '../session.ts';

const exampleModel = 'groq/llama-3.3-70b-versatile';
const modelArgument = { id: ['model', 'name or id of the model'] } as const;

export function register(group: CliCommand): void {
  commandFor(group, modelsApi.list, {
    name: 'list',
    isDefault: true,
    flags: {
      active_only: { isHidden: true },
      configured_only: { isHidden: true },
      include_recent: { isHidden: true },
      window_days: { isHidden: true },
    },
    options: [new Option('--all', 'include models that are disabled, retired or without a key')],
    examples: ['headworks models list --all', 'headworks models list --available-only --json'],
    prepare: ({ query }, { own }) => {
      const only = own['all'] === true ? 'false' : 'true';
      const scope = { active_only: only, configured_only: only, include_recent: 'true' } as const;
      return { query: { ...query, ...scope } };
    },
    extend: (models) => ({ models }),
    print: (session, { models }, { own }) => printModels(session, models, own['all'] === true),
  });
  registerGet(group);
  registerCreate(group);

  commandFor(group, modelsApi.delete, {
    name: 'delete',
    description: 'delete a custom model; its usage is kept',
    arguments: modelArgument,
    examples: ['headworks models delete acme/large', 'headworks models delete acme/large --force'],
    resolve: resolveModel,
    confirm: (_input, name) => `Delete the model ${name}? Its usage is kept.`,
    print: ({ out }, { name }) => out.line(`Model ${name} is deleted.`),
  });

  for (const [name, isActive] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    commandFor(group, modelsApi.setActive, {
      name,
      description: isActive ? 'enable a model' : 'disable a model until it is enabled again',
      arguments: modelArgument,
      flags: { is_active: { isHidden: true } },
      examples: [`headworks models ${name} ${exampleModel}`],
      prepare: () => ({ body: { is_active: isActive } }),
      resolve: resolveModel,
      print: ({ out }, model) => out.line(`Model ${model.name} is ${name}d.`),
    });

  commandFor(group, modelsApi.setCooldown, {
    name: 'set-cooldown',
    arguments: modelArgument,
    flags: { retry_after_seconds: { flag: 'seconds', default: 3_600 } },
    examples: [`headworks models set-cooldown ${exampleModel} --seconds 600 --reason "billing"`],
    resolve: resolveModel,
    print: ({ out }, { name, available_at }) =>
      out.line(`Model ${name} is cooling down until ${available_at ?? 'now'}.`),
  });

  commandFor(group, modelsApi.setCooldown, {
    name: 'clear-cooldown',
    description: 'clear every cooldown of a model',
    arguments: modelArgument,
    flags: { retry_after_seconds: { isHidden: true }, reason: { isHidden: true } },
    examples: [`headworks models clear-cooldown ${exampleModel}`],
    prepare: () => ({ query: { retry_after_seconds: '0' } }),
    resolve: resolveModel,
    print: ({ out }, { name, available_at }) =>
      out.line(
        available_at === null
          ? `Model ${name} is available.`
          : `Cooldowns of ${name} are cleared; its quota is exhausted until ${available_at}.`,
      ),
  });

  registerProbe(group);
  registerDiscover(group);

  commandFor(group, modelsApi.explain, {
    name: 'explain',
    arguments: modelArgument,
    examples: [`headworks models explain ${exampleModel}`],
    resolve: resolveModel,
    print: ({ out }, { model, steps, position, position_reason: reason, recent_attempts: attempts }) => {
      out.line(out.style('bold', model.name));
      out.line(position === null ? `Not eligible: ${reason}` : `Rank ${position}: ${reason}`);
      out.line();
      for (const step of steps) out.line(`  ${step}`);
      if (attempts.length === 0) return;
      out.line();
      out.list(attempts, '', [
        'at',
        'outcome',
        'status',
        ['ms', ({ duration_ms }) => Math.round(duration_ms)],
        ['tokens', ({ prompt_tokens, completion_tokens }) => `${prompt_tokens} + ${completion_tokens}`],
        'caller',
      ]);
    },
  });
}

/** Reads the list, which has the recent scores, too. */
function registerGet(group: CliCommand): void {
  const command = group.command('get').argument('<model>', modelArgument.id[1]).description('get a model');
  command.examples([`headworks models get ${exampleModel}`]);
  command.run(async (session, _options, [wanted = '']) => {
    const model = await session.withClient(async (client) => modelNamed(wanted, await allModels(client)));
    if (session.out.isJson) session.out.json(model);
    else printModel(session.out, model);
  });
}

function registerCreate(group: CliCommand): void {
  commandFor(group, modelsApi.create, {
    name: 'create',
    arguments: { name: ['name', 'name that callers use'] },
    flags: {
      streaming: { isNegative: true, description: 'the model cannot stream' },
      tools: { isNegative: true, description: 'the model cannot call tools' },
      json: { isNegative: true, flag: 'json-mode', description: 'the model has no JSON mode' },
      vision: { description: 'the model accepts images' },
      reasoning: { description: 'the model accepts the fields that control reasoning' },
      embeddings: { description: 'the model returns embeddings instead of completions' },
    },
    options: [new Option('--replace', 'replace the model of this name if it was created before')],
    examples: [
      'headworks models create mine --base-url http://127.0.0.1:8000/v1 --env-var MINE_API_KEY',
      'headworks models create acme/large --base-url https://llm.example.com/v1 --env-var ACME_API_KEY --requests-per-minute 30',
      'headworks models create acme/small --base-url https://llm.example.com/v1 --context-tokens 32000 --requests-per-day 5000 --tokens-per-minute 60000 --tokens-per-day 1000000',
      'headworks models create acme/claude --base-url https://llm.example.com/v1 --apis messages --env-var ACME_API_KEY --reasoning --max-output-tokens 64000',
      'headworks models create acme/paid --base-url https://llm.example.com/v1 --env-var ACME_API_KEY --input-per-million 0.15 --output-per-million 0.6 --cache-read-per-million 0.02 --cache-write-per-million 0.2',
      'headworks models create acme/slow --base-url https://llm.example.com/v1 --connect-seconds 10 --first-token-seconds 120 --response-seconds 600 --idle-seconds 60',
      'headworks models create acme/ranker --base-url https://llm.example.com/v1 --endpoints rerank',
      'headworks models create acme/large --replace --base-url https://llm.example.com/v2 --env-var ACME_API_KEY',
    ],
    resolve: async ({ body }, { client, own }) => {
      const known =
        own['replace'] === true && (await allModels(client)).find(({ name }) => name === body.name);
      return known ? { instead: modelsApi.update, params: { id: known.id } } : {};
    },
    extend: (model, { params }) => ({ ...model, replaced: 'id' in params }),
    print: ({ out }, { name, needs, replaced }, { own }) => {
      const isMissing = own['replace'] === true && !replaced;
      const done = isMissing
        ? `There was no model ${name} to replace: it is created as a new one.`
        : `Model ${name} is ${replaced ? 'replaced' : 'created'}.`;
      const remedy =
        needs === null ? '' : ` It becomes available when ${needs} is set in the server's environment.`;
      out.line(done + remedy);
    },
  });
}

function registerProbe(group: CliCommand): void {
  const command = group
    .command('probe')
    .argument('[models...]', 'names or ids; default: all models that have a key')
    .description('send a minimal request to models now, within their quotas');
  command.examples([
    'headworks models probe',
    `headworks models probe ${exampleModel}`,
    'headworks models probe acme/large acme/small',
  ]);
  command.run(async (session, _options, wanted) => {
    const { out } = session;
    out.note('Probing …');
    const { probes } = await session.withClient(async (client) => {
      const models = wanted.length === 0 ? [] : await allModels(client);
      const ids = [...new Set(wanted.map((name) => modelNamed(name, models).id))];
      return callApi(client, 'POST /api/v1/models/probe', { body: ids.length === 0 ? {} : { ids } });
    });
    if (out.isJson) out.json({ probes });
    else
      out.list(probes, 'There is nothing to probe: no model has a key.', [
        'model',
        'outcome',
        ['ms', ({ duration_ms }) => duration_ms && Math.round(duration_ms)],
        ['reason', ({ reason }) => reason ?? ''],
      ]);
    const hasFailure = probes.some(({ outcome }) => outcome !== 'success' && outcome !== 'skipped');
    return hasFailure ? exitCodes.incomplete : exitCodes.ok;
  });
}

function registerDiscover(group: CliCommand): void {
  commandFor(group, modelsApi.discover, {
    name: 'discover',
    flags: {
      provider: { description: 'only this provider' },
      dry_run: { description: 'report what would change and change nothing' },
    },
    examples: [
      'headworks models discover',
      'headworks models discover --provider openrouter --dry-run',
      'headworks models discover --json',
    ],
    print: ({ out }, { discoveries, dry_run: isDryRun }) => {
      printDiscoveries(
        out,
        discoveries,
        'There is nothing to discover: no provider that lists its models has a key.',
      );
      if (isDryRun && discoveries.length > 0) out.note('Nothing was changed (--dry-run).');
    },
    exitCode: ({ discoveries }) =>
      discoveries.some(({ outcome }) => outcome === 'failed') ? exitCodes.incomplete : exitCodes.ok,
  });

  commandFor(group, modelsApi.listDiscoveries, {
    name: 'discoveries',
    flags: { provider: { description: 'only of this provider' } },
    examples: [
      'headworks models discoveries --provider openrouter',
      'headworks models discoveries --limit 5 --json',
      'headworks models discoveries --after 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
    ],
    print: ({ out }, { discoveries }) =>
      printDiscoveries(out, discoveries, 'No list of models was read yet. "headworks models discover" does.'),
  });
}

function printDiscoveries(out: Output, discoveries: readonly Discovery[], none: string): void {
  const count = ({ changes }: Discovery, change: Discovery['changes'][number]['change']) =>
    changes.filter((each) => each.change === change).length;
  out.list(discoveries, none, [
    'provider',
    'at',
    'outcome',
    'listed',
    ['added', (each) => count(each, 'added')],
    ['changed', (each) => count(each, 'changed')],
    ['retired', (each) => count(each, 'retired')],
    ['returned', (each) => count(each, 'returned')],
  ]);
  for (const { provider, message } of discoveries)
    if (message !== null) out.line(`\n${provider}: ${message}.`);
  const changes = discoveries.flatMap((each) => each.changes);
  if (changes.length === 0) return;
  out.line();
  out.list(changes, '', ['change', 'model', 'detail']);
}

const allModels = (client: HeadworksClient): Promise<readonly Model[]> =>
  callApi(client, 'GET /api/v1/models', { query: { active_only: 'false', include_recent: 'true' } });

/** Finds a model by name or id. Fails with NOT_FOUND and similar names. */
function modelNamed(wanted: string, models: readonly Model[]): Model {
  const model = models.find(({ id, name }) => name === wanted || String(id) === wanted);
  if (model) return model;
  const near = nearNames(
    wanted,
    models.map(({ name }) => name),
  );
  throw new CoreError(
    'NOT_FOUND',
    near.length === 0
      ? `There is no model ${wanted}. "headworks models list --all" lists all.`
      : `There is no model ${wanted}. Did you mean ${near.join(' or ')}?`,
  );
}

async function resolveModel(
  { params }: Pick<CommandInput, 'params'>,
  { client }: CallContext,
): Promise<Pick<CommandInput, 'params'> & { readonly subject: string }> {
  const { id, name } = modelNamed(String(params['id']), await allModels(client));
  return { params: { id }, subject: name };
}

function printModels(session: CliSession, models: readonly Model[], isAll: boolean): void {
  const { out } = session;
  out.list(
    models,
    'No model has a key. Set one of the variables in "headworks models list --all" where the server runs,\n' +
      'for example GROQ_API_KEY, or create a model with "headworks models create".',
    [
      'id',
      ['model', ({ name }) => name],
      ['score', ({ effective_reliability_score: score }) => score.toFixed(3)],
      ['success', (model) => (model.request_count === 0 ? null : `${Math.round(model.success_rate * 100)}%`)],
      ['seconds', (model) => (model.success_count === 0 ? null : model.average_response_time.toFixed(2))],
      ['requests', ({ request_count }) => request_count],
      ['key', ({ key_source }) => key_source],
      ['state', (model) => stateOf(out, model)],
    ],
  );
  if (!isAll && models.length > 0)
    out.note(`Models without a key are left out: ${session.commandLine('models list --all')}`);
}

function stateOf(out: Output, { state, needs, available_at, retired_at, cooldowns, health }: Model): string {
  const availableIn = available_at === null ? '' : `, available ${out.ago(available_at)}`;
  switch (state) {
    case 'retired':
      return `retired ${out.ago(retired_at ?? '')}`;
    case 'no-key':
      return `needs ${needs ?? 'its variable'}`;
    case 'quota-exhausted':
      return `quota exhausted${availableIn}`;
    case 'cooling-down':
      return `cooling down (${[...new Set(cooldowns.map(({ cause }) => cause))].join(', ')})${availableIn}`;
    case 'failing':
      return `failing (${health.last_failure ?? 'not every time'}), ${rateText(health)}`;
    default:
      return state;
  }
}

const rateText = ({ success_rate: rate, request_count: count }: Model['health']): string =>
  rate === null
    ? 'no requests in the last 15 minutes'
    : `${Math.round(rate * 100)}% of ${count} in the last 15 minutes`;

function keyText({ env_var, key_source, key_count, is_configured, needs }: Model): string {
  if (key_source !== null) return `${key_count} in ${key_source}`;
  return is_configured || env_var === null ? 'none needed' : `none; set ${needs ?? env_var}`;
}

function printModel(out: Output, model: Model): void {
  const { capabilities, quotas, cooldowns } = model;
  const limits = Object.entries(quotas).map(([name, value]) => `${value} ${name.replaceAll('_', ' ')}`);
  out.fields(model, {
    key: keyText(model),
    state: stateOf(out, model),
    health: rateText(model.health),
    capabilities: Object.entries(capabilities).flatMap(([name, value]) => (value === true ? [name] : [])),
    context_tokens: capabilities.context_tokens,
    quotas: limits,
    cooldowns: cooldowns.map(
      ({ key_id, until, cause, source, reason }) =>
        `key ${key_id} until ${out.moment(until)}, ${cause}, from ${source}${reason === null ? '' : `: ${reason}`}`,
    ),
  });
}
