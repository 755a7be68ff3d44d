// Exactly which parts of an artifact are in, and which are missing and why.
import type { JobView } from '../../core/index.ts';
import type {
  ArtifactState,
  ArtifactStatus,
  Chunk,
  ChunkStep,
  DroppedCount,
  ChunkStepResult,
  StepStatus,
} from '../ports.ts';
import { chunkSteps, truncationReasons } from '../ports.ts';

export interface StatusFacts {
  readonly chunks: readonly Pick<Chunk, 'chunkId' | 'position'>[];
  readonly steps: readonly ChunkStepResult[];
  /** The job that works on it; null when there is none any more. */
  readonly job: Pick<JobView, 'state' | 'attempts' | 'reason'> | null;
  /** The model that embeds here; null: nobody does, and no vectors are wanted. */
  readonly embeddingModel: string | null;
  readonly isGraphWanted: boolean;
  /** People whom fields of the document name, beyond how many are taken. */
  readonly truncatedMentions?: number;
}

type Missing = ArtifactStatus['missing'][number] & { positions: number[] };

export function artifactStatus(facts: StatusFacts): ArtifactStatus {
  const marks = new Map(facts.steps.map((mark) => [`${mark.step} ${mark.chunkId}`, mark]));
  const missing = new Map<string, Missing>();
  const countsOf = (step: ChunkStep) => {
    const counts: Record<StepStatus | 'pending', number> = { done: 0, failed: 0, skipped: 0, pending: 0 };
    if (!isWanted(step, facts)) return counts;
    for (const { chunkId, position } of facts.chunks) {
      const mark = marks.get(`${step} ${chunkId}`);
      const status = mark && !isOutdated(mark, facts) ? mark.status : 'pending';
      counts[status] += 1;
      const left = status === 'done' && mark ? truncationOf(mark) : null;
      if (left) addMissing(missing, step, status, position, [left.cause, left.message]);
      if (status !== 'done') addMissing(missing, step, status, position, causeOf(step, status, mark, facts));
    }
    return counts;
  };
  if (facts.truncatedMentions) missing.set('', structuredTruncated(facts.truncatedMentions));
  const [index, read, embed, graph] = chunkSteps.map(countsOf) as [Counts, Counts, Counts, Counts];
  return {
    state: stateOf(facts, missing.size),
    chunks: facts.chunks.length,
    steps: { index, read, embed, graph },
    readByRules: facts.steps.filter(isByRules).length,
    modelFallbacks: standIns(facts),
    dropped: notTakenOf(facts),
    missing: [...missing.values()],
  };
}

const isByRules = ({ step, method }: ChunkStepResult): boolean => step === 'read' && method === 'rules';

/** What rules read for want of a model that was asked and failed: the mark has why. */
function standIns({ chunks, steps }: StatusFacts): ArtifactStatus['modelFallbacks'] {
  const positions = new Map(chunks.map(({ chunkId, position }) => [chunkId, position]));
  const found = Map.groupBy(
    steps.filter((mark) => isByRules(mark) && mark.status === 'done' && mark.cause !== undefined),
    ({ cause = '' }) => cause,
  );
  return Array.from(found, ([cause, marks]) => ({
    cause,
    positions: marks.flatMap(({ chunkId }) => positions.get(chunkId) ?? []),
  }));
}

/** Each reason once, with the sum over all chunks. */
function notTakenOf({ chunks, steps }: StatusFacts): ArtifactStatus['dropped'] {
  const positions = new Map(chunks.map(({ chunkId, position }) => [chunkId, position]));
  const found = new Map<DroppedCount['reason'], { count: number; positions: number[] }>();
  for (const { chunkId, dropped = [] } of steps)
    for (const { reason, count } of dropped) {
      const known = found.get(reason) ?? { count: 0, positions: [] };
      const position = positions.get(chunkId);
      known.count += count;
      if (position !== undefined) known.positions.push(position);
      found.set(reason, known);
    }
  return Array.from(found, ([reason, each]) => ({ reason, ...each }));
}

