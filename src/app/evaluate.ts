// Measures quality on public data that somebody brings, in a house that is thrown away afterwards.
import type { Config } from '../config/index.ts';
import { CoreError, systemClock, systemIds } from '../core/index.ts';
import { readBeir } from '../knowledge/evaluation/beir.ts';
import type { Collection } from '../knowledge/evaluation/collection.ts';
import { isCranfield, readCranfield } from '../knowledge/evaluation/cranfield.ts';
import type { BlendScores, CollectionScores } from '../knowledge/evaluation/evaluate-collection.ts';
import { bestBlend, evaluateCollection } from '../knowledge/evaluation/evaluate-collection.ts';
import { readMultihop } from '../knowledge/evaluation/multihop.ts';
import { PostgresArtifactStore } from '../knowledge/artifacts/postgres-artifact-store.ts';
import { PostgresLexicalIndex } from '../knowledge/search/postgres-lexical-index.ts';
import { PostgresSpaceStore } from '../knowledge/spaces/postgres-space-store.ts';
import { PostgresVectorIndex } from '../knowledge/vectors/postgres-vector-index.ts';
import { entityReport } from './evaluate-entities.ts';
import { nurReport } from './evaluate-nur.ts';
import type { EvaluationReport } from './evaluation-report.ts';
import type { EvaluationWorld } from './evaluation-world.ts';
import { openEvaluationWorld } from './evaluation-world.ts';
import type { Environment } from './extraction-environment.ts';

export interface EvaluationWish {
  readonly kind: keyof typeof evaluations;
  /** A file or folder, as the kind of evaluation has it. */
  readonly data: string;
  /** Also find the weight of the embedder. */
  readonly isCalibrating: boolean;
}

export interface EvaluationOptions {
  /** Where the keys of providers are. */
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly onProgress: (what: string, done: number, total: number) => void;
}

export type { EvaluationReport };

interface Run {
  readonly config: Config;
  readonly world: EvaluationWorld;
  readonly wish: EvaluationWish;
  readonly options: EvaluationOptions;
}

export const evaluations = {
  beir: (run: Run) =>
    rankingReport(run, async (folder) =>
      (await isCranfield(folder)) ? readCranfield(folder) : readBeir(folder),
    ),
  multihop: (run: Run) => rankingReport(run, readMultihop),
  entities: ({ world, wish, options }: Run) => entityReport(world.database, wish.data, options),
  nur: ({ world, wish, config, options }: Run) =>
    nurReport(world, wish.data, config.knowledge, options.signal),
} satisfies Record<string, (run: Run) => Promise<EvaluationReport>>;

/** Fails with INPUT_INVALID when the data cannot be used, with CONFIG_INVALID when there is no embedder to calibrate. */
export async function evaluate(
  config: Config,
  wish: EvaluationWish,
  options: EvaluationOptions,
): Promise<EvaluationReport> {
  await using closing = new AsyncDisposableStack();
  const world = await openEvaluationWorld(config, options.env, closing);
  if (wish.isCalibrating && world.whyNoEmbedder !== null)
    throw new CoreError(
      'CONFIG_INVALID',
      `Nothing was calibrated: ${world.whyNoEmbedder} --calibrate finds the weight of an embedder; set EMBEDDER=local or the key of a model that embeds, or leave out --calibrate.`,
    );
  return await evaluations[wish.kind]({ config, world, wish, options });
}

async function rankingReport(
  { world, wish, options }: Run,
  read: (path: string) => Promise<Collection>,
): Promise<EvaluationReport> {
  const collection = await read(wish.data);
  const { database, embedder } = world;
  const space = await new PostgresSpaceStore(database, systemClock).ensure(null, 'evaluation');
  const scores = await evaluateCollection(
    space,
    collection,
    {
      artifacts: new PostgresArtifactStore(database, { clock: systemClock, ids: systemIds }),
      lexical: new PostgresLexicalIndex(database),
      vectors: new PostgresVectorIndex(database),
      embedder,
      onProgress: options.onProgress,
      signal: options.signal,
    },
    wish.isCalibrating,
  );
  return reportOf(wish, world, scores);
}

function reportOf(wish: EvaluationWish, world: EvaluationWorld, scores: CollectionScores): EvaluationReport {
  const { documents, chunks, queries, lexical, hybrid, calibration } = scores;
  const model = world.embedder?.model ?? null;
  const best = calibration ? bestBlend(scores) : null;
  const row = (name: string, { ndcgAt10, recallAt5, recallAt10, mrrAt10 }: typeof lexical): string[] => [
    name,
    ...[ndcgAt10, recallAt5, recallAt10, mrrAt10].map((figure) => figure.toFixed(4)),
  ];
  return {
    heading: `${wish.kind}: ${documents} documents (${chunks} chunks), ${queries} queries`,
    columns: ['RANKING', 'NDCG@10', 'RECALL@5', 'RECALL@10', 'MRR@10'],
    rows: [
      row('words only', lexical),
      ...(hybrid ? [row(`with ${model}, ${blendText(hybrid)}`, hybrid.figures)] : []),
      ...(calibration ?? []).map((one) => row(`tried: ${blendText(one)}`, one.figures)),
    ],
    notes: [
      ...(world.whyNoEmbedder === null ? [] : [`Without vectors: ${world.whyNoEmbedder}`]),
      ...(calibration ? [adviceOf(model, best)] : []),
    ],
    figures: {
      kind: wish.kind,
      documents,
      chunks,
      queries,
      embedder: model,
      lexical: snakeFigures(lexical),
      hybrid: hybrid && { blend: blendText(hybrid), ...snakeFigures(hybrid.figures) },
      ...(calibration
        ? {
            calibration: calibration.map((one) => ({ blend: blendText(one), ...snakeFigures(one.figures) })),
            best: best && blendText(best),
          }
        : {}),
    },
  };
}

/** As EMBEDDING_BLEND takes it. */
const blendText = ({ blend }: BlendScores): string => (blend.kind === 'rrf' ? 'rrf' : String(blend.weight));

function adviceOf(model: string | null, best: BlendScores | null): string {
  return best
    ? `On this data ${model} is best with EMBEDDING_BLEND=${blendText(best)}.`
    : `On this data ${model} ranks no better than words alone: EMBEDDING_BLEND=0.`;
}

const snakeFigures = ({ ndcgAt10, recallAt5, recallAt10, mrrAt10 }: CollectionScores['lexical']) => ({
  ndcg_at_10: ndcgAt10,
  recall_at_5: recallAt5,
  recall_at_10: recallAt10,
  mrr_at_10: mrrAt10,
});
