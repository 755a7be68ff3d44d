// Repeats the search for duplicates for an existing entity: merges it, keeps it separate, or asks a model.
import { messageOf, executeWithDeadline } from '../../core/index.ts';
import type { LedgerEntry, RepairOutcome } from '../../ledger/index.ts';
import type { Spaces } from '../spaces/spaces.ts';
import { billingCaller } from '../spaces/spaces.ts';
import { clueKeys, nameKeys } from './blocking-keys.ts';
import { embedInTime, embeddingText, isVector, withCoMentions } from './candidates.ts';
import { confirmWithTimeout, summarizeProfile } from './confirm.ts';
import { confidenceOf } from './decide-mentions.ts';
import type { ResolutionDeps } from './deps.ts';
import { canUseModel } from './deps.ts';
import { pickWinner } from './entity-service.ts';
import type { Decision } from './match.ts';
import { decide, matchCandidates } from './match.ts';
import type { MergeStore } from './merge-store.ts';
import { normalizeName } from './normalize.ts';
import type { PairStore } from './pair-store.ts';
import type { CandidateEntity, Entity, EntityMerge, ReviewReason } from './types.ts';

export interface ReconcileDeps extends ResolutionDeps {
  readonly pairs: PairStore;
  readonly merges: MergeStore;
  readonly spaces: Pick<Spaces, 'get'>;
  /** Called with entities whose edges a separate graph must redraw. */
  readonly onChanged?: (spaceId: number, entityIds: readonly string[]) => void;
}

export const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });
export const gone: RepairOutcome = { outcome: 'gone' };

/** Null when it was deleted or merged. */
export async function loadUnmerged(deps: ReconcileDeps, entityId: string): Promise<CandidateEntity | null> {
  const entity = await deps.entities.byId(entityId);
  return entity && entity.mergedInto === null ? deps.entities.known(entity.spaceId, entityId) : null;
}

/** Searches for duplicates again and clears the review flag for `reason` when the search completed. */
export async function reconcileEntity(
  deps: ReconcileDeps,
  entityId: string,
  reason: ReviewReason,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const known = await loadUnmerged(deps, entityId);
  if (!known) return gone;
  const { spaceId } = known.entity;
  let choice: Decision<CandidateEntity>;
  try {
    choice = await choose(deps, known, signal);
  } catch (error) {
    signal.throwIfAborted();
    return stillBroken(messageOf(error));
  }
  if (choice.kind === 'join') {
    await join(
      deps,
      known.entity,
      choice.chosen.candidate.entity,
      choice.chosen.match.reasons.join('; '),
      'score',
    );
  } else if (choice.kind === 'confirm') {
    const settled = await confirmWithModel(deps, known, choice.close, signal);
    if (settled !== null) return stillBroken(settled);
  }
  await deps.entities.flag(spaceId, entityId, null, reason);
  // What is still uncertain keeps that flag.
  const open = (await deps.pairs.of(spaceId, entityId)).some(({ state }) => state === 'open');
  if (open && choice.kind === 'confirm') await deps.entities.flag(spaceId, entityId, 'uncertain');
  return { outcome: 'repaired' };
}

async function choose(
  deps: ReconcileDeps,
  known: CandidateEntity,
  signal: AbortSignal,
): Promise<Decision<CandidateEntity>> {
  const { entities, pairs, clock, options } = deps;
  const { entity, profile } = known;
  const query = {
    normalizedNames: profile.names.map((name) => normalizeName(name, entity.type)),
    keys: [
      ...profile.names.flatMap((name) => nameKeys(name, entity.type).wanted),
      ...clueKeys(profile.emails, profile.notes),
    ],
    emails: profile.emails,
  };
  const load = async (timeout: AbortSignal) => {
    const [found = []] = await entities.candidates(entity.spaceId, [query], entity.firstArtifactUid, timeout);
    const different = await pairs.differentFrom(entity.spaceId, entity.entityId);
    const others = found.filter(
      (other) => other.entity.entityId !== entity.entityId && !different.has(other.entity.entityId),
    );
    const ids = [entity.entityId, ...others.map((other) => other.entity.entityId)];
    const names = await entities.coMentions(entity.spaceId, ids, timeout);
    const complete = (one: CandidateEntity) => withCoMentions(one, names.get(one.entity.entityId) ?? []);
    const own = {
      profile: complete(known).profile,
      name: entity.canonicalName,
      normalizedName: entity.normalizedName,
    };
    return decide(matchCandidates(own, others.map(complete)), canUseModel(deps));
  };
  return executeWithDeadline(load, {
    clock,
    timeoutMs: options.candidatesTimeoutMs,
    operation: 'candidates',
    signal,
  });
}

