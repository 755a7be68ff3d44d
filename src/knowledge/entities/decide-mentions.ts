// Decides the names of one chunk in order: join an entity, create one, or create one with an open pair.
import type { MentionEvidence } from './candidates.ts';
import { isFatal } from './candidates.ts';
import type { Profile } from './compare-clues.ts';
import type { Confirmation } from './confirm.ts';
import { confirmWithTimeout, summarizeProfile, describeConfirmationFailure } from './confirm.ts';
import type { ResolutionDeps } from './deps.ts';
import { canUseModel } from './deps.ts';
import type { OpenDraft } from './entity-drafts.ts';
import { additionFor, EntityDrafts } from './entity-drafts.ts';
import type { MatchedCandidate } from './match.ts';
import { decide, matchCandidates, minSamePoints } from './match.ts';
import { unnamedEntityName } from './normalize.ts';
import type {
  EntityAddition,
  CandidateEntity,
  MentionGroup,
  MentionPlace,
  PairDraft,
  ResolutionPlan,
  ReviewReason,
} from './types.ts';

/** What a name was resolved to: an existing entity, or one created for this chunk. */
type Target =
  | {
      readonly kind: 'known';
      readonly known: CandidateEntity;
      readonly id: string;
      readonly profile: Profile;
    }
  | { readonly kind: 'draft'; readonly draft: OpenDraft; readonly id: string; readonly profile: Profile };

export interface Outcome {
  readonly entityId: string;
  readonly isNew: boolean;
  readonly isJoinedByOtherName: boolean;
  readonly uncertainMatch: string | null;
  /** The canonical name of the entity. */
  readonly canonicalName: string;
}

/** A degradation of an entity created for this chunk. */
export interface Fallback {
  readonly reason: Exclude<ReviewReason, 'uncertain'>;
  readonly entityId: string;
  readonly group: MentionGroup;
  readonly error: unknown;
}

/** Confirmations per chunk; pairs beyond them stay open and can be confirmed later. */
const maxConfirmations = 25;

export class ChunkResolution {
  readonly outcomes = new Map<MentionGroup, Outcome>();
  readonly fallbacks: Fallback[] = [];
  readonly #deps: ResolutionDeps;
  readonly #breaker: Required<ResolutionDeps>['breaker'];
  readonly #place: MentionPlace;
  readonly #caller: string;
  readonly #signal: AbortSignal;
  readonly #drafts = new EntityDrafts();
  readonly #additions: EntityAddition[] = [];
  readonly #pairs: PairDraft[] = [];
  /** All entities that were compared with a name. */
  readonly #seen = new Set<string>();
  /** Existing entities that names of this chunk were resolved to. */
  readonly #inChunk = new Set<string>();
  #confirmations = 0;

  constructor(
    deps: ResolutionDeps & Required<Pick<ResolutionDeps, 'breaker'>>,
    place: MentionPlace,
    caller: string,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#breaker = deps.breaker;
    this.#place = place;
    this.#caller = caller;
    this.#signal = signal;
  }

