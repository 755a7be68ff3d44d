// Steps: models, extraction of the simulated Looker, documents and the vault in knowledge, review, throttled models.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExtractionRun, ExtractionSource } from '../../api/extraction.ts';
import type { ApiTransport } from '../../api/client.ts';
import { vaultsFolder } from '../../platform/data-folder/files.ts';
import { fullName, handover, people } from './acme-company.ts';
import type { DemoApi, DemoContext, Step } from './step.ts';
import { demoApi, until } from './step.ts';
import { brightline } from './tenancy-steps.ts';
import {
  handoverChange,
  handoverId,
  lookerSource,
  modelBodies,
  nameOf,
  readingModels,
  unreliableModel,
} from './upstreams.ts';

export const modelsStep: Step = {
  name: 'models',
  title: 'Probing the AI models',
  run: async (context) => {
    const count = await ensureModels(context);
    const { api, upstreams } = context;
    upstreams.models.script(unreliableModel.model, ['ok']);
    const { probes } = await api('POST /api/v1/models/probe', { body: {} });
    // It is not probed while it is cooling down since an earlier start; from now on it fails.
    upstreams.models.script(unreliableModel.model, []);
    const failed = probes.filter(({ outcome }) => outcome !== 'success');
    const how = failed.map(({ model, outcome }) => `${model} (${outcome})`).join(', ');
    return `${count - failed.length} of ${count} models respond${failed.length === 0 ? '' : `; failed: ${how}`}.`;
  },
};

export async function ensureModels({ api, upstreams }: DemoContext): Promise<number> {
  const known = await api('GET /api/v1/models', { query: { active_only: 'false' } });
  const bodies = modelBodies((provider) => upstreams.models.baseUrl(provider));
  for (const body of bodies) {
    const model = known.find(({ name }) => name === body.name);
    if (!model) await api('POST /api/v1/models', { body });
    else if (!model.api_endpoint.startsWith(body.base_url))
      await api('PUT /api/v1/models/:id', { params: { id: model.id }, body });
  }
  return bodies.length;
}

export async function ensureSource({ api, upstreams }: DemoContext): Promise<ExtractionSource> {
  const body = lookerSource(upstreams.looker.url);
  const { sources } = await api('GET /api/v1/extraction/sources');
  const source = sources.find(({ name }) => name === body.name);
  if (!source) return api('POST /api/v1/extraction/sources', { body });
  if (source.kind === 'looker' && source.settings.base_url === body.settings.base_url) return source;
  const params = { id: source.id };
  return api('PATCH /api/v1/extraction/sources/:id', { params, body: { settings: body.settings } });
}

export const extractionStep: Step = {
  name: 'extraction',
  title: 'Extracting dashboards from a Looker that rate-limits',
  run: async (context) => {
    const run = await followRun(context, await runOf(context, 1));
    const items = run.types.reduce((sum, { items: count }) => sum + count, 0);
    const missing = run.types.filter(({ state }) => state === 'incomplete').map(({ type }) => type);
    const rest = missing.length === 0 ? 'Complete.' : `Incomplete: ${missing.join(', ')}.`;
    return `${items} items of ${run.types.length} types in ${run.calls} calls, ${run.rate_limited_calls} of them rejected with 429. ${rest}`;
  },
};

/** Runs after the first extraction: the vault keeps the earlier content as a version. */
export const changesStep: Step = {
  name: 'changes',
  title: 'Changing the owner of a dashboard, and extracting Looker again',
  run: async (context) => {
    const { looker } = context.upstreams;
    looker.change(handoverChange);
    const { id } = await followRun(context, await runOf(context, 2));
    // From now on the failing look succeeds: retrying it is one of the things to try.
    looker.configure({ failures: [] });
    const query = { type: handoverChange.type, item: handoverId };
    const { versions } = await context.api('GET /api/v1/extraction/runs/:id/vault/item', {
      params: { id },
      query,
    });
    const owner = fullName(people[handover.to]);
    return `${handover.title} now belongs to ${owner}; the vault has ${versions.length} versions of it.`;
  },
};

