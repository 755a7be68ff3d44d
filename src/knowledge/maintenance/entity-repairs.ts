// Entities that were made on a fallback, and pairs that no model was asked about.
import type { RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import type { PairStore } from '../entities/pair-store.ts';
import type { EntityRepairs } from '../entities/reconcile.ts';
import { repairOfEntity } from '../entities/reconcile.ts';
import { resolutionLedgerKinds } from '../entities/resolve-mentions.ts';
import type { KnowledgeOptions } from '../options.ts';
import { gone, repaired, stillBroken } from './outcomes.ts';

export interface EntityRepairParts {
  readonly entities: EntityRepairs;
  readonly pairs: Pick<PairStore, 'unconfirmed'>;
  /** A model that settles doubtful names is configured and wanted. */
  readonly canUseModel: () => boolean;
  readonly options: Pick<KnowledgeOptions, 'backfill'>;
}

/** Its one subject stands for all pairs. */
export const pairsNotAsked = { kind: 'knowledge.pairs-unconfirmed', subject: 'pairs' } as const;

/** Pairs that are put to a model in one go. */
const pairsAtOnce = 20;

export function registeredEntityRepairs(parts: EntityRepairParts): readonly RegisteredRepair[] {
  const { entities } = parts;
  const kinds = resolutionLedgerKinds;
  return [
    {
      kind: kinds['embedding-missing'],
      describe: 'Makes the vector that the entity lacks, then looks for duplicates again.',
      repair: repairOfEntity((id, signal) => entities.retryEmbedding(id, signal)),
    },
    {
      kind: kinds['candidates-unknown'],
      describe: 'Looks again whether the entity is known already.',
      repair: repairOfEntity((id, signal) => entities.retryCandidates(id, signal)),
    },
    {
      kind: kinds['confirmation-failed'],
      describe: 'Asks a model again whether the entity is one it may be.',
      repair: repairOfEntity((id, signal) => entities.retryConfirmation(id, signal)),
    },
    {
      kind: kinds['resolution-failed'],
      describe: 'Resolves the entity again.',
      repair: repairOfEntity((id, signal) => entities.retryResolution(id, signal)),
    },
    {
      kind: pairsNotAsked.kind,
      describe: 'Asks a model about pairs that may be the same, which no model was asked about.',
      repair: (_entry, signal) => askAboutPairs(parts, signal),
    },
  ];
}

async function askAboutPairs(
  { entities, pairs, canUseModel, options }: EntityRepairParts,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  if (!options.backfill || !canUseModel()) return gone;
  for (let before: string | undefined; ;) {
    await entities.settleUncertain(pairsAtOnce, signal);
    const [next] = await pairs.unconfirmed(1);
    if (!next) return repaired;
    // The first that is left was left before: whoever was asked does not answer.
    if (next.pairId === before) return stillBroken('The model did not answer; pairs are still open.');
    before = next.pairId;
  }
}
