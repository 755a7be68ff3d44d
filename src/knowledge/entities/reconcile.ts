// The look for duplicates, repeated for an entity that is there: merged, kept apart, or put to a model.
import { abortable, messageOf } from '../../core/index.ts';
import type { LedgerEntry, RepairOutcome } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import { billingCaller } from '../spaces/payer-of.ts';
import type { SpaceStore } from '../spaces/types.ts';
import { clueKeys, nameKeys } from './blocking-keys.ts';
import { embeddingText, isVector } from './candidates.ts';
import { confirmWithTimeout, summarizeProfile } from './confirm.ts';
import { confidenceOf } from './decide-mentions.ts';
import type { ResolutionDeps } from './deps.ts';
import { canUseModel } from './deps.ts';
import { pickWinner } from './entity-service.ts';
import type { Decision } from './match.ts';
import { decide, matchCandidates } from './match.ts';
import type { MergeStore } from './merge-store.ts';
import { normalizeName, plainWords } from './normalize.ts';
import type { PairStore } from './pair-store.ts';
import type { CandidateEntity, Entity, EntityMerge, ReviewReason } from './types.ts';

export interface ReconcileDeps extends ResolutionDeps {
  readonly pairs: PairStore;
  readonly merges: MergeStore;
  readonly spaces: Pick<SpaceStore, 'byId'>;
  /** Told of entities whose edges a graph elsewhere has to draw anew. */
  readonly onChanged?: (spaceId: number, entityIds: readonly string[]) => void;
}

export const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });
export const gone: RepairOutcome = { outcome: 'gone' };

/** Null when it was removed, or has become part of another. */
export async function loadUnmerged(parts: ReconcileDeps, entityId: string): Promise<CandidateEntity | null> {
  const entity = await parts.entities.byId(entityId);
  return entity && entity.mergedInto === null ? parts.entities.known(entity.spaceId, entityId) : null;
}

/** The look for duplicates, repeated; the flag for `reason` goes when it came to an end. */
export async function reconcileEntity(
  parts: ReconcileDeps,
  entityId: string,
  reason: ReviewReason,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const known = await loadUnmerged(parts, entityId);
  if (!known) return gone;
  const { spaceId } = known.entity;
  let choice: Decision<CandidateEntity>;
  try {
    choice = await choose(parts, known, signal);
  } catch (error) {
    signal.throwIfAborted();
    return stillBroken(messageOf(error));
  }
  if (choice.kind === 'join') {
    await join(
      parts,
      known.entity,
      choice.chosen.candidate.entity,
      choice.chosen.match.reasons.join('; '),
      'score',
    );
  } else if (choice.kind === 'ask') {
    const settled = await settle(parts, known, choice.close, signal);
    if (settled !== null) return stillBroken(settled);
  }
  await parts.entities.flag(spaceId, entityId, null, reason);
  // What stayed uncertain keeps a flag of that name.
  const open = (await parts.pairs.of(spaceId, entityId)).some(({ state }) => state === 'open');
  if (open && choice.kind === 'ask') await parts.entities.flag(spaceId, entityId, 'uncertain');
  return { outcome: 'repaired' };
}

async function choose(
  parts: ReconcileDeps,
  known: CandidateEntity,
  signal: AbortSignal,
): Promise<Decision<CandidateEntity>> {
  const { entities, pairs, clock, options } = parts;
  const { entity, profile } = known;
  const deadline = withDeadline(signal, options.candidatesTimeoutMs, clock, 'candidates');
  try {
    const wish = {
      normalizedNames: profile.names.map((name) => normalizeName(name, entity.type)),
      keys: [
        ...profile.names.flatMap((name) => nameKeys(name, entity.type).wanted),
        ...clueKeys(profile.emails, profile.notes),
      ],
      emails: profile.emails,
    };
    const [found = []] = await abortable(
      entities.candidates(entity.spaceId, [wish], entity.firstArtifactUid, deadline.signal),
      deadline.signal,
    );
    const different = await pairs.differentFrom(entity.spaceId, entity.entityId);
    const others = found.filter(
      (other) => other.entity.entityId !== entity.entityId && !different.has(other.entity.entityId),
    );
    const ids = [entity.entityId, ...others.map((other) => other.entity.entityId)];
    const coMentions = await entities.coMentions(entity.spaceId, ids, deadline.signal);
    const withCompany = (one: CandidateEntity): CandidateEntity => {
      const names = coMentions.get(one.entity.entityId) ?? [];
      return { ...one, coMentions: names, profile: { ...one.profile, coMentions: names.map(plainWords) } };
    };
    const own = {
      profile: withCompany(known).profile,
      name: entity.canonicalName,
      normalizedName: entity.normalizedName,
    };
    return decide(matchCandidates(own, others.map(withCompany)), canUseModel(parts));
  } finally {
    deadline.dispose();
  }
}

