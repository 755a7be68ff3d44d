// Measures entity resolution: every record is a mention in its own artifact; pairs of records are counted.
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, IdSource } from '../../src/core/index.ts';
import { CoreError, seededRandom, silentLog, systemClock, systemIds } from '../../src/core/index.ts';
import { ArtifactStore } from '../../src/knowledge/artifacts/artifact-store.ts';
import { modelCircuitBreaker } from '../../src/knowledge/degradations.ts';
import { EntityStore } from '../../src/knowledge/entities/entity-store.ts';
import { EntityResolver } from '../../src/knowledge/entities/resolve-mentions.ts';
import type { MentionPlace } from '../../src/knowledge/entities/types.ts';
import type { ParsedDocument } from '../../src/knowledge/index.ts';
import { knowledgeOptions } from '../../src/knowledge/options.ts';
import { Spaces } from '../../src/knowledge/spaces/spaces.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import type { Table } from './entity-records.ts';
import { isNicknameTable, isRecordTable, nicknamesOf, readCsv, recordsOf } from './entity-records.ts';
import type { EvaluationReport } from './environment.ts';
import type { NameRecord } from './generated-names.ts';
import { generateNames } from './generated-names.ts';

export interface EntityEvaluationDeps {
  readonly resolver: Pick<EntityResolver, 'resolve'>;
  /** A new space for a set, so that sets do not mix, with a revision as the source of everything. */
  readonly newPlace: () => Promise<Pick<MentionPlace, 'spaceId' | 'revisionId'>>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly signal: AbortSignal;
  readonly progress?: (step: { readonly set: string; readonly done: number; readonly total: number }) => void;
  /** Sizes of the generated sets. */
  readonly counts?: { readonly people: number; readonly companies: number };
  readonly seed?: number;
}

export interface EntitySetScore {
  readonly set: string;
  readonly records: number;
  readonly entities: number;
  readonly truePairs: number;
  readonly foundPairs: number;
  readonly correctPairs: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** New entities with an open pair. */
  readonly uncertain: number;
  readonly seconds: number;
}

export interface EntityEvaluation {
  readonly sets: readonly EntitySetScore[];
}

const shortFormsByDefault: ReadonlyMap<string, readonly string[]> = new Map([
  ['robert', ['bob', 'rob']],
  ['william', ['bill', 'will']],
  ['elizabeth', ['liz', 'beth']],
  ['katherine', ['kate', 'kathy']],
  ['michael', ['mike']],
  ['james', ['jim']],
  ['richard', ['rick']],
  ['margaret', ['maggie', 'peggy']],
  ['thomas', ['tom']],
  ['christopher', ['chris']],
]);

/**
 * Every CSV file of records under `dataPath` (a file, or a folder two levels deep), with what documents can have and with
 * all columns, and names generated from a seed; a
 * file of nicknames found there adds short forms to the generated names. Without a path only the generated ones.
 */
export async function evaluateEntities(
  dataPath: string | null,
  parts: EntityEvaluationDeps,
): Promise<EntityEvaluation> {
  const tables = dataPath === null ? [] : await readTables(dataPath, 2);
  if (dataPath !== null && !tables.some(({ table }) => isRecordTable(table) || isNicknameTable(table)))
    throw new CoreError(
      'INPUT_INVALID',
      `There is no CSV file of records (with a column rec_id or truth) in ${dataPath}.`,
    );
  const nicknames = tables
    .filter(({ table }) => isNicknameTable(table))
    .map(({ table }) => nicknamesOf(table));
  const sets = tables
    .filter(({ table }) => isRecordTable(table))
    .flatMap(({ name, table }) => {
      const records = recordsOf(table);
      return [
        { name: `${name}, as documents have them`, records: records.map(withoutNotes) },
        { name: `${name}, all columns`, records },
      ];
    });
  const random = seededRandom(parts.seed ?? 20_260_301);
  const counts = parts.counts ?? { people: 200, companies: 60 };
  const records = generateNames(random, counts, nicknames[0] ?? shortFormsByDefault);
  const generated = (['person', 'organization'] as const).map((type) => ({
    name: type === 'person' ? 'generated people' : 'generated companies',
    records: records.filter((record) => record.type === type),
  }));
  const scores: EntitySetScore[] = [];
  for (const set of [...sets, ...generated]) scores.push(await scoreSet(set.name, set.records, parts));
  return { sets: scores };
}

