// How well names find their entities: measured without a model and without vectors, as it must hold at least.
import { silentLog, systemClock, systemIds } from '../core/index.ts';
import type { EntitySetScore } from '../knowledge/evaluation/entities.ts';
import { evaluateEntities } from '../knowledge/evaluation/entities.ts';
import type { IncomingArtifact } from '../knowledge/index.ts';
import { knowledgeOptions } from '../knowledge/options.ts';
import { PostgresArtifactStore } from '../knowledge/artifacts/postgres-artifact-store.ts';
import { PostgresEntityStore } from '../knowledge/entities/postgres-entity-store.ts';
import { PostgresSpaceStore } from '../knowledge/spaces/postgres-space-store.ts';
import { EntityResolver } from '../knowledge/resolution/index.ts';
import type { Database } from '../platform/postgres/index.ts';
import type { EvaluationReport } from './evaluation-report.ts';

/** Records have no document of their own. */
const emptyArtifact: IncomingArtifact = {
  type: 'note',
  sourceSystem: 'evaluation',
  sourceId: 'records',
  title: 'Records',
  text: '',
  sourceTs: null,
  metadata: {},
  warnings: [],
  mentions: [],
};

export async function entityReport(
  database: Database,
  data: string,
  options: {
    readonly signal: AbortSignal;
    readonly onProgress: (what: string, done: number, total: number) => void;
  },
): Promise<EvaluationReport> {
  const spaces = new PostgresSpaceStore(database, systemClock);
  const artifacts = new PostgresArtifactStore(database, { clock: systemClock, ids: systemIds });
  const { candidatesTimeoutMs, embeddingTimeoutMs, confirmationTimeoutMs, probeAgainSeconds } =
    knowledgeOptions.fields;
  const resolver = new EntityResolver({
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    ledger: { record: () => Promise.resolve() },
    entities: new PostgresEntityStore(database),
    embedders: { current: () => ({ state: 'not-configured', why: 'Names are measured without vectors.' }) },
    model: {
      isConfigured: () => false,
      complete: () => Promise.reject(new Error('Names are measured without a model.')),
    },
    options: {
      candidatesTimeoutMs: candidatesTimeoutMs.default,
      embeddingTimeoutMs: embeddingTimeoutMs.default,
      confirmationTimeoutMs: confirmationTimeoutMs.default,
      readWithModel: false,
      probeAgainSeconds: probeAgainSeconds.default,
    },
  });
  const { sets } = await evaluateEntities(data, {
    resolver,
    newPlace: async () => {
      const space = await spaces.ensure(null, systemIds.uuid());
      const { revisionId } = await artifacts.accept(space, emptyArtifact, [], async () => null);
      return { spaceId: space.spaceId, revisionId };
    },
    clock: systemClock,
    ids: systemIds,
    signal: options.signal,
    progress: ({ set, done, total }) => options.onProgress(set, done, total),
  });
  return {
    heading: 'entities: pairs of records that were put together, without a model and without vectors',
    columns: ['SET', 'RECORDS', 'ENTITIES', 'PRECISION', 'RECALL', 'F1', 'IN DOUBT', 'SECONDS'],
    rows: sets.map(rowOf),
    notes: ['In doubt: kept apart and listed by "headworks entities review"; a model would be asked.'],
    figures: { kind: 'entities', sets: sets.map(figuresOf) },
  };
}

const rowOf = (score: EntitySetScore): readonly string[] => [
  score.set,
  String(score.records),
  String(score.entities),
  score.precision.toFixed(4),
  score.recall.toFixed(4),
  score.f1.toFixed(4),
  String(score.uncertain),
  score.seconds.toFixed(1),
];

const figuresOf = (score: EntitySetScore) => ({
  set: score.set,
  records: score.records,
  entities: score.entities,
  true_pairs: score.truePairs,
  found_pairs: score.foundPairs,
  correct_pairs: score.correctPairs,
  precision: score.precision,
  recall: score.recall,
  f1: score.f1,
  uncertain: score.uncertain,
  seconds: score.seconds,
});
