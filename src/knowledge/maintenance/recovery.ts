// Runs repairs as soon as the models they need are available again, instead of at the next schedule.
import type { Clock, EmittedEvent } from '../../core/index.ts';
import { ingestDegradations } from '../degradations.ts';
import { resolutionLedgerKinds } from '../entities/resolve-mentions.ts';
import { searchWithoutVectors } from '../search/vector-source.ts';

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

/** Minimum pause between repairs, for models that respond only intermittently. */
const minPauseMs = 300_000;

/** Event listener: the first response after all models of the gateway were exhausted calls `repair`. */
export function onModelsRecovered(clock: Clock, repair: () => void): (event: EmittedEvent) => void {
  let wereExhausted = false;
  let lastMs = Number.NEGATIVE_INFINITY;
  return ({ name, payload }) => {
    if (name === 'gateway:models-exhausted') wereExhausted = true;
    const isAnswer = name === 'gateway:attempt-finished' && payload['outcome'] === 'success';
    if (!isAnswer || !wereExhausted || clock.monotonic() - lastMs < minPauseMs) return;
    wereExhausted = false;
    lastMs = clock.monotonic();
    repair();
  };
}

/** Event listener: the cooldown of a model was cleared. */
export function onCooldownCleared(reset: () => void): (event: EmittedEvent) => void {
  return ({ name, payload }) => {
    if (name === 'gateway:availability-updated' && payload['availableAt'] === null) reset();
  };
}
