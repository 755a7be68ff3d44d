// Mails, notes and the vault go into knowledge: taken in one by one, then read in the background by whichever model is up.
import type { EntityPair, EntityReview } from '../../api/entities.ts';
import type { IngestResult } from '../../api/artifacts.ts';
import type { JobCounts } from '../../api/jobs.ts';
import type { Model } from '../../api/models.ts';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileDocument, documentPaths } from '../ingest-files.ts';
import { documentsOfVault } from '../vault-artifacts.ts';
import { typeOfItem } from '../vault-presence.ts';
import { vaultsFolder } from '../../platform/data-folder/layout.ts';
import type { Chapter, Stage } from './chapter.ts';
import { until } from './chapter.ts';
import { nameOf, readingModels } from './demo-models.ts';
import { lookerSource } from './demo-world.ts';
import { countReadByRules } from './look-around.ts';

const knowledge = '/api/v1/knowledge';
const documentsFolder = fileURLToPath(new URL('./documents/', import.meta.url));
const largestDocument = 1_000_000;

export const documentsChapter: Chapter = {
  name: 'documents',
  title: 'Reading mails and notes with models that throttle and fail',
  run: async (stage) => {
    const taken = await takeIn(stage, [...(await documentsIn('mails')), ...(await documentsIn('notes'))]);
    await read(stage, taken);
    return `${taken} documents are read.`;
  },
};

/** Of the vault, what people talk about; who may see what is left out. */
const talkedAbout = ['dashboards', 'looks', 'explores', 'boards'];

export const vaultChapter: Chapter = {
  name: 'vault',
  title: 'Reading what the vault holds of Looker',
  run: async (stage) => {
    const { dataFolder } = stage;
    const file = join(vaultsFolder(dataFolder), `${lookerSource('').name}.vault`);
    const documents: Body[] = [];
    for await (const document of documentsOfVault({ file, cwd: dataFolder, dataFolder }))
      if (talkedAbout.includes(typeOfItem(document.source_id))) documents.push(document);
    const taken = await takeIn(stage, documents);
    await read(stage, taken);
    return `${taken} dashboards, looks, explores and boards are read.`;
  },
};

/** How long both models that read are away: long enough to look around. */
const throttledSeconds = 900;

export const throttledChapter: Chapter = {
  name: 'throttled',
  title: 'Two late documents, while every model that reads is at its limit',
  run: async (stage) => {
    await throttle(stage);
    await read(stage, await takeIn(stage, await documentsIn('late')));
    const waiting = await countReadByRules(stage);
    if (waiting === 0) return 'Models had read them before they were at their limits.';
    const passages = waiting === 1 ? '1 passage waits' : `${waiting} passages wait`;
    return `Rules read what no model could; ${passages} in the ledger for a model to read again.`;
  },
};

/**
 * One refusal each, which a cheap question brings about: whoever is warmed by hand then answers again. Who is cooling down
 * already, as nimbus after a dozen calls, would not be asked: it is warmed before, and its provider forgets the dozen.
 */
async function throttle({ client, world, signal }: Stage): Promise<void> {
  world.models.reset();
  const hints = ['groq-prose', 'openai-reset'] as const;
  for (const [index, { model }] of readingModels.entries())
    world.models.script(model, [
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

/** One that is clear to a person who knows the company; the others wait in the queue. */
export const reviewChapter: Chapter = {
  name: 'review',
  title: 'Deciding who is who, as a person would',
  run: async (stage) => {
    const { client, signal } = stage;
    const { pairs } = await client.call<EntityReview>('GET', `${knowledge}/pairs`, {
      query: { limit: 100 },
      signal,
    });
    const clear = pairs.find(({ a, b }) => [a, b].every((each) => /\bPatel$/.test(each.canonical_name)));
    if (!clear) return `${pairs.length} pairs wait to be decided.`;
    const path = `${knowledge}/pairs/${clear.id}/verdict`;
    await client.call<EntityPair>('POST', path, {
      body: { verdict: 'same', as_of: clear.as_of },
      signal,
    });
    return `${clear.a.canonical_name} and ${clear.b.canonical_name} are one, and can be parted again; ${pairs.length - 1} more pairs wait for you.`;
  },
};

type Body = object;

async function documentsIn(folder: string): Promise<readonly Body[]> {
  const bodies: Body[] = [];
  for await (const { path } of documentPaths(join(documentsFolder, folder), '/')) {
    const { file } = await fileDocument(path, largestDocument);
    const name = path.slice(path.lastIndexOf(folder));
    // Named by where they stand in the demo, not by where the demo is installed.
    bodies.push({ file: { ...file, name }, source_system: 'demo', source_id: name });
  }
  return bodies;
}

/** The same again is nothing new: whatever was taken in before an interruption stays as it is. */
async function takeIn(stage: Stage, bodies: readonly Body[]): Promise<number> {
  const { client, signal } = stage;
  for (const [index, body] of bodies.entries()) {
    await client.call<IngestResult>('POST', `${knowledge}/artifacts`, { body, signal });
    stage.show({ done: index + 1, total: bodies.length, message: 'taken in' });
  }
  return bodies.length;
}

const unfinished = ['queued', 'running'];

/** Until nothing of these waits to be read. */
async function read(stage: Stage, taken: number): Promise<void> {
  const { client, signal } = stage;
  await until(stage, async () => {
    const { counts } = await client.call<JobCounts>('GET', '/api/v1/jobs/counts', { signal });
    const left = counts
      .filter(({ name, state }) => name === 'knowledge.ingest' && unfinished.includes(state))
      .reduce((sum, { count }) => sum + count, 0);
    stage.show({ done: Math.max(0, taken - left), total: taken, message: 'read' });
    return left === 0;
  });
}
