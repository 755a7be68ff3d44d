// The whole processing of a document without model and embedder: accepted, read by rules, names resolved, events and
// graph, in jobs on the same Postgres as on a server.
import { EventBus, silentLog, systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { ArtifactStore } from '../../src/knowledge/artifacts/artifact-store.ts';
import { chunkText } from '../../src/knowledge/documents/chunk.ts';
import type { ParsedDocument } from '../../src/knowledge/index.ts';
import type { LanguageModel } from '../../src/knowledge/models/structured-output.ts';
import { openKnowledge } from '../../src/knowledge/index.ts';
import type { KnowledgeOptions } from '../../src/knowledge/options.ts';
import { knowledgeOptions } from '../../src/knowledge/options.ts';
import { jobEventSpecs } from '../../src/platform/jobs/events.ts';
import { createJobQueue } from '../../src/platform/jobs/queue.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import { GeneratedMinutes } from './minutes.ts';

/** The default options. */
const options = Object.fromEntries(
  Object.entries(knowledgeOptions.fields).map(([name, field]) => [name, field.default]),
) as unknown as KnowledgeOptions;
const noModel: LanguageModel = {
  isConfigured: () => false,
  complete: () => Promise.reject(new Error('No model is called here.')),
};

export interface JobBench {
  /** Ingests documents with the given number of minutes each; resolves when all are processed. Chunks per second. */
  ingestAll(documents: number, minutesEach: number): Promise<number>;
  /** The same without the job: the rate at which the store accepts documents at best. */
  acceptAlone(documents: number, minutesEach: number): Promise<number>;
  close(): Promise<void>;
}

/** Opens knowledge with a new space on this database. */
export async function openJobBench(database: Database): Promise<JobBench> {
  const events = new EventBus(jobEventSpecs);
  const common = {
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    ledger: { record: async () => undefined },
    options: { ...options, embedder: 'none' as const },
  };
  const jobs = await createJobQueue({
    database,
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events,
    redact: (text) => text,
    runSchedules: false,
  });
  const artifacts = new ArtifactStore(database, common);
  const knowledge = await openKnowledge({ ...common, database, jobs, model: noModel });
  const { spaces } = knowledge;
  const space = await spaces.ensure(null, 'jobs');
  const other = await spaces.ensure(null, 'accepted');
  const minutes = new GeneratedMinutes(7);
  const { signal } = new AbortController();
  const ended = new Countdown();
  events.listen(({ name }) => {
    if (name === 'job:completed') ended.count();
    else if (['job:skipped', 'job:failed', 'job:retried'].includes(name)) ended.fail(new Error(name));
  });
  await knowledge.start({ isLongRunning: false, scansFolders: false });
  const document = (minutesEach: number): ParsedDocument => {
    const parts = Array.from({ length: minutesEach }, () => minutes.document());
    return {
      type: 'note',
      sourceSystem: 'bench',
      sourceId: systemIds.uuid(),
      title: parts[0]?.title ?? '',
      text: parts.map(({ text }) => text).join('\n\n'),
      sourceTs: null,
      metadata: {},
      warnings: [],
      mentions: [],
    };
  };
  const rateOf = async (documents: number, take: () => Promise<number>, end: Promise<unknown>) => {
    const startedAt = performance.now();
    let left = documents;
    let chunks = 0;
    const write = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const taken = await take();
        chunks += taken;
      }
    };
    await Promise.all(Array.from({ length: writers }, write));
    await end;
    return (chunks / (performance.now() - startedAt)) * 1000;
  };
  return {
    ingestAll: (documents, minutesEach) => {
      const take = async (): Promise<number> => {
        const { title, text } = document(minutesEach);
        return (await knowledge.artifacts.ingest(space, { content: { text }, title }, signal)).chunks;
      };
      return rateOf(documents, take, ended.start(documents));
    },
    acceptAlone: (documents, minutesEach) => {
      const take = async (): Promise<number> => {
        const incoming = document(minutesEach);
        return (await artifacts.accept(other, incoming, chunkText(incoming.text), async () => null)).chunks;
      };
      return rateOf(documents, take, Promise.resolve());
    },
    close: () => jobs.stop(0),
  };
}

const writers = 4;

/** Resolves when the given number of jobs has ended. */
class Countdown {
  #left = 0;
  #whole = Promise.withResolvers<void>();

  start(count: number): Promise<void> {
    this.#left = count;
    this.#whole = Promise.withResolvers();
    return this.#whole.promise;
  }

  count(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#whole.resolve();
  }

  fail(error: Error): void {
    this.#whole.reject(error);
  }
}
