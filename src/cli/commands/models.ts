// headworks models: list models, their availability and scores, and manage them.
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { Model, ModelExplanation, Probes } from '../../api/models.ts';
import type { CallOptions, HeadworksClient } from '../../app/client/session.ts';
import { CoreError, nearNames } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { humanMoment } from '../output.ts';
import type { CliSession } from '../session.ts';

export function registerModels(program: Command, host: CommandHost): void {
  const group = program.command('models').description('AI models: availability, scores, cooldowns');
  examples(group, [
    'headworks models',
    'headworks models explain groq/llama-3.3-70b-versatile',
    'headworks models create --name mine --base-url http://127.0.0.1:8000/v1 --env-var MINE_API_KEY',
  ]);
  registerList(group, host);
  registerShow(group, host);
  registerAdd(group, host);
  registerRemove(group, host);
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
    .option('--available', 'only available models: not cooling down and within quota');
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

const listed = (session: CliSession, query: Record<string, boolean>): Promise<readonly Model[]> =>
  session.withClient((client) =>
    client.call<readonly Model[]>('GET', modelsPath, { query, signal: session.io.signal }),
  );

function registerShow(group: Command, host: CommandHost): void {
  const command = group
    .command('get')
    .argument('<model>', 'its name or id')
    .description('everything about one model');
  examples(command, ['headworks models get groq/llama-3.3-70b-versatile']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const model = await withModel(session, wanted, async (found) => found);
    if (session.out.isJson) session.out.json(model);
    else showModel(session, model);
    return exitCodes.ok;
  });
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
    .description(isActive ? 'enable a model' : 'disable a model until it is enabled again');
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
    .command('set-cooldown')
    .argument('<model>', 'its name or id')
    .description('leave a model alone for a while')
    .option('--seconds <count>', 'how long', wholeNumber(1, 2_678_400), 3_600)
    .option('--reason <text>', 'why; shown with the model');
  examples(command, [
    'headworks models set-cooldown groq/llama-3.3-70b-versatile --seconds 600 --reason "billing"',
  ]);
  act<{ seconds: number; reason?: string }>(host, command, (session, { seconds, reason }, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['availability', { query: { retry_after_seconds: seconds, reason } }],
      done: (model) => `Model ${model.name} is paused until ${model.available_at ?? 'now'}.`,
    }),
  );
}

function registerWarm(group: Command, host: CommandHost): void {
  const command = group
    .command('clear-cooldown')
    .argument('<model>', 'its name or id')
    .description('take back every cooldown of a model');
  examples(command, ['headworks models clear-cooldown groq/llama-3.3-70b-versatile']);
  act(host, command, (session, _options, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['availability', { query: { retry_after_seconds: 0 } }],
      done: (model) =>
        model.available_at === null
          ? `Model ${model.name} is available again.`
          : `Cooldowns of ${model.name} are taken back; its quota is used up until ${model.available_at}.`,
    }),
  );
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
  readonly replace?: boolean;
}

