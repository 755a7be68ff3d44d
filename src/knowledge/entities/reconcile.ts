// Repeats the search for duplicates for an existing entity: merges it, keeps it separate, or calls a model. Idempotent; a
// review flag is cleared only after the search was repeated.
import { withTimeout, kindOf, messageOf } from '../../core/index.ts';
import type { RepairOutcome } from '../../ledger/index.ts';
import type { Spaces } from '../spaces/spaces.ts';
import { billingCaller } from '../spaces/spaces.ts';
import { clueKeys, nameKeys } from './blocking-keys.ts';
import type { ResolutionDeps } from './candidates.ts';
import { canUseModel, embedEntities, embeddingText, isFatal, withCoMentions } from './candidates.ts';
import { confirmInTime, questionOf } from './confirm.ts';
import { pickWinner } from './entity-service.ts';
import type { Decision, MatchedCandidate, PairDecision } from './match.ts';
import {
  decide,
  decidedByRules,
  inconclusive,
  matchEntity,
  mayBeSame,
  pairsWith,
  uncertain,
} from './match.ts';
import type { MergeStore } from './merge-store.ts';
import { decidedByScore } from './merge-store.ts';
import { normalizeName } from './normalize.ts';
import type { OpenPair, PairStore } from './pair-store.ts';
import type { CandidateEntity, Entity, ReviewReason } from './types.ts';

export interface ReconcileDeps extends ResolutionDeps {
  readonly pairs: PairStore;
  readonly merges: MergeStore;
  readonly spaces: Pick<Spaces, 'get'>;
  /** Called with entities whose edges a separate graph must redraw. */
  readonly onChanged?: (spaceId: number, entityIds: readonly string[]) => void;
}

/** The points of a mail address. */
const clearMargin = 6;

/**
 * If two people have one name, colleagues and roles do not decide which of them an entity is: only an address or an id
 * does. For a short name that others have, too (S. Okafor), this includes those who are only possible matches.
 */
function cautious<T>(choice: Decision<T>): Decision<T> {
  if (choice.kind !== 'join') return choice;
  const { chosen, others } = choice;
  const isShort = chosen.match.name.relation === 'part';
  const isClear = others.every(
    ({ match }) =>
      (match.verdict !== 'same' && !isShort) || chosen.match.points - match.points >= clearMargin,
  );
  return isClear ? choice : uncertain([chosen, ...others]);
}

/** Entities of one document; pairs of others stay open. */
const maxReconciled = 200;

const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });

/** Repairs of degraded entities. */
export class EntityRepairs {
  readonly #deps: ReconcileDeps;

  constructor(deps: ReconcileDeps) {
    this.#deps = deps;
  }

  /** Searches for duplicates again and clears the review flag for `reason` when the search completed. */
  async retry(reason: ReviewReason, entityId: string, signal: AbortSignal): Promise<RepairOutcome> {
    const { entities, pairs } = this.#deps;
    const known = await this.#unmerged(entityId);
    if (!known) return { outcome: 'gone' };
    const { spaceId } = known.entity;
    let choice: Decision<CandidateEntity>;
    try {
      if (reason === 'embedding-missing') await this.#embed(known.entity, signal);
      choice = await this.#choose(known, signal);
    } catch (error) {
      signal.throwIfAborted();
      return stillBroken(messageOf(error));
    }
    if (choice.kind === 'join') {
      const { candidate, match } = choice.chosen;
      const reason = match.reasons.join('; ');
      const problem = await this.#merge(known.entity, candidate.entity, reason, decidedByScore);
      if (problem !== null) return stillBroken(problem);
    } else if (choice.kind === 'confirm') {
      const problem = await this.#confirm(known, choice.close, choice.rest, signal);
      if (problem !== null) return stillBroken(problem);
    }
    await entities.flag(spaceId, entityId, null, reason);
    // What is still uncertain keeps that flag.
    const isOpen = (await pairs.of(spaceId, entityId)).some(({ state }) => state === 'open');
    if (isOpen && choice.kind === 'confirm') await entities.flag(spaceId, entityId, 'uncertain');
    return { outcome: 'repaired' };
  }

