// The look for duplicates, repeated for an entity that is there: merged, kept apart, or put to a model.
import { abortable, messageOf } from '../../core/index.ts';
import type { LedgerEntry, RepairOutcome } from '../../ledger/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import { billingCaller } from '../spaces/payer-of.ts';
import type { SpaceStore } from '../spaces/types.ts';
import { clueKeys, nameKeys } from './blocking-keys.ts';
import { embeddingText, isVector } from './candidates.ts';
import { confirmInTime, describeProfile } from './confirm.ts';
import { confidenceOf } from './decide-mentions.ts';
import type { ResolutionParts } from './deps.ts';
import { canAskModel } from './deps.ts';
import { inOrderOfMerit } from './entity-service.ts';
import type { Choice } from './match.ts';
import { chooseMatch, matchKnown } from './match.ts';
import { normalizeName, plainWords } from './normalize.ts';
import type { Entity, EntityMerge, KnownEntity, MergeStore, PairStore, ReviewReason } from './types.ts';

export interface RepairParts extends ResolutionParts {
  readonly pairs: PairStore;
  readonly merges: MergeStore;
  readonly spaces: Pick<SpaceStore, 'byId'>;
  /** Told of entities whose edges a graph elsewhere has to draw anew. */
  readonly onChanged?: (spaceId: number, entityIds: readonly string[]) => void;
}

export const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });
export const gone: RepairOutcome = { outcome: 'gone' };

/** Null when it was removed, or has become part of another. */
export async function liveOne(parts: RepairParts, entityId: string): Promise<KnownEntity | null> {
  const entity = await parts.entities.byId(entityId);
  return entity && entity.mergedInto === null ? parts.entities.known(entity.spaceId, entityId) : null;
}

/** The look for duplicates, repeated; the flag for `reason` goes when it came to an end. */
export async function lookAgain(
  parts: RepairParts,
  entityId: string,
  reason: ReviewReason,
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const known = await liveOne(parts, entityId);
  if (!known) return gone;
  const { spaceId } = known.entity;
  let choice: Choice<KnownEntity>;
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
  parts: RepairParts,
  known: KnownEntity,
  signal: AbortSignal,
): Promise<Choice<KnownEntity>> {
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
    const companions = await entities.companions(entity.spaceId, ids, deadline.signal);
    const withCompany = (one: KnownEntity): KnownEntity => {
      const names = companions.get(one.entity.entityId) ?? [];
      return { ...one, companions: names, profile: { ...one.profile, companions: names.map(plainWords) } };
    };
    const own = {
      profile: withCompany(known).profile,
      name: entity.canonicalName,
      normalizedName: entity.normalizedName,
    };
    return chooseMatch(matchKnown(own, others.map(withCompany)), canAskModel(parts));
  } finally {
    deadline.dispose();
  }
}

/** Why it is still open because a model failed; null when it is settled as far as it can be. */
export async function settle(
  parts: RepairParts,
  known: KnownEntity,
  close: Extract<Choice<KnownEntity>, { readonly kind: 'ask' }>['close'],
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
  if (!canAskModel(parts)) {
    await put('Names and context do not tell.', 'open', null);
    return null;
  }
  try {
    const space = await parts.spaces.byId(entity.spaceId);
    const question = {
      mention: describeProfile(known.profile),
      candidates: close.map(({ candidate }) => describeProfile(candidate.profile)),
      caller: space === null ? 'admin' : billingCaller(space),
    };
    const { decision, match, reason } = await confirmInTime(parts, question, signal);
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
  { pairs, clock }: RepairParts,
  entity: Entity,
  close: readonly { readonly candidate: KnownEntity }[],
  state: 'different',
): Promise<void> {
  const others = new Set(close.map(({ candidate }) => candidate.entity.entityId));
  for (const pair of await pairs.of(entity.spaceId, entity.entityId))
    if (pair.state === 'open' && (others.has(pair.entityA) || others.has(pair.entityB)))
      await pairs.decide(entity.spaceId, pair.pairId, state, 'model', new Date(clock.now()));
}

async function join(
  { merges, clock, onChanged }: RepairParts,
  a: Entity,
  b: Entity,
  reason: string,
  decidedBy: string,
): Promise<EntityMerge> {
  const [winner, loser] = inOrderOfMerit(a, b);
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