export function registerAdd(group: Command, host: CommandHost): void {
  const count = wholeNumber(1, 1e15 - 1);
  const command = group
    .command('create')
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
    'headworks models create --name mine --base-url http://127.0.0.1:8000/v1',
    'headworks models create --name acme/large --base-url https://llm.example.com/v1 --env-var ACME_API_KEY --requests-per-minute 30',
    'headworks models create --replace --name acme/large --base-url https://llm.example.com/v2 --env-var ACME_API_KEY',
  ]);
  act<AddOptions>(host, command, async (session, options) => {
    const { model, replaced } = await session.withClient((client) => addOrReplace(session, client, options));
    if (session.out.isJson) session.out.json({ ...model, replaced });
    else {
      const isMissing = options.replace === true && !replaced;
      const done = isMissing
        ? `There was no model ${model.name} to replace: it is added as a new one.`
        : `Model ${model.name} is ${replaced ? 'replaced' : 'added'}.`;
      const remedy =
        model.needs && ` It becomes available when ${model.needs} is set in the server's environment.`;
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
    .command('delete')
    .argument('<model>', 'its name or id')
    .description('remove a model that was added; what was used of it stays in the usage');
  examples(command, ['headworks models delete acme/large']);
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

export function registerProbe(group: Command, host: CommandHost): void {
  const command = group
    .command('probe')
    .argument('[models...]', 'names or ids; all that have a key when none is given')
    .description('ask models something cheap now, within their quotas');
  examples(command, [
    'headworks models probe',
    'headworks models probe groq/llama-3.3-70b-versatile',
    'headworks models probe acme/large acme/small',
  ]);
  act(host, command, async (session, _options, wanted) => {
    session.out.note('Asking …');
    const ask = (client: HeadworksClient, body: object) =>
      client.call<Probes>('POST', `${modelsPath}/probe`, { body, signal: session.io.signal });
    const answer =
      wanted.length === 0
        ? await session.withClient((client) => ask(client, {}))
        : await withModels(session, wanted, (models, client) =>
            ask(client, { ids: models.map(({ id }) => id) }),
          );
    if (session.out.isJson) session.out.json(answer);
    else showProbes(session, answer);
    const isBroken = answer.probes.some(({ outcome }) => outcome !== 'success' && outcome !== 'skipped');
    return isBroken ? exitCodes.incomplete : exitCodes.ok;
  });
}

function showProbes({ out }: CliSession, { probes }: Probes): void {
  if (probes.length === 0) {
    out.line('No model has a key: there is nothing to probe.');
    return;
  }
  out.table(
    ['MODEL', 'OUTCOME', 'MS', 'WHY'],
    probes.map(({ model, outcome, duration_ms, reason }) => [
      model,
      outcome,
      duration_ms === null ? '–' : String(Math.round(duration_ms)),
      reason ?? '',
    ]),
  );
}

export function registerExplain(group: Command, host: CommandHost): void {
  const command = group
    .command('explain')
    .argument('<model>', 'its name or id')
    .description('how a score came about, and the place it gives');
  examples(command, ['headworks models explain groq/llama-3.3-70b-versatile']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const answer = await withModel(session, wanted, ({ id }, client) =>
      client.call<ModelExplanation>('GET', `${modelsPath}/${id}/explain`, {
        signal: session.io.signal,
      }),
    );
    if (session.out.isJson) session.out.json(answer);
    else showExplanation(session, answer);
    return exitCodes.ok;
  });
}

function showExplanation({ out, io }: CliSession, answer: ModelExplanation): void {
  const { model, steps, position, position_reason, recent_attempts } = answer;
  out.line(out.style('bold', model.name));
  out.line(position === null ? `Not eligible: ${position_reason}` : `Rank ${position}: ${position_reason}`);
  out.line();
  for (const step of steps) out.line(`  ${step}`);
  if (recent_attempts.length === 0) return;
  out.line();
  out.table(
    ['WHEN', 'OUTCOME', 'STATUS', 'MS', 'TOKENS', 'CALLER'],
    recent_attempts.map((attempt) => [
      humanMoment(attempt.at, io.clock.now()),
      attempt.outcome,
      attempt.status === null ? '–' : String(attempt.status),
      String(Math.round(attempt.duration_ms)),
      `${attempt.prompt_tokens} + ${attempt.completion_tokens}`,
      attempt.caller,
    ]),
  );
}

export const modelsPath = '/api/v1/models';

/** Fails with NOT_FOUND, naming those that come near. */
export function withModel<T>(
  session: CliSession,
  wanted: string,
  work: (model: Model, client: HeadworksClient) => Promise<T>,
): Promise<T> {
  return session.withClient(async (client) => {
    const models = await allModels(session, client);
    return work(modelNamed(wanted, models), client);
  });
}

/** Like `withModel`, for several: in the order given, each once. */
export function withModels<T>(
  session: CliSession,
  wanted: readonly string[],
  work: (models: readonly Model[], client: HeadworksClient) => Promise<T>,
): Promise<T> {
  return session.withClient(async (client) => {
    const models = await allModels(session, client);
    return work([...new Set(wanted.map((name) => modelNamed(name, models)))], client);
  });
}

export const allModels = (session: CliSession, client: HeadworksClient): Promise<readonly Model[]> =>
  client.call<readonly Model[]>('GET', modelsPath, {
    query: { active_only: false, include_recent: true },
    signal: session.io.signal,
  });

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

export function changeModel(
  session: CliSession,
  wanted: string,
  {
    change,
    done,
  }: {
    /** What is changed, and how. */
    readonly change: () => readonly [what: string, options: CallOptions];
    readonly done: (model: Model) => string;
  },
): Promise<ExitCode> {
  return withModel(session, wanted, async ({ id }, client) => {
    const [what, options] = change();
    const changed = await client.call<Model>('PATCH', `${modelsPath}/${id}/${what}`, {
      ...options,
      signal: session.io.signal,
    });
    if (session.out.isJson) session.out.json(changed);
    else session.out.line(done(changed));
    return exitCodes.ok;
  });
}

export function showModels(session: CliSession, models: readonly Model[], isAll: boolean): void {
  const { out, io } = session;
  if (models.length === 0) {
    out.line(
      'No model has a key. Set one of the variables in "headworks models list --all" where the server runs,',
    );
    out.line('for example GROQ_API_KEY, or add a model with "headworks models create".');
    return;
  }
  out.table(
    ['ID', 'MODEL', 'SCORE', 'SUCCESS', 'SECONDS', 'REQUESTS', 'KEY', 'STATE'],
    models.map((model) => [
      String(model.id),
      model.name,
      model.effective_reliability_score.toFixed(3),
      model.request_count === 0 ? '–' : `${Math.round(model.success_rate * 100)}%`,
      model.success_count === 0 ? '–' : model.average_response_time.toFixed(2),
      String(model.request_count),
      model.key_source ?? '–',
      stateOf(model, io.clock.now()),
    ]),
  );
  if (!isAll) out.note(`Models without a key are left out: ${session.commandLine('models list --all')}`);
}

/** State of the model in one phrase. */
export function stateOf(model: Model, now: number): string {
  if (!model.is_active) return 'disabled';
  if (!model.is_configured) return `needs ${model.needs ?? 'its variable'}`;
  if (model.available_at === null) return 'available';
  const causes = [...new Set(model.cooldowns.map(({ cause }) => cause))].join(', ');
  const back = humanMoment(model.available_at, now);
  return causes === 'quota' ? `quota used up, back ${back}` : `cooling (${causes}), back ${back}`;
}

function keyOf({ env_var, key_source, key_count, is_configured, needs }: Model): string {
  if (key_source !== null) return `${key_count} in ${key_source}`;
  if (is_configured || env_var === null) return 'none needed';
  return `none; set ${needs ?? env_var}`;
}

export function showModel({ out, io }: CliSession, model: Model): void {
  const now = io.clock.now();
  const { capabilities, quotas } = model;
  const abilities = Object.entries(capabilities).filter(([, value]) => value === true);
  const limits = Object.entries(quotas).map(([name, value]) => `${value} ${name.replaceAll('_', ' ')}`);
  out.facts([
    ['id', String(model.id)],
    ['name', model.name],
    ['provider', model.provider],
    ['endpoint', model.api_endpoint],
    ['model there', model.upstream_model],
    ['key', keyOf(model)],
    ['state', stateOf(model, now)],
    ['can', abilities.map(([name]) => name).join(', ') || 'plain chat'],
    ['context', capabilities.context_tokens === null ? 'unknown' : `${capabilities.context_tokens} tokens`],
    ['quotas', limits.join(', ') || 'none known'],
    ['requests', `${model.request_count}, ${model.success_count} answered, ${model.failure_count} failed`],
    ['seconds', model.average_response_time.toFixed(3)],
    ['score', `${model.effective_reliability_score.toFixed(4)}: ${model.decision_reason}`],
    ['origin', model.origin],
  ]);
  for (const { key_id, until, cause, source, reason } of model.cooldowns)
    out.line(
      `  cooling: key ${key_id} until ${until} (${humanMoment(until, now)}), ${cause}, told by ${source}` +
        (reason === null ? '' : `: ${reason}`),
    );
}
