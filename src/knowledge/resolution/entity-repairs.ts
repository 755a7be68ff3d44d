// What fell back is tried again: idempotent, and a flag goes only after the look for duplicates was repeated.
import { abortable, messageOf } from '../../core/index.ts';
import type { LedgerEntry, RepairOutcome } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import type { ReviewReason } from '../ports.ts';
import { embeddingText, isVector } from './gather-evidence.ts';
import type { RepairParts } from './look-again.ts';
import { gone, liveOne, lookAgain, settle, stillBroken } from './look-again.ts';
import { matchKnown } from './match-known.ts';
import { canAskModel } from './resolution-parts.ts';

export interface EntityRepairs {
  retryEmbedding(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  retryConfirmation(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  retryCandidates(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  retryResolution(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  /** Puts undecided pairs to a model that was not there before. How many were asked, and what came of it. */
  settleUncertain(
    limit: number,
    signal: AbortSignal,
  ): Promise<{ readonly asked: number; readonly merged: number; readonly different: number }>;
}

export function entityRepairs(parts: RepairParts): EntityRepairs {
  const again = (reason: ReviewReason) => (entityId: string, signal: AbortSignal) =>
    lookAgain(parts, entityId, reason, signal);
  return {
    retryEmbedding: (entityId, signal) => retryEmbedding(parts, entityId, signal),
    retryConfirmation: again('confirmation-failed'),
    retryCandidates: again('candidates-unknown'),
    retryResolution: again('resolution-failed'),
    settleUncertain: (limit, signal) => settleUncertain(parts, limit, signal),
  };
}

/** As the ledger's registry wants them, by kind. */
export const repairOfEntity =
  (repair: (entityId: string, signal: AbortSignal) => Promise<RepairOutcome>) =>
  (entry: LedgerEntry, signal: AbortSignal): Promise<RepairOutcome> =>
    repair(entry.subject, signal);

async function retryEmbedding(
  parts: RepairParts,
  entityId: string,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const { entities, embedders, clock, options } = parts;
  const known = await liveOne(parts, entityId);
  if (!known) return gone;
  const { entity } = known;
  const { spaceId } = entity;
  const current = embedders.current();
  if (current.state === 'ready' && entity.embeddingModel !== current.embedder.model) {
    const deadline = withDeadline(signal, options.embeddingTimeoutMs, clock, 'embedding');
    try {
      const text = embeddingText(entity.canonicalName, entity.type, entity);
      const [vector] = await abortable(current.embedder.embed([text], deadline.signal), deadline.signal);
      if (!isVector(vector)) return stillBroken('The embedder gave no vector that can be used.');
      await entities.setEmbedding(spaceId, entityId, current.embedder.model, vector);
    } catch (error) {
      signal.throwIfAborted();
      return stillBroken(messageOf(error));
    } finally {
      deadline.dispose();
    }
  }
  // Nobody embeds any more: then no vector is missing either.
  return lookAgain(parts, entityId, 'embedding-missing', signal);
}

async function settleUncertain(
  parts: RepairParts,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly asked: number; readonly merged: number; readonly different: number }> {
  const result = { asked: 0, merged: 0, different: 0 };
  if (!canAskModel(parts)) return result;
  for (const pair of await parts.pairs.unasked(limit)) {
    signal.throwIfAborted();
    const a = await liveOne(parts, pair.liveA);
    const b = await liveOne(parts, pair.liveB);
    if (!a || !b || a.entity.entityId === b.entity.entityId) continue;
    const close = matchKnown(
      { profile: b.profile, name: b.entity.canonicalName, normalizedName: b.entity.normalizedName },
      [a],
    );
    if ((await settle(parts, b, close, signal)) !== null) return result;
    result.asked += 1;
    const state = await settledState(parts, pair);
    if (state === 'same') result.merged += 1;
    if (state === 'different') result.different += 1;
  }
  return result;
}

/** The pair itself may stand between entities that were merged since: what was said of their successors holds for it. */
async function settledState(
  { pairs, clock }: RepairParts,
  { spaceId, pairId, liveA, liveB }: Awaited<ReturnType<RepairParts['pairs']['unasked']>>[number],
): Promise<string> {
  const at = new Date(clock.now());
  const after = await pairs.get(spaceId, pairId);
  if (after?.state !== 'open') return after?.state ?? 'gone';
  if ((await pairs.differentFrom(spaceId, liveA)).has(liveB)) {
    await pairs.decide(spaceId, pairId, 'different', 'model', at);
    return 'different';
  }
  await pairs.noteAsked(spaceId, pairId, 'model', at);
  return 'open';
}