/** The error when a model failed; null when everything that can be decided is. */
export async function confirmWithModel(
  deps: ReconcileDeps,
  known: CandidateEntity,
  close: Extract<Decision<CandidateEntity>, { readonly kind: 'confirm' }>['close'],
  signal: AbortSignal,
): Promise<string | null> {
  const { clock, ids, pairs, watch } = deps;
  const { entity } = known;
  const draftOf = (index: number, reason: string, state: 'open' | 'different', decidedBy: string | null) => ({
    pairId: ids.uuid(),
    entityId: entity.entityId,
    otherId: close[index]?.candidate.entity.entityId ?? entity.entityId,
    confidence: confidenceOf(close[index]?.match.points ?? 0),
    reason,
    evidence: { points: close[index]?.match.points, reasons: close[index]?.match.reasons },
    state,
    decidedBy,
  });
  const put = (reason: string, state: 'open' | 'different', decidedBy: string | null) =>
    pairs.insert(
      entity.spaceId,
      close.map((_, index) => draftOf(index, reason, state, decidedBy)),
      new Date(clock.now()),
    );
  if (!canUseModel(deps)) {
    await put('Names and context are inconclusive.', 'open', null);
    return null;
  }
  try {
    const space = await deps.spaces.get(entity.spaceId);
    const question = {
      mention: summarizeProfile(known.profile),
      candidates: close.map(({ candidate }) => summarizeProfile(candidate.profile)),
      caller: space === null ? 'admin' : billingCaller(space),
    };
    const { decision, match, reason } = await confirmWithTimeout(deps, question, signal);
    watch?.asked('answered');
    const chosen = match === null ? undefined : close[match];
    if (decision === 'same' && chosen) await join(deps, entity, chosen.candidate.entity, reason, 'model');
    else if (decision === 'different') {
      await put(reason, 'different', 'model');
      await decideOpenPairs(deps, entity, close, 'different');
    } else await put(reason, 'open', 'model');
    return null;
  } catch (error) {
    signal.throwIfAborted();
    watch?.asked('failed');
    return messageOf(error);
  }
}

/** Decides pairs that were open between the two. */
async function decideOpenPairs(
  { pairs, clock }: ReconcileDeps,
  entity: Entity,
  close: readonly { readonly candidate: CandidateEntity }[],
  state: 'different',
): Promise<void> {
  const others = new Set(close.map(({ candidate }) => candidate.entity.entityId));
  for (const pair of await pairs.of(entity.spaceId, entity.entityId))
    if (pair.state === 'open' && (others.has(pair.entityA) || others.has(pair.entityB)))
      await pairs.decide(entity.spaceId, pair.pairId, state, 'model', new Date(clock.now()));
}

async function join(
  { merges, clock, onChanged }: ReconcileDeps,
  a: Entity,
  b: Entity,
  reason: string,
  decidedBy: string,
): Promise<EntityMerge> {
  const [winner, loser] = pickWinner(a, b);
  const merge = { winnerId: winner.entityId, loserId: loser.entityId, reason, decidedBy };
  const done = await merges.merge(a.spaceId, merge, new Date(clock.now()));
  onChanged?.(a.spaceId, [winner.entityId, loser.entityId]);
  return done;
}

// Repairs of degraded entities: idempotent; a flag is cleared only after the search for duplicates was repeated.

