// Measures retrieval and entity quality on public data, in a temporary store that is deleted afterwards.
import type { Environment, Config } from '../../src/config/index.ts';
import { CoreError, systemClock, systemIds } from '../../src/core/index.ts';
import { ArtifactStore } from '../../src/knowledge/artifacts/artifact-store.ts';
import { LexicalIndex } from '../../src/knowledge/search/lexical-index.ts';
import { Spaces } from '../../src/knowledge/spaces/spaces.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import type { Collection } from './collections.ts';
import { isCranfield, readBeir, readCranfield, readMultihop } from './collections.ts';
import { entityReport } from './entities.ts';
import type { EvaluationEnvironment, EvaluationReport } from './environment.ts';
import { openEvaluationEnvironment } from './environment.ts';
import { nurReport } from './nur.ts';
import type { BlendScores, CollectionScores } from './rank-collection.ts';
import { bestBlend, evaluateCollection } from './rank-collection.ts';

export interface EvaluationRequest {
  readonly kind: keyof typeof evaluations;
  /** A file or folder, depending on the kind. */
  readonly data: string;
  /** Also find the best weight of the embedder. */
  readonly isCalibrating: boolean;
}

export interface EvaluationOptions {
  /** Contains the keys of providers. */
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly onProgress: (what: string, done: number, total: number) => void;
}

interface Run {
  readonly config: Config;
  readonly environment: EvaluationEnvironment;
  readonly request: EvaluationRequest;
  readonly options: EvaluationOptions;
}

export const evaluations = {
  beir: (run: Run) =>
    rankingReport(run, async (folder) =>
      (await isCranfield(folder)) ? readCranfield(folder) : readBeir(folder),
    ),
  multihop: (run: Run) => rankingReport(run, readMultihop),
  entities: ({ environment, request, options }: Run) =>
    entityReport(environment.database, request.data, options),
  nur: ({ environment, request, config, options }: Run) =>
    nurReport(environment, request.data, config.knowledge, options.signal),
} satisfies Record<string, (run: Run) => Promise<EvaluationReport>>;

/** Fails with INPUT_INVALID when the data cannot be used, with CONFIG_INVALID when there is no embedder to calibrate. */
export async function evaluate(
  config: Config,
  request: EvaluationRequest,
  options: EvaluationOptions,
): Promise<EvaluationReport> {
  await using closing = new AsyncDisposableStack();
  const environment = await openEvaluationEnvironment(config, options.env, closing);
  if (request.isCalibrating && environment.whyNoEmbedder !== null)
    throw new CoreError(
      'CONFIG_INVALID',
      `Nothing was calibrated: ${environment.whyNoEmbedder} --calibrate finds the weight of an embedder; set EMBEDDER=local or the key of a model that embeds, or leave out --calibrate.`,
    );
  return await evaluations[request.kind]({ config, environment, request, options });
}

async function rankingReport(
  { environment, request, options }: Run,
  read: (path: string) => Promise<Collection>,
): Promise<EvaluationReport> {
  const collection = await read(request.data);
  const { database, embedder } = environment;
  const space = await new Spaces({ database, clock: systemClock }).ensure(null, 'evaluation');
  const scores = await evaluateCollection(
    space,
    collection,
    {
      artifacts: new ArtifactStore(database, { clock: systemClock, ids: systemIds }),
      lexical: new LexicalIndex(database),
      vectors: new VectorIndex(database),
      embedder,
      onProgress: options.onProgress,
      signal: options.signal,
    },
    request.isCalibrating,
  );
  return reportOf(request, environment, scores);
}

function reportOf(
  request: EvaluationRequest,
  environment: EvaluationEnvironment,
  scores: CollectionScores,
): EvaluationReport {
  const { documents, chunks, queries, lexical, hybrid, calibration } = scores;
  const model = environment.embedder?.model ?? null;
  const best = calibration ? bestBlend(scores) : null;
  const row = (name: string, { ndcgAt10, recallAt5, recallAt10, mrrAt10 }: typeof lexical): string[] => [
    name,
    ...[ndcgAt10, recallAt5, recallAt10, mrrAt10].map((figure) => figure.toFixed(4)),
  ];
  return {
    heading: `${request.kind}: ${documents} documents (${chunks} chunks), ${queries} queries`,
    columns: ['RANKING', 'NDCG@10', 'RECALL@5', 'RECALL@10', 'MRR@10'],
    rows: [
      row('words only', lexical),
      ...(hybrid ? [row(`with ${model}, ${blendText(hybrid)}`, hybrid.figures)] : []),
      ...(calibration ?? []).map((one) => row(`tried: ${blendText(one)}`, one.figures)),
    ],
    notes: [
      ...(environment.whyNoEmbedder === null ? [] : [`Without vectors: ${environment.whyNoEmbedder}`]),
      ...(calibration ? [adviceOf(model, best)] : []),
    ],
    figures: {
      kind: request.kind,
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

/** In the format of EMBEDDING_BLEND. */
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
