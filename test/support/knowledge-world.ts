// Fixture for knowledge: a migrated database, spaces, stores, a virtual clock and a recording ledger.
import type { IdSource, JobQueue } from '../../src/core/index.ts';
import { EventBus, seededIds, seededRandom, systemClock, systemIds } from '../../src/core/index.ts';
import { ArtifactStore } from '../../src/knowledge/artifacts/artifact-store.ts';
import { chunkText } from '../../src/knowledge/documents/chunk.ts';
import { EventStore } from '../../src/knowledge/events/event-store.ts';
import type { Chunk, IngestResult, ParsedDocument, Space } from '../../src/knowledge/index.ts';
import type { Embedder, Embedders } from '../../src/knowledge/vectors/embedders.ts';
import type { LanguageModel } from '../../src/knowledge/models/structured-output.ts';
import type { KnowledgeOptions } from '../../src/knowledge/options.ts';
import { knowledgeOptions } from '../../src/knowledge/options.ts';
import { Spaces } from '../../src/knowledge/spaces/spaces.ts';
import type { Degradation } from '../../src/ledger/index.ts';
import { jobEventSpecs } from '../../src/platform/jobs/events.ts';
import { createMemoryJobQueue } from './jobs/memory-job-queue.ts';
import { openEmbeddedDatabase } from '../../src/platform/postgres/embedded/embedded-store.ts';
import type { Database } from '../../src/platform/postgres/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import { VirtualClock } from './core/virtual-clock.ts';
import { migratedDatabase, migratedDatabases } from './migrated-databases.ts';
import { uniqueName } from './services.ts';

export interface KnowledgeWorld {
  readonly database: Database;
  /** Advances only when the test advances it. */
  readonly clock: VirtualClock;
  readonly ids: IdSource;
  readonly spaces: Spaces;
  readonly artifacts: ArtifactStore;
  readonly events: EventStore;
  /** In memory, without transactions: jobs start when the clock advances. */
  readonly jobs: JobQueue;
  /** Recorded degradations, in order. */
  readonly recorded: Degradation[];
  readonly ledger: { record(degradation: Degradation): Promise<void> };
  readonly options: KnowledgeOptions;
  /** A new space of the server, or of an organization. */
  space(organizationId?: string | null, language?: string): Promise<Space>;
  /** The id of a new organization. */
  organization(): Promise<string>;
  /** Accepts a text as the store does, without a job; `chunks` (they must follow each other in the text) as given. */
  accept(
    space: Space,
    given: Partial<ParsedDocument> & { readonly text: string },
    chunks?: readonly string[],
  ): Promise<IngestResult & { readonly stored: readonly Chunk[] }>;
  dispose(): Promise<void>;
}

/** Open one per file (beforeAll) and create a space per test; `dispose` it in afterAll. */
export async function knowledgeWorld(
  kind: 'server' | 'embedded' | 'age' = 'server',
): Promise<KnowledgeWorld> {
  const open = kind === 'age' ? openWithAge : migratedDatabases.find(([name]) => name === kind)?.[1];
  if (!open) throw new Error(`There is no database of the kind ${kind}.`);
  const { database, dispose } = await open();
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const ids = systemIds;
  const recorded: Degradation[] = [];
  const random = seededRandom(7);
  const jobs = createMemoryJobQueue({
    clock,
    random,
    ids: seededIds(random, () => clock.now()),
    events: new EventBus(jobEventSpecs),
  });
  const enqueue: JobQueue['enqueue'] = jobs.enqueue.bind(jobs);
  Object.assign(jobs, {
    enqueue: (...[job, payload, options]: Parameters<JobQueue['enqueue']>) =>
      enqueue(job, payload, { startAfterMs: 1, ...options }),
  });
  const spaces = new Spaces({ database, clock });
  const artifacts = new ArtifactStore(database, { clock, ids });
  return {
    database,
    clock,
    ids,
    spaces,
    artifacts,
    events: new EventStore(database, { clock, ids }),
    jobs,
    recorded,
    ledger: { record: async (row) => void recorded.push(row) },
    options: knowledgeDefaults,
    space: (organizationId = null, language) => spaces.ensure(organizationId, uniqueName('space'), language),
    organization: async () => {
      const id = `org_${uniqueName('t').slice(2)}`;
      await database.query(sql`
        insert into organizations (id, name, name_key, created_at) values (${id}, ${id}, ${id}, now())`);
      return id;
    },
    accept: async (space, given, chunks) => {
      const document = documentOf(given);
      const drafts = chunks === undefined ? chunkText(document.text) : draftsOf(document.text, chunks);
      const accepted = await artifacts.accept(space, document, drafts, async () => null);
      return { ...accepted, stored: await artifacts.chunks(accepted.revisionId) };
    },
    dispose,
  };
}

/** Embedded, with the optional package for Apache AGE. */
const openWithAge = async () =>
  migratedDatabase(
    await openEmbeddedDatabase({
      memory: true,
      schema: uniqueName('headworks'),
      clock: systemClock,
      withAge: true,
    }),
  );

/** The default options. */
export const knowledgeDefaults = Object.fromEntries(
  Object.entries(knowledgeOptions.fields).map(([name, field]) => [name, field.default]),
) as unknown as KnowledgeOptions;

/** A document with defaults. */
export function documentOf(given: Partial<ParsedDocument> & { readonly text: string }): ParsedDocument {
  return {
    type: 'note',
    sourceSystem: 'test',
    sourceId: uniqueName('note'),
    title: 'A note',
    sourceTs: null,
    metadata: {},
    warnings: [],
    mentions: [],
    ...given,
  };
}

function draftsOf(text: string, chunks: readonly string[]) {
  let at = 0;
  return chunks.map((piece, position) => {
    const startChar = text.indexOf(piece, at);
    if (startChar < 0)
      throw new Error(`The text does not contain the chunk ${position} after the previous one.`);
    at = startChar + piece.length;
    const tokenCount = Math.ceil(piece.length / 4);
    return { position, startChar, endChar: at, tokenCount, heading: null, text: piece };
  });
}

/** The same unit vector for the same text, near for texts that share words. */
export function wordEmbedder(model = 'words-16', dimensions = 16): Embedder {
  const vectorOf = (text: string): Float32Array => {
    const vector = new Float32Array(dimensions);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
      let hash = 7;
      for (const letter of word) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
      const at = hash % dimensions;
      vector[at] = (vector[at] ?? 0) + 1;
    }
    const length = Math.hypot(...vector) || 1;
    return vector.map((value) => value / length);
  };
  return {
    model,
    blend: { kind: 'rerank', weight: 0.2, depth: 100 },
    embed: async (texts, signal) => {
      signal.throwIfAborted();
      return texts.map(vectorOf);
    },
  };
}

export const embeddersOf = (embedder: Embedder | null): Embedders => ({
  current: () =>
    embedder === null
      ? { state: 'not-configured', why: 'This test has no embedder.' }
      : { state: 'ready', embedder },
});

/** No model is configured. */
export const noModel: LanguageModel = {
  isConfigured: () => false,
  complete: () => Promise.reject(new Error('This test has no model.')),
};