export interface EntityRepairs {
  retryEmbedding(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  retryConfirmation(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  retryCandidates(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  retryResolution(entityId: string, signal: AbortSignal): Promise<RepairOutcome>;
  /** Confirms open pairs without a model's verdict. Returns how many, and the outcomes. */
  confirmOpenPairs(
    limit: number,
    signal: AbortSignal,
  ): Promise<{ readonly asked: number; readonly merged: number; readonly different: number }>;
}

export function entityRepairs(deps: ReconcileDeps): EntityRepairs {
  const again = (reason: ReviewReason) => (entityId: string, signal: AbortSignal) =>
    reconcileEntity(deps, entityId, reason, signal);
  return {
    retryEmbedding: (entityId, signal) => retryEmbedding(deps, entityId, signal),
    retryConfirmation: again('confirmation-failed'),
    retryCandidates: again('candidates-unknown'),
    retryResolution: again('resolution-failed'),
    confirmOpenPairs: (limit, signal) => confirmOpenPairs(deps, limit, signal),
  };
}

/** As a repair of the ledger. */
export const repairOfEntity =
  (repair: (entityId: string, signal: AbortSignal) => Promise<RepairOutcome>) =>
  (entry: LedgerEntry, signal: AbortSignal): Promise<RepairOutcome> =>
    repair(entry.subject, signal);

async function retryEmbedding(
  deps: ReconcileDeps,
  entityId: string,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const { entities, embedders } = deps;
  const known = await loadUnmerged(deps, entityId);
  if (!known) return gone;
  const { entity } = known;
  const { spaceId } = entity;
  const current = embedders.current();
  if (current.state === 'ready' && entity.embeddingModel !== current.embedder.model) {
    try {
      const text = embeddingText(entity.canonicalName, entity.type, entity);
      const [vector] = await embedInTime(deps, current.embedder, [text], signal);
      if (!isVector(vector)) return stillBroken('The embedder returned no valid vector.');
      await entities.setEmbedding(spaceId, entityId, current.embedder.model, vector);
    } catch (error) {
      signal.throwIfAborted();
      return stillBroken(messageOf(error));
    }
  }
  // No embedder is configured any more: no vector is missing.
  return reconcileEntity(deps, entityId, 'embedding-missing', signal);
}

async function confirmOpenPairs(
  deps: ReconcileDeps,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly asked: number; readonly merged: number; readonly different: number }> {
  const result = { asked: 0, merged: 0, different: 0 };
  if (!canUseModel(deps)) return result;
  for (const pair of await deps.pairs.listUnconfirmed(limit)) {
    signal.throwIfAborted();
    const a = await loadUnmerged(deps, pair.liveA);
    const b = await loadUnmerged(deps, pair.liveB);
    if (!a || !b || a.entity.entityId === b.entity.entityId) continue;
    const close = matchCandidates(
      { profile: b.profile, name: b.entity.canonicalName, normalizedName: b.entity.normalizedName },
      [a],
    );
    if ((await confirmWithModel(deps, b, close, signal)) !== null) return result;
    result.asked += 1;
    const state = await recordUnlessDecided(deps, pair);
    if (state === 'same') result.merged += 1;
    if (state === 'different') result.different += 1;
  }
  return result;
}

/** The pair may be between entities merged since: a decision about their winners holds for it. */
async function recordUnlessDecided(
  { pairs, clock }: ReconcileDeps,
  { spaceId, pairId, liveA, liveB }: Awaited<ReturnType<ReconcileDeps['pairs']['listUnconfirmed']>>[number],
): Promise<string> {
  const at = new Date(clock.now());
  const after = await pairs.get(spaceId, pairId);
  if (after?.state !== 'open') return after?.state ?? 'gone';
  if ((await pairs.differentFrom(spaceId, liveA)).has(liveB)) {
    await pairs.decide(spaceId, pairId, 'different', 'model', at);
    return 'different';
  }
  await pairs.markUndecided(spaceId, pairId, 'model', at);
  return 'open';
}