const truncatedNouns: Readonly<Record<(typeof truncationReasons)[number], string>> = {
  'mentions-too-many': 'mentions',
  'events-too-many': 'events',
  'actors-too-many': 'actors of events',
  'quotes-too-many': 'further quotes of events',
};

/** What of a reading was more than one may hold: a part of what was read is missing. Null when nothing was. */
export function truncationOf({
  dropped = [],
}: Pick<ChunkStepResult, 'dropped'>): { readonly cause: string; readonly message: string } | null {
  const parts = truncationReasons.flatMap((reason) => {
    const count = dropped.find((each) => each.reason === reason)?.count ?? 0;
    return count === 0 ? [] : [`${count} ${truncatedNouns[reason]}`];
  });
  if (parts.length === 0) return null;
  return {
    cause: tooLarge,
    message: `More was read than one reading may hold. Left out: ${parts.join(', ')}. It is read again by "headworks repair".`,
  };
}

/** Of no chunk: they are known without reading one. */
const structuredTruncated = (count: number): Missing => ({
  step: 'read',
  positions: [],
  status: 'done',
  cause: tooLarge,
  message: `Fields name more people and things than are taken of one document; left out: ${count}. Split it, and take it in again.`,
});

const tooLarge = 'READING_TOO_LARGE';

type Counts = ArtifactStatus['steps'][ChunkStep];

function isWanted(step: ChunkStep, { embeddingModel, isGraphWanted }: StatusFacts): boolean {
  return step === 'embed' ? embeddingModel !== null : step !== 'graph' || isGraphWanted;
}

/** A vector of another model is of no use. */
const isOutdated = ({ step, method }: ChunkStepResult, { embeddingModel }: StatusFacts): boolean =>
  step === 'embed' && method !== undefined && method !== embeddingModel;

type Cause = readonly [cause: string | null, message: string | null];

function causeOf(
  step: ChunkStep,
  status: StepStatus | 'pending',
  mark: ChunkStepResult | undefined,
  { job }: StatusFacts,
): Cause {
  if (status !== 'pending') return [mark?.cause ?? null, mark?.message ?? null];
  if (job?.state === 'running') return ['JOB_RUNNING', 'Its job is at work on it.'];
  if (job?.state === 'queued')
    return job.attempts === 0
      ? ['JOB_PENDING', 'Its job waits for its turn.']
      : ['JOB_PENDING', 'Its job could not go on, and is tried again by itself.'];
  const failure = job?.state === 'failed' ? `Its job failed: ${job.reason ?? 'nobody knows why'}. ` : '';
  const why = step === 'embed' && mark?.method !== undefined ? otherModel(mark.method) : failure;
  return [failure === '' ? 'NOT_TRIED' : 'JOB_FAILED', why + whoDoesIt[step]];
}

const otherModel = (model: string): string =>
  `Its vector is of ${model}, which does not embed here any more. `;

/** Looked for by jobs of a server that stays: `knowledge.backfill` and `knowledge.reembed`. */
const whoDoesIt: Readonly<Record<ChunkStep, string>> = {
  index: 'It cannot be found. Remove the artifact and take it in again.',
  read: 'A running server notices within five minutes and puts it into the ledger; "headworks repair" then reads it.',
  embed:
    'A running server makes its vector within a quarter of an hour; search finds it by its words until then.',
  graph: 'A running server puts it into the graph within five minutes after it was read.',
};

/** One row for all chunks that miss the same for the same reason. */
function addMissing(
  missing: Map<string, Missing>,
  step: ChunkStep,
  status: StepStatus | 'pending',
  position: number,
  [cause, message]: readonly [string | null, string | null],
): void {
  const key = JSON.stringify([step, status, cause, message]);
  const known = missing.get(key);
  if (known) known.positions.push(position);
  else missing.set(key, { step, positions: [position], status, cause, message });
}

function stateOf({ job }: StatusFacts, missing: number): ArtifactState {
  if (missing === 0) return 'complete';
  return job?.state === 'queued' || job?.state === 'running' ? 'processing' : 'partial';
}
