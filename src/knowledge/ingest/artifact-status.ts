// Exactly which parts of an artifact are in, and which are missing and why.
import type { ArtifactState, ArtifactStatus, Chunk, ChunkStep, StepMark, StepStatus } from '../ports.ts';
import { chunkSteps } from '../ports.ts';

export interface StatusFacts {
  readonly chunks: readonly Pick<Chunk, 'chunkId' | 'position'>[];
  readonly steps: readonly StepMark[];
  /** Its job has not ended. */
  readonly isUnderWay: boolean;
  /** Why the job failed, when it did. */
  readonly jobFailure: string | null;
  /** The model that embeds here; null: nobody does, and no vectors are wanted. */
  readonly embeddingModel: string | null;
  readonly isGraphWanted: boolean;
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
      if (status !== 'done') addMissing(missing, step, status, position, causeOf(status, mark, facts));
    }
    return counts;
  };
  const [index, read, embed, graph] = chunkSteps.map(countsOf) as [Counts, Counts, Counts, Counts];
  return {
    state: stateOf(facts, missing.size),
    chunks: facts.chunks.length,
    steps: { index, read, embed, graph },
    readByRules: facts.steps.filter(({ step, method }) => step === 'read' && method === 'rules').length,
    missing: [...missing.values()],
  };
}

type Counts = ArtifactStatus['steps'][ChunkStep];

function isWanted(step: ChunkStep, { embeddingModel, isGraphWanted }: StatusFacts): boolean {
  return step === 'embed' ? embeddingModel !== null : step !== 'graph' || isGraphWanted;
}

/** A vector of another model is of no use. */
const isOutdated = ({ step, method }: StepMark, { embeddingModel }: StatusFacts): boolean =>
  step === 'embed' && method !== undefined && method !== embeddingModel;

function causeOf(
  status: StepStatus | 'pending',
  mark: StepMark | undefined,
  { isUnderWay, jobFailure }: StatusFacts,
): readonly [cause: string | null, message: string | null] {
  if (status !== 'pending') return [mark?.cause ?? null, mark?.message ?? null];
  if (isUnderWay) return [null, null];
  return jobFailure === null
    ? [null, 'It has not been tried yet; "headworks repair" does it.']
    : ['JOB_FAILED', jobFailure];
}

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

function stateOf({ isUnderWay }: StatusFacts, missing: number): ArtifactState {
  if (missing === 0) return 'complete';
  return isUnderWay ? 'processing' : 'partial';
}