const hasEnded = ({ state }: ExtractionRun): boolean => state !== 'queued' && state !== 'running';

/** The latest run when there are `count` good ones, else a new run; an interrupted run continues. */
async function runOf(context: DemoContext, count: number): Promise<string> {
  const { api } = context;
  const source = await ensureSource(context);
  const { runs } = await api('GET /api/v1/extraction/runs', { query: { source: source.name, limit: 100 } });
  const good = runs.filter(
    (run) => run.state === 'completed' || run.state === 'incomplete' || !hasEnded(run),
  );
  const [last] = good;
  if (last && good.length >= count) return last.id;
  return (await api('POST /api/v1/extraction/sources/:id/runs', { params: { id: source.id }, body: {} })).id;
}

async function followRun(context: DemoContext, id: string): Promise<ExtractionRun> {
  const get = () => context.api('GET /api/v1/extraction/runs/:id', { params: { id } });
  let run = await get();
  await until(context, async () => {
    run = await get();
    const sum = (of: (type: ExtractionRun['types'][number]) => number | null) =>
      run.types.reduce((total, type) => total + (of(type) ?? 0), 0);
    context.show({
      done: sum(({ items }) => items),
      total: sum(({ total }) => total),
      message: `${run.calls} calls, ${run.rate_limited_calls} × 429`,
      run,
    });
    return hasEnded(run);
  });
  if (run.state === 'failed') throw new Error(`The extraction failed: ${run.message ?? 'no cause given'}`);
  return run;
}

const documentsFolder = fileURLToPath(new URL('./documents/', import.meta.url));

export const documentsStep: Step = {
  name: 'documents',
  title: 'Ingesting mails and notes with models that rate-limit and fail',
  run: async (context) => {
    const documents = [...(await documentsIn(context, 'mails')), ...(await documentsIn(context, 'notes'))];
    return `${await ingest(context, documents)} documents ingested.`;
  },
};

/** Content that people talk about; permissions are left out. */
const ingestedTypes = ['dashboards', 'looks', 'explores', 'boards'];

export const vaultStep: Step = {
  name: 'vault',
  title: 'Ingesting the vault of Looker',
  run: async (context) => {
    const { dataFolder } = context;
    const file = join(vaultsFolder(dataFolder), `${lookerSource('').name}.vault`);
    const documents: object[] = [];
    for await (const { type, body } of context.documents.ofVault(file, dataFolder))
      if (ingestedTypes.includes(type)) documents.push(body);
    return `${await ingest(context, documents)} dashboards, looks, explores and boards ingested.`;
  },
};

/** Cooldown of both reading models: long enough to explore the demo. */
const throttledSeconds = 900;

export const throttledStep: Step = {
  name: 'throttled',
  title: 'Ingesting two late documents while every reading model is rate-limited',
  run: async (context) => {
    await throttle(context);
    await ingest(context, await documentsIn(context, 'late'));
    const waiting = await countReadByRules(context.api);
    if (waiting === 0) return 'Models read them before their limits were reached.';
    const passages = waiting === 1 ? '1 passage is' : `${waiting} passages are`;
    return `Rules read what no model could; ${passages} in the ledger to be read again by a model.`;
  },
};

/**
 * One 429 each, triggered by a probe, so that a model whose cooldown is cleared by hand works again. A model that is
 * already cooling down would not be probed: its cooldown is cleared first, and its provider's quota reset.
 */
async function throttle({ api, upstreams }: DemoContext): Promise<void> {
  upstreams.models.reset();
  const hints = ['groq-prose', 'openai-reset'] as const;
  for (const [index, { model }] of readingModels.entries())
    upstreams.models.script(model, [
      { fault: '429', hint: hints[index] ?? 'retry-after', seconds: throttledSeconds },
    ]);
  const names = readingModels.map(nameOf);
  const models = await api('GET /api/v1/models');
  const ids = models.filter(({ name }) => names.includes(name)).map(({ id }) => id);
  for (const id of ids) {
    const query = { retry_after_seconds: '0' };
    await api('PATCH /api/v1/models/:id/availability', { params: { id }, query });
  }
  await api('POST /api/v1/models/probe', { body: { ids } });
}

