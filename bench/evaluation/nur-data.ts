// A corpus of notes with ground truth: corpus/, ground_truth/{entities,events,graph_connections}.json,
// queries/queries.json.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../../src/core/index.ts';
import { badData } from './collections.ts';

const entity = z.object({ id: z.string(), name: z.string(), type: z.string() });
const entities = z.object({
  global_entities: z.record(z.string(), z.array(entity)),
  documents: z.record(z.string(), z.object({ entities: z.array(entity) })),
});
const events = z.object({
  documents: z.record(
    z.string(),
    z.object({
      events: z.array(
        z.object({
          category: z.string(),
          narrative: z.string(),
          actor: z.string().nullish(),
          evidence_quote: z.string(),
        }),
      ),
    }),
  ),
});
const graph = z.object({
  benchmark_queries: z.array(
    z.object({
      id: z.string(),
      seed: z.string().optional(),
      seed_from: z.string().optional(),
      seed_to: z.string().optional(),
      expected_connections: z.array(z.string()).optional(),
      expected_docs: z.array(z.string()).optional(),
    }),
  ),
});
const queries = z.object({
  queries: z.array(
    z.object({
      id: z.string(),
      query: z.string(),
      relevant_documents: z.array(z.object({ doc: z.string(), relevance: z.number() })).optional(),
    }),
  ),
});

export type TrueEntity = z.infer<typeof entity>;
export type TrueEvent = z.infer<typeof events>['documents'][string]['events'][number];
export type GraphQuestion = z.infer<typeof graph>['benchmark_queries'][number];

export interface NurData {
  /** By path under corpus/, in the order of their paths. */
  readonly documents: ReadonlyMap<string, string>;
  readonly entities: ReadonlyMap<string, readonly TrueEntity[]>;
  readonly allEntities: readonly TrueEntity[];
  readonly events: ReadonlyMap<string, readonly TrueEvent[]>;
  readonly graph: readonly GraphQuestion[];
  readonly queries: z.infer<typeof queries>['queries'];
}

/** Fails with INPUT_INVALID, naming the file. */
export async function readNurData(folder: string): Promise<NurData> {
  const truth = await json(folder, 'ground_truth/entities.json', entities);
  const eventTruth = await json(folder, 'ground_truth/events.json', events);
  const lists = <One, List>(documents: Record<string, One>, of: (one: One) => List) =>
    new Map(Object.entries(documents).map(([name, one]) => [name, of(one)]));
  return {
    documents: await corpusOf(join(folder, 'corpus')),
    entities: lists(truth.documents, (document) => document.entities),
    allEntities: Object.values(truth.global_entities).flat(),
    events: lists(eventTruth.documents, (document) => document.events),
    graph: (await json(folder, 'ground_truth/graph_connections.json', graph)).benchmark_queries,
    queries: (await json(folder, 'queries/queries.json', queries)).queries,
  };
}

async function json<Schema extends z.ZodType>(folder: string, name: string, schema: Schema) {
  try {
    return schema.parse(JSON.parse(await readFile(join(folder, name), 'utf8')));
  } catch (error) {
    const problem = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
    throw badData(
      `${name} cannot be used (${problem}). Give a folder with corpus/, ground_truth/ and queries/.`,
    );
  }
}

async function corpusOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw badData(`The corpus cannot be read: ${messageOf(error)}`);
  });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const documents = new Map<string, string>();
  for (const path of paths.sort())
    documents.set(relative(folder, path).replaceAll(sep, '/'), await readFile(path, 'utf8'));
  return documents;
}
