// The names of one chunk, decided one after the other: joined, made new, or kept apart as possibly the same.
import type { MentionEvidence } from './candidates.ts';
import { isFatal } from './candidates.ts';
import type { Profile } from './compare-clues.ts';
import type { Confirmation } from './confirm.ts';
import { confirmWithTimeout, summarizeProfile, describeConfirmationFailure } from './confirm.ts';
import type { ResolutionDeps } from './deps.ts';
import { canUseModel } from './deps.ts';
import type { OpenDraft } from './entity-drafts.ts';
import { additionOf, EntityDrafts } from './entity-drafts.ts';
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

/** Whom a name was found to mean: one that is known, or one that this chunk brings. */
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
  /** What the entity goes by. */
  readonly canonicalName: string;
}

/** What fell back, of an entity that this chunk brings. */
export interface Fallback {
  readonly reason: Exclude<ReviewReason, 'uncertain'>;
  readonly entityId: string;
  readonly group: MentionGroup;
  readonly error: unknown;
}

/** Questions that one chunk may put to a model; what is left stays uncertain, and can be asked later. */
const mostQuestions = 25;

export class ChunkResolution {
  readonly outcomes = new Map<MentionGroup, Outcome>();
  readonly fallbacks: Fallback[] = [];
  readonly #parts: ResolutionDeps;
  readonly #patience: Required<ResolutionDeps>['patience'];
  readonly #place: MentionPlace;
  readonly #caller: string;
  readonly #signal: AbortSignal;
  readonly #drafts = new EntityDrafts();
  readonly #additions: EntityAddition[] = [];
  readonly #pairs: PairDraft[] = [];
  /** Everybody who was compared with a name. */
  readonly #seen = new Set<string>();
  /** Known entities that names of this chunk mean. */
  readonly #here = new Set<string>();
  #questions = 0;

  constructor(
    parts: ResolutionDeps & Required<Pick<ResolutionDeps, 'patience'>>,
    place: MentionPlace,
    caller: string,
    signal: AbortSignal,
  ) {
    this.#parts = parts;
    this.#patience = parts.patience;
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

  /** Never fails because of the name or of a part that fails; only when nothing can go on at all. */
  async decide(evidence: MentionEvidence): Promise<void> {
    for (const { entity } of evidence.known) this.#seen.add(entity.entityId);
    try {
      await this.#decide(evidence);
    } catch (error) {
      if (isFatal(error, this.#signal)) throw error;
      this.#make(evidence, 'resolution-failed', error);
    }
  }

  /** The last resort: made as it is called, without a look at anything. */
  makeBasic(evidence: MentionEvidence, error: unknown): void {
    this.#make(evidence, 'resolution-failed', error);
  }

  async #decide(evidence: MentionEvidence): Promise<void> {
    const { group } = evidence;
    const choice = decide(this.#matches(evidence), canUseModel(this.#parts));
    if (choice.kind === 'join') this.#join(group, choice.chosen.candidate);
    else if (evidence.candidatesProblem !== null)
      this.#make(evidence, 'candidates-unknown', evidence.candidatesProblem);
    else if (choice.kind === 'new') this.#make(evidence, null, null);
    else await this.#settle(evidence, choice.close);
  }

  #matches({ group, known }: MentionEvidence): readonly MatchedCandidate<Target>[] {
    const there = matchCandidates(group, known, this.#here).map(({ candidate, ...rest }) => ({
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
      this.#here.add(target.id);
      const addition = additionOf(group, target.known, suggestedName);
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

  #make(
    evidence: MentionEvidence,
    reason: ReviewReason | null,
    error: unknown,
    uncertainMatch: string | null = null,
  ): string {
    const { group, embedding, embeddingProblem } = evidence;
    const entityId = this.#parts.ids.uuid();
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

  /** The grey zone: a model's word over all that are close, else two entities that may be the same. */
  async #settle(evidence: MentionEvidence, close: readonly MatchedCandidate<Target>[]): Promise<void> {
    const [best] = close;
    const uncertainMatch = best?.candidate.id ?? null;
    if (!canUseModel(this.#parts) || this.#questions >= mostQuestions) {
      const reason = 'Names and context do not tell.';
      this.#pair(this.#make(evidence, 'uncertain', null, uncertainMatch), close, { reason, state: 'open' });
      return;
    }
    const answer = await this.#ask(evidence, close);
    if ('failed' in answer) {
      const reason = describeConfirmationFailure(answer.failed);
      const made = this.#make(evidence, 'confirmation-failed', answer.failed, uncertainMatch);
      this.#pair(made, close, { reason, state: 'open' });
      return;
    }
    const { decision, reason, match, canonicalName } = answer;
    const chosen = match === null ? undefined : close[match];
    if (decision === 'same' && chosen) this.#join(evidence.group, chosen.candidate, canonicalName);
    else if (decision === 'different')
      this.#pair(this.#make(evidence, null, null), close, { reason, state: 'different', decidedBy: 'model' });
    else
      this.#pair(this.#make(evidence, 'uncertain', null, uncertainMatch), close, {
        reason,
        state: 'open',
        decidedBy: 'model',
      });
  }

  async #ask(
    { group }: MentionEvidence,
    close: readonly MatchedCandidate<Target>[],
  ): Promise<Confirmation | { readonly failed: unknown }> {
    const { watch } = this.#parts;
    const question = {
      mention: summarizeProfile(group.profile),
      candidates: close.map(({ candidate }) => summarizeProfile(candidate.profile)),
      caller: this.#caller,
    };
    try {
      const answer = await this.#patience.ask(() => {
        this.#questions += 1;
        return confirmWithTimeout(this.#parts, question, this.#signal);
      }, this.#signal);
      watch?.asked('answered');
      return answer;
    } catch (error) {
      if (isFatal(error, this.#signal)) throw error;
      watch?.asked('failed');
      return { failed: error };
    }
  }

  #pair(
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
        pairId: this.#parts.ids.uuid(),
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

/** Points as a number between 0 and 1, one half in the middle of the grey zone. */
export const confidenceOf = (points: number): number => 1 / (1 + Math.exp(minSamePoints - 1 - points));