/** Why it is still open because a model failed; null when it is settled as far as it can be. */
export async function settle(
  parts: ReconcileDeps,
  known: CandidateEntity,
  close: Extract<Decision<CandidateEntity>, { readonly kind: 'ask' }>['close'],
  signal: AbortSignal,
): Promise<string | null> {
  const { clock, ids, pairs, watch } = parts;
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
    pairs.put(
      entity.spaceId,
      close.map((_, index) => draftOf(index, reason, state, decidedBy)),
      new Date(clock.now()),
    );
  if (!canUseModel(parts)) {
    await put('Names and context do not tell.', 'open', null);
    return null;
  }
  try {
    const space = await parts.spaces.byId(entity.spaceId);
    const question = {
      mention: summarizeProfile(known.profile),
      candidates: close.map(({ candidate }) => summarizeProfile(candidate.profile)),
      caller: space === null ? 'admin' : billingCaller(space),
    };
    const { decision, match, reason } = await confirmWithTimeout(parts, question, signal);
    watch?.asked('answered');
    const chosen = match === null ? undefined : close[match];
    if (decision === 'same' && chosen) await join(parts, entity, chosen.candidate.entity, reason, 'model');
    else if (decision === 'different') {
      await put(reason, 'different', 'model');
      await decideOpen(parts, entity, close, 'different');
    } else await put(reason, 'open', 'model');
    return null;
  } catch (error) {
    signal.throwIfAborted();
    watch?.asked('failed');
    return messageOf(error);
  }
}

/** Pairs that were open between the two are answered now. */
async function decideOpen(
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

// What fell back is tried again: idempotent, and a flag goes only after the look for duplicates was repeated.

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

export function entityRepairs(parts: ReconcileDeps): EntityRepairs {
  const again = (reason: ReviewReason) => (entityId: string, signal: AbortSignal) =>
    reconcileEntity(parts, entityId, reason, signal);
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
  parts: ReconcileDeps,
  entityId: string,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const { entities, embedders, clock, options } = parts;
  const known = await loadUnmerged(parts, entityId);
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
  return reconcileEntity(parts, entityId, 'embedding-missing', signal);
}

async function settleUncertain(
  parts: ReconcileDeps,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly asked: number; readonly merged: number; readonly different: number }> {
  const result = { asked: 0, merged: 0, different: 0 };
  if (!canUseModel(parts)) return result;
  for (const pair of await parts.pairs.unconfirmed(limit)) {
    signal.throwIfAborted();
    const a = await loadUnmerged(parts, pair.liveA);
    const b = await loadUnmerged(parts, pair.liveB);
    if (!a || !b || a.entity.entityId === b.entity.entityId) continue;
    const close = matchCandidates(
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
  { pairs, clock }: ReconcileDeps,
  { spaceId, pairId, liveA, liveB }: Awaited<ReturnType<ReconcileDeps['pairs']['unconfirmed']>>[number],
): Promise<string> {
  const at = new Date(clock.now());
  const after = await pairs.get(spaceId, pairId);
  if (after?.state !== 'open') return after?.state ?? 'gone';
  if ((await pairs.differentFrom(spaceId, liveA)).has(liveB)) {
    await pairs.decide(spaceId, pairId, 'different', 'model', at);
    return 'different';
  }
  await pairs.markConfirmed(spaceId, pairId, 'model', at);
  return 'open';
}
