// Has repairs run as soon as what they wait for is back, instead of when their time has come.
import type { Clock, EmittedEvent, JobQueue } from '../core/index.ts';
import { ingestDegradations } from '../knowledge/ingest/failure-kinds.ts';
import { resolutionLedgerKinds } from '../knowledge/resolution/index.ts';
import { ledgerRepairJob } from '../ledger/index.ts';

/** Rows that a model or an embedder can repair. */
export const modelKinds = [
  ingestDegradations.readByRules,
  ingestDegradations.notEmbedded,
  resolutionLedgerKinds['embedding-missing'],
  resolutionLedgerKinds['confirmation-failed'],
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
    if (name === 'gateway:exhausted') wereAway = true;
    const isBack = name === 'gateway:attempt-finished' && payload['outcome'] === 'success';
    if (!isBack || !wereAway || clock.monotonic() - lastMs < restMs) return;
    wereAway = false;
    lastMs = clock.monotonic();
    requestRepairs(jobs, modelKinds);
  };
}