/** Decides one pair of names; the others stay in the review queue. */
export const reviewStep: Step = {
  name: 'review',
  title: 'Deciding one pair of names, as a person would',
  run: async ({ api }) => {
    const { pairs } = await api('GET /api/v1/knowledge/pairs', { query: { limit: 100 } });
    const clear = pairs.find(({ a, b }) => [a, b].every((each) => /\bPatel$/.test(each.canonical_name)));
    if (!clear) return `${pairs.length} pairs are in the review queue.`;
    const body = { verdict: 'same', as_of: clear.as_of } as const;
    await api('POST /api/v1/knowledge/pairs/:id/verdict', { params: { id: clear.id }, body });
    return `${clear.a.canonical_name} and ${clear.b.canonical_name} are merged, which can be undone; ${pairs.length - 1} more pairs are in the review queue.`;
  },
};

async function documentsIn(context: DemoContext, folder: string): Promise<readonly object[]> {
  const bodies: object[] = [];
  for await (const { path, file } of context.documents.ofFolder(join(documentsFolder, folder))) {
    const name = path.slice(path.lastIndexOf(folder));
    // Named by their path in the demo, not by where the demo is installed.
    bodies.push({ file: { ...file, name }, source_system: 'demo', source_id: name });
  }
  return bodies;
}

/**
 * Sends the documents, waits until they are read, and returns how many. Ingesting the same document again changes
 * nothing, so an interrupted step can be repeated.
 */
async function ingest(context: DemoContext, bodies: readonly object[]): Promise<number> {
  const { api } = context;
  for (const [index, body] of bodies.entries()) {
    await api('POST /api/v1/knowledge/artifacts', { body });
    context.show({ done: index + 1, total: bodies.length, message: 'sent' });
  }
  await until(context, async () => {
    const { counts } = await api('GET /api/v1/jobs/counts');
    const left = counts
      .filter(({ name, state }) => name === 'knowledge.ingest' && ['queued', 'running'].includes(state))
      .reduce((sum, { count }) => sum + count, 0);
    context.show({ done: Math.max(0, bodies.length - left), total: bodies.length, message: 'read' });
    return left === 0;
  });
  return bodies.length;
}

export interface Situation {
  /** Pairs in the review queue, up to the maximum of one page. */
  readonly pairs: number;
  readonly hasMorePairs: boolean;
  /** Whether one of them is about S. Okafor. */
  readonly isOkaforOpen: boolean;
  /** Concurrency limit of brightline; null when it was deleted. */
  readonly limit: number | null;
  /** Passages that rules read because no model could, still open in the ledger. */
  readonly readByRules: number;
}

/** Ledger kind of these passages. */
export const readByRulesKind = 'knowledge.chunk-read-by-rules';
const maxPairs = 100;

export async function readSituation({
  client,
  signal,
}: {
  readonly client: ApiTransport;
  readonly signal: AbortSignal;
}): Promise<Situation> {
  const api = demoApi(client, signal);
  const [{ pairs }, { limits }, readByRules] = await Promise.all([
    api('GET /api/v1/knowledge/pairs', { query: { limit: maxPairs } }),
    api('GET /api/v1/limits'),
    countReadByRules(api),
  ]);
  const names = pairs.flatMap(({ a, b }) => [a.canonical_name, b.canonical_name]);
  return {
    pairs: pairs.length,
    hasMorePairs: pairs.length >= maxPairs,
    isOkaforOpen: names.some((name) => /\bOkafor$/.test(name)),
    limit: limits.find((each) => each.organization_name === brightline.name)?.limit ?? null,
    readByRules,
  };
}

async function countReadByRules(api: DemoApi): Promise<number> {
  const { kinds } = await api('GET /api/v1/ledger/kinds');
  return kinds.find(({ kind }) => kind === readByRulesKind)?.open ?? 0;
}
