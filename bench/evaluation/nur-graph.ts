// The entities of an ingested corpus, and what the graph connects them with.
import type { EventStore } from '../../src/knowledge/events/event-store.ts';
import type { EntityService } from '../../src/knowledge/entities/entity-service.ts';
import type { Entity } from '../../src/knowledge/entities/types.ts';
import type { Space } from '../../src/knowledge/spaces/spaces.ts';
import type { GraphQuestion, NurData } from './nur-data.ts';
import { matchAll, nameLikeness, scoreOf } from './nur-scores.ts';

interface GraphDeps {
  readonly space: Space;
  readonly entities: Pick<EntityService, 'list' | 'get'>;
  readonly events: Pick<EventStore, 'list'>;
}

export interface Known {
  readonly entity: Entity;
  readonly artifactUids: ReadonlySet<string>;
}

const pageSize = 100;

export async function allEntities({ space, entities }: GraphDeps): Promise<readonly Known[]> {
  const known: Known[] = [];
  for (let after: string | undefined; ;) {
    const page = await entities.list({
      spaceId: space.spaceId,
      limit: pageSize,
      ...(after === undefined ? {} : { after }),
    });
    for (const entity of page) {
      const { mentions } = await entities.get(space, entity.entityId);
      known.push({ entity, artifactUids: new Set(mentions.map(({ artifactUid }) => artifactUid)) });
    }
    after = page.at(-1)?.entityId;
    if (page.length < pageSize) return known;
  }
}

export interface GraphFigures {
  readonly connectionF1: number;
  readonly documentF1: number;
  /** Questions without expected connections count as 0. */
  readonly overAll: { readonly questions: number; readonly connectionF1: number };
}

/** The mean of F1 over the questions with expectations. */
export async function scoreGraph(
  data: NurData,
  uids: ReadonlyMap<string, string>,
  known: readonly Known[],
  parts: GraphDeps,
): Promise<GraphFigures> {
  const connections: number[] = [];
  const documents: number[] = [];
  for (const question of data.graph) {
    const seeds = findSeeds(question, data, known);
    if (question.expected_connections) {
      const names = question.expected_connections.map((id) => nameOf(data, id));
      const people = await connectedTo(seeds, known, parts);
      connections.push(matchAll(people, names, nameLikeness).f1);
    }
    if (question.expected_docs) {
      const found = [...uids]
        .filter(([uid]) => seeds.length > 0 && seeds.every((seed) => seed?.artifactUids.has(uid)))
        .map(([, path]) => path);
      const expected = new Set(question.expected_docs);
      documents.push(
        scoreOf(found.filter((path) => expected.has(path)).length, found.length, expected.size).f1,
      );
    }
  }
  const connectionF1 = mean(connections);
  const questions = data.graph.length;
  const share = connections.length / Math.max(1, questions);
  return {
    connectionF1,
    documentF1: mean(documents),
    overAll: { questions, connectionF1: connectionF1 * share },
  };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const nameOf = ({ allEntities }: NurData, id: string): string =>
  allEntities.find((entity) => entity.id === id)?.name ?? id;

/** The entities a question starts from; null if unknown. */
function findSeeds(
  { seed, seed_from: from, seed_to: to }: GraphQuestion,
  data: NurData,
  known: readonly Known[],
): readonly (Known | null)[] {
  return [seed, from, to].flatMap((id) => {
    const truth = data.allEntities.find((entity) => entity.id === id);
    if (!truth) return [];
    const mostSimilar = known
      .filter(({ entity }) => entity.type === truth.type.toLowerCase())
      .map((one) => ({ one, likeness: nameLikeness(one.entity.canonicalName, truth.name) }))
      .filter(({ likeness }) => likeness > 0)
      .sort((a, b) => b.likeness - a.likeness)[0];
    return [mostSimilar?.one ?? null];
  });
}

/** Names of people who act in, or are the subject of, an event of a seed. */
async function connectedTo(
  seeds: readonly (Known | null)[],
  known: readonly Known[],
  { space, events }: GraphDeps,
): Promise<readonly string[]> {
  const people = new Map(
    known.filter(({ entity }) => entity.type === 'person').map(({ entity }) => [entity.entityId, entity]),
  );
  const names = new Set<string>();
  for (const seed of seeds) {
    if (!seed) continue;
    const { entityId } = seed.entity;
    for (const { actors, subjects } of await events.list({ spaceId: space.spaceId, entityId, limit: 1_000 }))
      for (const other of [...actors, ...subjects])
        if (other.entityId !== entityId && people.has(other.entityId)) names.add(other.name);
  }
  return [...names];
}