  get plan(): ResolutionPlan {
    const { artifactUid, revisionId } = this.#place;
    const drafts = this.#drafts.all.map((draft) => ({
      entityId: draft.entityId,
      type: draft.profile.type,
      canonicalName: draft.name,
      normalizedName: draft.normalizedName,
      names: draft.names,
      clues: draft.clues,
      embedding: draft.embedding,
      artifactUid,
      revisionId,
      reviewReason: draft.reviewReason,
      isUnchecked: draft.isUnchecked,
    }));
    return {
      place: { artifactUid, revisionId },
      drafts,
      additions: this.#additions,
      pairs: this.#pairs,
      seen: [...this.#seen],
    };
  }

  /** Fails only for errors after which nothing can continue (`isFatal`). */
  async decide(evidence: MentionEvidence): Promise<void> {
    for (const { entity } of evidence.known) this.#seen.add(entity.entityId);
    try {
      await this.#decide(evidence);
    } catch (error) {
      if (isFatal(error, this.#signal)) throw error;
      this.#create(evidence, 'resolution-failed', error);
    }
  }

  /** Last resort: an entity with the name as given, without candidates. */
  createBasic(evidence: MentionEvidence, error: unknown): void {
    this.#create(evidence, 'resolution-failed', error);
  }

  async #decide(evidence: MentionEvidence): Promise<void> {
    const { group } = evidence;
    const choice = decide(this.#matches(evidence), canUseModel(this.#deps));
    if (choice.kind === 'join') this.#join(group, choice.chosen.candidate);
    else if (evidence.candidatesProblem !== null)
      this.#create(evidence, 'candidates-unknown', evidence.candidatesProblem);
    else if (choice.kind === 'create') this.#create(evidence, null, null);
    else await this.#confirmWithModel(evidence, choice.close);
  }

  #matches({ group, known }: MentionEvidence): readonly MatchedCandidate<Target>[] {
    const there = matchCandidates(group, known, this.#inChunk).map(({ candidate, ...rest }) => ({
      ...rest,
      candidate: {
        kind: 'known',
        known: candidate,
        id: candidate.entity.entityId,
        profile: candidate.profile,
      } as const,
    }));
    const drafted = this.#drafts.match(group).map(({ candidate, ...rest }) => ({
      ...rest,
      candidate: {
        kind: 'draft',
        draft: candidate,
        id: candidate.entityId,
        profile: candidate.profile,
      } as const,
    }));
    return [...there, ...drafted];
  }

  #join(group: MentionGroup, target: Target, suggestedName = ''): void {
    const isJoinedByOtherName =
      target.kind === 'known'
        ? target.known.entity.normalizedName !== group.normalizedName
        : target.draft.normalizedName !== group.normalizedName;
    let canonicalName: string;
    if (target.kind === 'draft') {
      this.#drafts.join(target.draft, group);
      canonicalName = target.draft.name;
    } else {
      this.#inChunk.add(target.id);
      const addition = additionFor(group, target.known, suggestedName);
      if (addition) this.#additions.push(addition);
      canonicalName = addition?.betterName?.canonicalName ?? target.known.entity.canonicalName;
    }
    this.outcomes.set(group, {
      entityId: target.id,
      isNew: false,
      isJoinedByOtherName,
      uncertainMatch: null,
      canonicalName,
    });
  }

  #create(
    evidence: MentionEvidence,
    reason: ReviewReason | null,
    error: unknown,
    uncertainMatch: string | null = null,
  ): string {
    const { group, embedding, embeddingProblem } = evidence;
    const entityId = this.#deps.ids.uuid();
    const isWithoutVector = embeddingProblem !== null;
    const nameless = group.name === unnamedEntityName ? 'uncertain' : null;
    const reviewReason = reason ?? (isWithoutVector ? 'embedding-missing' : nameless);
    const isUnchecked = reason === 'candidates-unknown';
    this.#drafts.add(group, entityId, { embedding, reviewReason, isUnchecked });
    this.outcomes.set(group, {
      entityId,
      isNew: true,
      isJoinedByOtherName: false,
      uncertainMatch,
      canonicalName: group.name,
    });
    if (reason !== null && reason !== 'uncertain') this.fallbacks.push({ reason, entityId, group, error });
    if (isWithoutVector)
      this.fallbacks.push({ reason: 'embedding-missing', entityId, group, error: embeddingProblem });
    return entityId;
  }

  /** Uncertain: a model confirms one of the candidates; otherwise the entity is created with open pairs. */
  async #confirmWithModel(
    evidence: MentionEvidence,
    close: readonly MatchedCandidate<Target>[],
  ): Promise<void> {
    const [best] = close;
    const uncertainMatch = best?.candidate.id ?? null;
    if (!canUseModel(this.#deps) || this.#confirmations >= maxConfirmations) {
      const reason = 'Names and context are inconclusive.';
      this.#addPairs(this.#create(evidence, 'uncertain', null, uncertainMatch), close, {
        reason,
        state: 'open',
      });
      return;
    }
    const answer = await this.#askModel(evidence, close);
    if ('failed' in answer) {
      const reason = describeConfirmationFailure(answer.failed);
      const made = this.#create(evidence, 'confirmation-failed', answer.failed, uncertainMatch);
      this.#addPairs(made, close, { reason, state: 'open' });
      return;
    }
    const { decision, reason, match, canonicalName } = answer;
    const chosen = match === null ? undefined : close[match];
    if (decision === 'same' && chosen) this.#join(evidence.group, chosen.candidate, canonicalName);
    else if (decision === 'different')
      this.#addPairs(this.#create(evidence, null, null), close, {
        reason,
        state: 'different',
        decidedBy: 'model',
      });
    else
      this.#addPairs(this.#create(evidence, 'uncertain', null, uncertainMatch), close, {
        reason,
        state: 'open',
        decidedBy: 'model',
      });
  }

  async #askModel(
    { group }: MentionEvidence,
    close: readonly MatchedCandidate<Target>[],
  ): Promise<Confirmation | { readonly failed: unknown }> {
    const { watch } = this.#deps;
    const question = {
      mention: summarizeProfile(group.profile),
      candidates: close.map(({ candidate }) => summarizeProfile(candidate.profile)),
      caller: this.#caller,
    };
    try {
      const answer = await this.#breaker.execute(() => {
        this.#confirmations += 1;
        return confirmWithTimeout(this.#deps, question, this.#signal);
      }, this.#signal);
      watch?.asked('answered');
      return answer;
    } catch (error) {
      if (isFatal(error, this.#signal)) throw error;
      watch?.asked('failed');
      return { failed: error };
    }
  }

  #addPairs(
    entityId: string,
    close: readonly MatchedCandidate<Target>[],
    said: {
      readonly reason: string;
      readonly state: PairDraft['state'];
      readonly decidedBy?: string;
    },
  ): void {
    for (const { candidate, match } of close)
      this.#pairs.push({
        pairId: this.#deps.ids.uuid(),
        entityId,
        otherId: candidate.id,
        confidence: confidenceOf(match.points),
        reason: said.reason,
        evidence: { points: match.points, reasons: match.reasons },
        state: said.state,
        decidedBy: said.decidedBy ?? null,
      });
  }
}

/** Maps points to 0–1; one half is the middle of the uncertain range. */
export const confidenceOf = (points: number): number => 1 / (1 + Math.exp(minSamePoints - 1 - points));