  /**
   * Merges what has become clear with this document, whatever the order in which documents were read: parts of names that
   * one person of the document has, and pairs for which there is further evidence. Does not call a model.
   */
  async reconcile(
    revision: { readonly spaceId: number; readonly revisionId: string; readonly artifactUid: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { pairs } = this.#deps;
    await this.#separateNamesakes(revision, signal);
    const open = await pairs.openIn(revision, maxReconciled);
    for (const entityId of open) {
      const known = await this.#unmerged(entityId);
      if (!known) continue;
      try {
        const choice = await this.#choose(known, signal, revision.artifactUid);
        if (choice.kind !== 'join') continue;
        const { candidate, match } = choice.chosen;
        await this.#merge(known.entity, candidate.entity, match.reasons.join('; '), decidedByScore);
      } catch (error) {
        // The pair stays open.
        if (isFatal(error, signal) && kindOf(error) !== 'CONFLICT') throw error;
      }
    }
    await pairs.refresh(revision.spaceId, open);
  }

  async #separateNamesakes(
    revision: { readonly spaceId: number; readonly revisionId: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { entities, ids, onChanged } = this.#deps;
    try {
      const changed = await entities.separateNamesakes(revision, ids, this.#now(), signal);
      if (changed.length > 0) onChanged?.(revision.spaceId, changed);
    } catch (error) {
      // They are still marked as unsettled: the next document of the space repeats it.
      if (isFatal(error, signal) && kindOf(error) !== 'CONFLICT') throw error;
    }
  }

  /** Calls a model for open pairs without its verdict, until it fails. Returns how many it was called for. */
  async confirmOpenPairs(limit: number, signal: AbortSignal): Promise<number> {
    if (!canUseModel(this.#deps)) return 0;
    let confirmed = 0;
    for (const pair of await this.#deps.pairs.listUnconfirmed(limit)) {
      signal.throwIfAborted();
      const a = await this.#unmerged(pair.liveA);
      const b = await this.#unmerged(pair.liveB);
      if (!a || !b) continue;
      const found = matchEntity(b, [a]);
      const isVetoed = found.some(({ match }) => match.veto !== null);
      if (isVetoed)
        await this.#deps.pairs.markUndecided(pair.spaceId, pair.pairId, decidedByRules, this.#now());
      else if ((await this.#confirm(b, found, [], signal)) !== null) break;
      else await this.#recordUnlessDecided(pair);
      confirmed += 1;
    }
    return confirmed;
  }

  /** Null when it was deleted or merged. */
  async #unmerged(entityId: string): Promise<CandidateEntity | null> {
    const entity = await this.#deps.entities.byId(entityId);
    return entity ? this.#deps.entities.known(entity.spaceId, entityId) : null;
  }

  /** Without an embedder no vector is missing. */
  async #embed(entity: Entity, signal: AbortSignal): Promise<void> {
    const { entities, embedders } = this.#deps;
    const { spaceId, entityId, canonicalName, type, embeddingModel } = entity;
    const current = embedders.current();
    if (current.state !== 'ready' || embeddingModel === current.embedder.model) return;
    const text = embeddingText(canonicalName, type, entity);
    const [vector] = await embedEntities(this.#deps, current.embedder, [text], signal);
    if (vector) await entities.setEmbedding(spaceId, entityId, { model: current.embedder.model, vector });
  }

  #choose(
    known: CandidateEntity,
    signal: AbortSignal,
    artifactUid = known.entity.firstArtifactUid,
  ): Promise<Decision<CandidateEntity>> {
    const { entities, pairs, clock, options } = this.#deps;
    const { entity, profile } = known;
    const { spaceId, entityId, type } = entity;
    const query = {
      normalizedNames: profile.names.map((name) => normalizeName(name, type)),
      keys: [
        ...profile.names.flatMap((name) => nameKeys(name, type).lookup),
        ...clueKeys(profile.emails, profile.notes),
      ],
      emails: profile.emails,
    };
    const load = async (timeout: AbortSignal) => {
      const { found: all } = await entities.candidates(spaceId, [query], artifactUid, timeout);
      const [found = []] = all;
      const different = await pairs.differentFrom(spaceId, entityId);
      const others = found.filter(
        (one) => one.entity.entityId !== entityId && !different.has(one.entity.entityId),
      );
      const ids = [entityId, ...others.map((other) => other.entity.entityId)];
      const names = await entities.coMentions(spaceId, ids, timeout);
      const complete = (one: CandidateEntity) => withCoMentions(one, names.get(one.entity.entityId));
      return cautious(decide(matchEntity(complete(known), others.map(complete)), canUseModel(this.#deps)));
    };
    const timeoutMs = options.candidatesTimeoutMs;
    return withTimeout(load, { clock, timeoutMs, operation: 'candidates', signal });
  }

  /** The error when a model failed; null when everything that can be decided is. */
  async #confirm(
    { entity, profile }: CandidateEntity,
    close: readonly MatchedCandidate<CandidateEntity>[],
    rest: readonly MatchedCandidate<CandidateEntity>[],
    signal: AbortSignal,
  ): Promise<string | null> {
    const { ids, pairs, spaces } = this.#deps;
    const insert = (decision: PairDecision) =>
      pairs.insert(
        entity.spaceId,
        [
          ...pairsWith(entity.entityId, close, decision, ids),
          ...pairsWith(entity.entityId, rest, inconclusive, ids),
        ],
        this.#now(),
      );
    if (!canUseModel(this.#deps) || close.length === 0) {
      await insert(inconclusive);
      return null;
    }
    try {
      const space = await spaces.get(entity.spaceId);
      const caller = space === null ? 'admin' : billingCaller(space);
      const question = questionOf(profile, close, caller);
      const { decision, match, reason } = await confirmInTime(this.#deps, question, signal);
      const chosen = match === null ? undefined : close[match];
      if (decision === 'same' && chosen)
        return await this.#merge(entity, chosen.candidate.entity, reason, 'model');
      else {
        const state = decision === 'different' ? 'different' : 'open';
        await insert({ reason, state, decidedBy: 'model' });
        if (state === 'different') await this.#decideOpenPairs(entity, close);
      }
      return null;
    } catch (error) {
      signal.throwIfAborted();
      return messageOf(error);
    }
  }

  /** Pairs that were open between the two. */
  async #decideOpenPairs(
    { spaceId, entityId }: Entity,
    close: readonly MatchedCandidate<CandidateEntity>[],
  ): Promise<void> {
    const { pairs } = this.#deps;
    const others = new Set(close.map(({ candidate }) => candidate.entity.entityId));
    for (const { pairId, state, entityA, entityB } of await pairs.of(spaceId, entityId))
      if (state === 'open' && (others.has(entityA) || others.has(entityB)))
        await pairs.decide(spaceId, pairId, 'different', 'model', this.#now());
  }

  /** The pair may be between entities merged since: a decision about their winners holds for it. */
  async #recordUnlessDecided({ spaceId, pairId, liveA, liveB }: OpenPair): Promise<void> {
    const { pairs } = this.#deps;
    if ((await pairs.get(spaceId, pairId))?.state !== 'open') return;
    if ((await pairs.differentFrom(spaceId, liveA)).has(liveB))
      await pairs.decide(spaceId, pairId, 'different', 'model', this.#now());
    else await pairs.markUndecided(spaceId, pairId, 'model', this.#now());
  }

  /** The error when what is known about the two has changed since and contradicts; null when they are merged. */
  async #merge(a: Entity, b: Entity, reason: string, decidedBy: string): Promise<string | null> {
    const [winner, loser] = pickWinner(a, b);
    const merge = { winnerId: winner.entityId, loserId: loser.entityId, reason, decidedBy };
    try {
      await this.#deps.merges.merge(a.spaceId, merge, this.#now(), mayBeSame);
    } catch (error) {
      if (kindOf(error) === 'KNOWLEDGE_MERGE_IMPOSSIBLE') return messageOf(error);
      throw error;
    }
    this.#deps.onChanged?.(a.spaceId, [winner.entityId, loser.entityId]);
    return null;
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}