/** Documents and the API have a mail address, an organization and a role of a person, and no other columns. */
function withoutNotes({ clues, ...record }: NameRecord): NameRecord {
  const { email, organization, role } = clues;
  const kept = Object.entries({ email, organization, role }).filter(([, clue]) => clue !== undefined);
  return { ...record, clues: Object.fromEntries(kept) };
}

async function readTables(
  path: string,
  depth: number,
): Promise<readonly { readonly name: string; readonly table: Table }[]> {
  const found = await stat(path).catch(() => {
    throw new CoreError('INPUT_INVALID', `There is no file or folder ${path}.`);
  });
  if (found.isFile())
    return path.endsWith('.csv')
      ? [{ name: path.split('/').at(-1) ?? path, table: readCsv(await readFile(path, 'utf8')) }]
      : [];
  if (depth < 0) return [];
  const inside = await readdir(path);
  const tables = await Promise.all(inside.sort().map((name) => readTables(join(path, name), depth - 1)));
  return tables.flat();
}

async function scoreSet(
  set: string,
  records: readonly NameRecord[],
  { resolver, newPlace, clock, ids, signal, progress }: EntityEvaluationDeps,
): Promise<EntitySetScore> {
  const fresh = await newPlace();
  const startedAt = clock.monotonic();
  const answers: string[] = [];
  let uncertain = 0;
  for (const [index, { name, type, clues }] of records.entries()) {
    const place = { ...fresh, artifactUid: ids.uuid(), chunkId: null };
    const mention = {
      ref: String(index),
      surfaceForm: name,
      canonicalSuggestion: name,
      type,
      contextClues: clues,
      startChar: null,
      endChar: null,
      confidence: 1,
      method: 'structured',
    } as const;
    const [result] = await resolver.resolve([mention], place, 'admin', signal);
    answers.push(result?.entityId ?? `none-${index}`);
    if (result?.uncertainMatch) uncertain += 1;
    progress?.({ set, done: index + 1, total: records.length });
  }
  const seconds = (clock.monotonic() - startedAt) / 1_000;
  return {
    set,
    uncertain,
    seconds,
    ...pairScores(
      records.map(({ truth }) => truth),
      answers,
    ),
  };
}

const pairsIn = (count: number): number => (count * (count - 1)) / 2;

function countsOf(labels: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}

/**
 * Precision: pairs resolved together that belong together. Recall: pairs that belong together that were resolved
 * together.
 */
export function pairScores(
  truths: readonly string[],
  answers: readonly string[],
): Omit<EntitySetScore, 'set' | 'uncertain' | 'seconds'> {
  const pairs = (labels: readonly string[]) =>
    [...countsOf(labels).values()].reduce((sum, count) => sum + pairsIn(count), 0);
  const truePairs = pairs(truths);
  const foundPairs = pairs(answers);
  const correctPairs = pairs(truths.map((truth, index) => `${truth} ${answers[index]}`));
  const precision = foundPairs === 0 ? 1 : correctPairs / foundPairs;
  const recall = truePairs === 0 ? 1 : correctPairs / truePairs;
  const f1 = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
  return {
    records: truths.length,
    entities: countsOf(answers).size,
    truePairs,
    foundPairs,
    correctPairs,
    precision,
    recall,
    f1,
  };
}

// The report: without a model and without vectors, which is the lower bound.

/** Records have no document of their own. */
const emptyArtifact: ParsedDocument = {
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
  const spaces = new Spaces({ database, clock: systemClock });
  const artifacts = new ArtifactStore(database, { clock: systemClock, ids: systemIds });
  const { candidatesTimeoutMs, embeddingTimeoutMs, confirmationTimeoutMs, cooldownSeconds } =
    knowledgeOptions.fields;
  const resolver = new EntityResolver({
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    ledger: { record: () => Promise.resolve() },
    entities: new EntityStore(database),
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
    },
    breaker: modelCircuitBreaker(systemClock, { cooldownSeconds: cooldownSeconds.default }),
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
    heading: 'entities: pairs of records resolved to one entity, without a model and without vectors',
    columns: ['SET', 'RECORDS', 'ENTITIES', 'PRECISION', 'RECALL', 'F1', 'UNCERTAIN', 'SECONDS'],
    rows: sets.map(rowOf),
    notes: [
      'All columns: only this evaluation can set them; ingest has no records of people with columns of their own.',
      'Uncertain: separate entities with an open pair ("headworks entities review"); a model decides those that a person need not.',
    ],
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
