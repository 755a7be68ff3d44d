// Runs repairs as soon as the component they need is available again, instead of at the next schedule.
import type { Clock, EmittedEvent, JobHandler, JobQueue } from '../core/index.ts';
import { ingestDegradations } from '../knowledge/degradations.ts';
import { resolutionLedgerKinds } from '../knowledge/entities/resolve-mentions.ts';
import { searchWithoutVectors } from '../knowledge/search/vector-source.ts';
import type { RepairRequest } from '../ledger/index.ts';
import { ledgerRepairJob } from '../ledger/index.ts';

/** Ledger kinds that an embedder can repair. */
export const embedderKinds = [
  ingestDegradations.notEmbedded,
  resolutionLedgerKinds['embedding-missing'],
  searchWithoutVectors,
] as const;
/** Ledger kinds that a model or an embedder can repair. */
export const modelKinds = [
  ingestDegradations.readByRules,
  resolutionLedgerKinds['confirmation-failed'],
  ...embedderKinds,
] as const;

/**
 * Does not wait and ignores failures: repairs are also scheduled. A queued or running repair of the same kind and `key`
 * is not enqueued again.
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

/** Minimum pause between repairs, for models that answer only now and then. */
const restMs = 300_000;

/** Event listener: the first answer after all models were exhausted starts the repairs. */
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

/** Event listener: a model's cooldown was cleared. */
export function whenWarmed(askAgain: () => void): (event: EmittedEvent) => void {
  return ({ name, payload }) => {
    if (name === 'gateway:availability-updated' && payload['availableAt'] === null) askAgain();
  };
}

/** The repair job; a requested run, unlike a scheduled one, resets all cooldowns first. */
export function askingRepairs(
  handler: JobHandler<RepairRequest>,
  askAgain: () => void,
): JobHandler<RepairRequest> {
  return (request, context) => {
    if (request.due !== true) askAgain();
    return handler(request, context);
  };
}
