// Steps: ingest mails, notes and the vault, decide a pair of names, and ingest late documents while models are throttled.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IngestResult } from '../../api/artifacts.ts';
import type { EntityPair, EntityReview } from '../../api/entities.ts';
import type { JobCounts } from '../../api/jobs.ts';
import type { LedgerKinds } from '../../api/ledger.ts';
import type { Limits } from '../../api/limits.ts';
import type { Model } from '../../api/models.ts';
import { vaultsFolder } from '../../platform/data-folder/files.ts';
import type { Step, DemoContext } from './step.ts';
import { until } from './step.ts';
import { brightline } from './tenancy-steps.ts';
import { lookerSource, nameOf, readingModels } from './upstreams.ts';

const knowledge = '/api/v1/knowledge';
const documentsFolder = fileURLToPath(new URL('./documents/', import.meta.url));

export const documentsStep: Step = {
  name: 'documents',
  title: 'Ingesting mails and notes with models that rate-limit and fail',
  run: async (context) => {
    const count = await ingest(context, [
      ...(await documentsIn(context, 'mails')),
      ...(await documentsIn(context, 'notes')),
    ]);
    await waitUntilRead(context, count);
    return `${count} documents ingested.`;
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
    const documents: Body[] = [];
    for await (const { type, body } of context.documents.ofVault(file, dataFolder))
      if (ingestedTypes.includes(type)) documents.push(body);
    const count = await ingest(context, documents);
    await waitUntilRead(context, count);
    return `${count} dashboards, looks, explores and boards ingested.`;
  },
};

/** Cooldown of both reading models: long enough to explore the demo. */
const throttledSeconds = 900;

export const throttledStep: Step = {
  name: 'throttled',
  title: 'Ingesting two late documents while every reading model is rate-limited',
  run: async (context) => {
    await throttle(context);
    await waitUntilRead(context, await ingest(context, await documentsIn(context, 'late')));
    const waiting = await countReadByRules(context);
    if (waiting === 0) return 'Models read them before their limits were reached.';
    const passages = waiting === 1 ? '1 passage is' : `${waiting} passages are`;
    return `Rules read what no model could; ${passages} in the ledger to be read again by a model.`;
  },
};

/**
 * One 429 each, triggered by a probe, so that a model whose cooldown is cleared by hand works again. A model that is
 * already cooling down would not be probed: its cooldown is cleared first, and its provider's quota reset.
 */
async function throttle({ client, upstreams, signal }: DemoContext): Promise<void> {
  upstreams.models.reset();
  const hints = ['groq-prose', 'openai-reset'] as const;
  for (const [index, { model }] of readingModels.entries())
    upstreams.models.script(model, [
      { fault: '429', hint: hints[index] ?? 'retry-after', seconds: throttledSeconds },
    ]);
  const names = readingModels.map(nameOf);
  const models = await client.call<Model[]>('GET', '/api/v1/models', { signal });
  const ids = models.filter(({ name }) => names.includes(name)).map(({ id }) => id);
  for (const id of ids) {
    const query = { retry_after_seconds: 0 };
    await client.call('PATCH', `/api/v1/models/${id}/availability`, { query, signal });
  }
  await client.call('POST', '/api/v1/models/probe', { body: { ids }, signal });
}

/** Decides one pair that is clear to a person who knows the company; the others stay in the review queue. */
export const reviewStep: Step = {
  name: 'review',
  title: 'Deciding one pair of names, as a person would',
  run: async (context) => {
    const { client, signal } = context;
    const { pairs } = await client.call<EntityReview>('GET', `${knowledge}/pairs`, {
      query: { limit: 100 },
      signal,
    });
    const clear = pairs.find(({ a, b }) => [a, b].every((each) => /\bPatel$/.test(each.canonical_name)));
    if (!clear) return `${pairs.length} pairs are in the review queue.`;
    const path = `${knowledge}/pairs/${clear.id}/verdict`;
    await client.call<EntityPair>('POST', path, {
      body: { verdict: 'same', as_of: clear.as_of },
      signal,
    });
    return `${clear.a.canonical_name} and ${clear.b.canonical_name} are merged, which can be undone; ${pairs.length - 1} more pairs are in the review queue.`;
  },
};

type Body = object;

async function documentsIn(context: DemoContext, folder: string): Promise<readonly Body[]> {
  const bodies: Body[] = [];
  for await (const { path, file } of context.documents.ofFolder(join(documentsFolder, folder))) {
    const name = path.slice(path.lastIndexOf(folder));
    // Named by their path in the demo, not by where the demo is installed.
    bodies.push({ file: { ...file, name }, source_system: 'demo', source_id: name });
  }
  return bodies;
}

/** Ingesting the same document again changes nothing, so an interrupted step can be repeated. */
async function ingest(context: DemoContext, bodies: readonly Body[]): Promise<number> {
  const { client, signal } = context;
  for (const [index, body] of bodies.entries()) {
    await client.call<IngestResult>('POST', `${knowledge}/artifacts`, { body, signal });
    context.show({ done: index + 1, total: bodies.length, message: 'sent' });
  }
  return bodies.length;
}

const unfinished = ['queued', 'running'];

/** Waits until no ingest job is queued or running. */
async function waitUntilRead(context: DemoContext, count: number): Promise<void> {
  const { client, signal } = context;
  await until(context, async () => {
    const { counts } = await client.call<JobCounts>('GET', '/api/v1/jobs/counts', { signal });
    const left = counts
      .filter(({ name, state }) => name === 'knowledge.ingest' && unfinished.includes(state))
      .reduce((sum, { count: jobs }) => sum + jobs, 0);
    context.show({ done: Math.max(0, count - left), total: count, message: 'read' });
    return left === 0;
  });
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

type ReadContext = Pick<DemoContext, 'client' | 'signal'>;

/** Ledger kind of these passages. */
export const readByRulesKind = 'knowledge.chunk-read-by-rules';
const maxPairs = 100;

export async function readSituation(context: ReadContext): Promise<Situation> {
  const { client, signal } = context;
  const query = { limit: maxPairs };
  const [{ pairs }, { limits }, readByRules] = await Promise.all([
    client.call<EntityReview>('GET', '/api/v1/knowledge/pairs', { query, signal }),
    client.call<Limits>('GET', '/api/v1/limits', { signal }),
    countReadByRules(context),
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

export async function countReadByRules({ client, signal }: ReadContext): Promise<number> {
  const { kinds } = await client.call<LedgerKinds>('GET', '/api/v1/ledger/kinds', { signal });
  return kinds.find(({ kind }) => kind === readByRulesKind)?.open ?? 0;
}
