// Knowledge on its own Postgres, filled to a given size: generated documents, events with actors and subjects.
import { silentLog, systemClock, systemIds } from '../../src/core/index.ts';
import { ArtifactStore } from '../../src/knowledge/artifacts/artifact-store.ts';
import { chunkText } from '../../src/knowledge/documents/chunk.ts';
import { SqlGraph } from '../../src/knowledge/graph/sql-graph.ts';
import type { ChunkDraft, Space } from '../../src/knowledge/index.ts';
import type { Embedders } from '../../src/knowledge/vectors/embedders.ts';
import { Search } from '../../src/knowledge/search/search.ts';
import { LexicalIndex } from '../../src/knowledge/search/lexical-index.ts';
import { SearchStore } from '../../src/knowledge/search/results.ts';
import { Spaces } from '../../src/knowledge/spaces/spaces.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import type { Database } from '../../src/platform/postgres/index.ts';
import { loadMigrations, migrate, sql } from '../../src/platform/postgres/index.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import type { GeneratedDocument } from './corpus.ts';
import { GeneratedCorpus } from './corpus.ts';

export interface KnowledgeBench {
  readonly database: Database;
  readonly space: Space;
  readonly artifacts: ArtifactStore;
  readonly vectors: VectorIndex;
  readonly corpus: GeneratedCorpus;
  readonly search: Search;
  /** Some of its documents, as a source of queries. */
  readonly sample: GeneratedDocument[];
  readonly close: () => Promise<void>;
}

const schema = 'bench_knowledge';
const noEmbedder: Embedders = { current: () => ({ state: 'not-configured', why: 'Words only.' }) };
/** The default options. */
const options = { embeddingTimeoutMs: 10_000, expansionTimeoutMs: 500, chunkLookupTimeoutMs: 2_000 };

export async function openKnowledgeBench(databaseUrl: string): Promise<KnowledgeBench> {
  const database = await openServerDatabase({
    url: databaseUrl,
    schema,
    clock: systemClock,
    statementTimeoutMs: 600_000,
  });
  const migrations = await loadMigrations();
  await migrate(database, migrations, { clock: systemClock });
  const vectors = new VectorIndex(database);
  return {
    database,
    space: await new Spaces({ database, clock: systemClock }).ensure(null, 'bench'),
    artifacts: new ArtifactStore(database, { clock: systemClock, ids: systemIds }),
    vectors,
    corpus: new GeneratedCorpus(7),
    sample: [],
    search: new Search({
      lexical: new LexicalIndex(database),
      store: new SearchStore(database),
      graph: new SqlGraph(database),
      embedders: noEmbedder,
      vectors,
      ledger: { record: async () => undefined },
      clock: systemClock,
      log: silentLog,
      options,
    }),
    close: async () => {
      await database.query(sql`drop schema if exists bench_knowledge cascade`);
      await database.query(sql`drop schema if exists bench_knowledge_jobs cascade`);
      await database.close();
    },
  };
}

/** Ingests one generated document with the given number of chunks; returns the id of its revision. */
export async function ingestOne(bench: KnowledgeBench, chunkCount = 1): Promise<string> {
  const parts = Array.from({ length: chunkCount }, () => bench.corpus.document());
  const [first = bench.corpus.document()] = parts;
  if (bench.sample.length < maxSamples) bench.sample.push(first);
  const text = parts.map((part) => part.text).join('\n');
  const incoming = {
    type: 'note',
    sourceSystem: 'bench',
    sourceId: systemIds.uuid(),
    title: first.title,
    text,
    sourceTs: null,
    metadata: {},
    warnings: [],
    mentions: [],
  } as const;
  const drafts = chunkCount === 1 ? chunkText(text) : draftsOf(parts);
  const { revisionId } = await bench.artifacts.accept(bench.space, incoming, drafts, async () => null);
  return revisionId;
}

const maxSamples = 500;

function draftsOf(parts: readonly GeneratedDocument[]): readonly ChunkDraft[] {
  let startChar = 0;
  return parts.map(({ text }, position) => {
    const endChar = startChar + text.length;
    const draft = {
      position,
      startChar,
      endChar,
      tokenCount: Math.ceil(text.length / 4),
      heading: null,
      text,
    };
    startChar = endChar + 1;
    return draft;
  });
}

const writers = 4;

/** Fills the space up to `size` chunks by concurrent writers, with `perDocument` chunks each. Chunks per second. */
export async function fillTo(bench: KnowledgeBench, size: number, perDocument: number): Promise<number> {
  const before = await chunkCount(bench);
  let left = size - before;
  const startedAt = performance.now();
  const write = async (): Promise<void> => {
    while (left > 0) {
      const count = Math.min(left, perDocument);
      left -= count;
      await ingestOne(bench, count);
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  const rate = ((size - before) / (performance.now() - startedAt)) * 1000;
  await addEvents(bench);
  // As autovacuum does some minutes later.
  await bench.database.query(sql`vacuum analyze`);
  return rate;
}

async function chunkCount({ database }: KnowledgeBench): Promise<number> {
  const { rows } = await database.query<{ count: number }>(sql`select count(*) from chunk`);
  return rows[0]?.count ?? 0;
}

const peopleCount = 2_000;

/** An event for every chunk that has none, with one of 2,000 people acting and another one it is about. */
async function addEvents({ database, space: { spaceId } }: KnowledgeBench): Promise<void> {
  await database.query(sql`
    insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, created_at, updated_at)
    select md5('person' || n)::uuid, ${spaceId}, 'person', 'Person ' || n, 'person ' || n, now(), now()
    from generate_series(0, ${peopleCount - 1}::integer) as n on conflict do nothing`);
  await database.query(sql`
    insert into semantic_event (event_id, space_id, artifact_uid, revision_id, chunk_id, category, narrative, confidence,
      method, created_at)
    select md5('event' || chunk_id)::uuid, space_id, artifact_uid, revision_id, chunk_id, 'Decision', left(text, 80), 0.8,
      'rules', now()
    from chunk on conflict do nothing`);
  const person = (offset: number) =>
    sql`md5('person' || (hashint8(chunk_id + ${offset}) & 2147483647) % ${peopleCount})::uuid`;
  await database.query(sql`
    insert into event_actor (event_id, entity_id, resolved_id, space_id, role)
    select event_id, ${person(0)}, ${person(0)}, space_id, 'owner' from semantic_event on conflict do nothing`);
  await database.query(sql`
    insert into event_subject (event_id, entity_id, resolved_id, space_id)
    select event_id, ${person(1_000_000)}, ${person(1_000_000)}, space_id from semantic_event on conflict do nothing`);
}
