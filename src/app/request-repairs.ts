// Has repairs run as soon as what they wait for is back, instead of when their time has come; and ask the parts they need.
import type { Clock, EmittedEvent, JobHandler, JobQueue } from '../core/index.ts';
import { ingestDegradations } from '../knowledge/degradations.ts';
import { resolutionLedgerKinds } from '../knowledge/entities/resolve-mentions.ts';
import { searchWithoutVectors } from '../knowledge/search/vector-source.ts';
import type { RepairRequest } from '../ledger/index.ts';
import { ledgerRepairJob } from '../ledger/index.ts';

/** Rows that an embedder can repair. */
export const embedderKinds = [
  ingestDegradations.notEmbedded,
  resolutionLedgerKinds['embedding-missing'],
  searchWithoutVectors,
] as const;
/** Rows that a model or an embedder can repair. */
export const modelKinds = [
  ingestDegradations.readByRules,
  resolutionLedgerKinds['confirmation-failed'],
  ...embedderKinds,
] as const;

/**
 * Nobody waits: the ledger's own schedule comes anyway. While a repair of the kind with the same `key` waits or runs,
 * another is not asked for.
 */
export function requestRepairs(
  jobs: Pick<JobQueue, 'enqueue'>,
  kinds: readonly string[],
  key?: string,
): void {
  for (const kind of kinds) {
    const repair = jobs.enqueue(ledgerRepairJob, { kind }, { key: JSON.stringify([kind, key]) });
    repair.catch(() => undefined);
  }
}

/** Models that answer now and then are not asked to repair each time they do. */
const restMs = 300_000;

/** Listen with it to everything that happens: after no model could answer, the first answer starts the repairs. */
export function repairWhenModelsAnswer(
  clock: Clock,
  jobs: Pick<JobQueue, 'enqueue'>,
): (event: EmittedEvent) => void {
  let wereAway = false;
  let lastMs = Number.NEGATIVE_INFINITY;
  return ({ name, payload }) => {
    if (name === 'gateway:models-exhausted') wereAway = true;
    const isBack = name === 'gateway:attempt-finished' && payload['outcome'] === 'success';
    if (!isBack || !wereAway || clock.monotonic() - lastMs < restMs) return;
    wereAway = false;
    lastMs = clock.monotonic();
    requestRepairs(jobs, modelKinds);
  };
}

/** Listen with it: somebody said that a model may be asked again ("headworks models clear-cooldown"). */
export function whenWarmed(askAgain: () => void): (event: EmittedEvent) => void {
  return ({ name, payload }) => {
    if (name === 'gateway:availability-updated' && payload['availableAt'] === null) askAgain();
  };
}

/** The repair job; one that somebody asks for asks every part, however lately it failed. */
export function askingRepairs(
  handler: JobHandler<RepairRequest>,
  askAgain: () => void,
): JobHandler<RepairRequest> {
  return (request, context) => {
    if (request.due !== true) askAgain();
    return handler(request, context);
  };
}
