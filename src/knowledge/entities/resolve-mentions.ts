import { kindOf, messageOf } from '../../core/index.ts';
import { modelCircuitBreaker } from '../degradations.ts';
import type { EntityMention } from '../reading/types.ts';
import type { MentionEvidence } from './candidates.ts';
import { findCandidatesFor, groupMentions, isFatal } from './candidates.ts';
import { profileOf } from './compare-clues.ts';
import { describeConfirmationFailure } from './confirm.ts';
import type { Fallback } from './decide-mentions.ts';
import { ChunkResolution } from './decide-mentions.ts';
import type { ResolutionDeps } from './deps.ts';
import { decide, matchCandidates } from './match.ts';
import type {
  EntityDraft,
  EntityResolutionResult,
  MatchConcurrent,
  MentionGroup,
  MentionPlace,
  ResolutionPlan,
  Resolver,
  ReviewReason,
} from './types.ts';

// Resolves mentions to entities. A failure creates a flagged entity, records a degradation and continues: no mention is
// dropped and ingest never blocks.

/** Entities per transaction. */
const draftsPerWrite = 1_000;

export class EntityResolver implements Resolver {
  readonly #deps: ConstructorParameters<typeof ChunkResolution>[0];

  constructor(deps: ResolutionDeps) {
    const breaker = modelCircuitBreaker(deps.clock, deps.options);
    this.#deps = { breaker, ...deps };
  }

  async resolve(
    mentions: readonly EntityMention[],
    place: MentionPlace,
    caller: string,
    signal: AbortSignal,
  ): Promise<readonly EntityResolutionResult[]> {
    signal.throwIfAborted();
    if (mentions.length === 0) return [];
    const groups = groupMentions(mentions, place);
    const work = new ChunkResolution(this.#deps, place, caller, signal);
    for (const evidence of await this.#gather(groups, place, signal, work)) await work.decide(evidence);
    const finalIds = await this.#write(work, place, signal);
    const fallbacks = work.fallbacks.filter(({ entityId }) => finalIds.get(entityId) === entityId);
    reportFallbacks(this.#deps, place, fallbacks);
    return this.#results(mentions.length, groups, work, finalIds, fallbacks);
  }

  /** Unexpected errors while finding candidates: every name gets a basic entity. */
  async #gather(
    groups: readonly MentionGroup[],
    place: MentionPlace,
    signal: AbortSignal,
    work: ChunkResolution,
  ): Promise<readonly MentionEvidence[]> {
    try {
      return await findCandidatesFor(this.#deps, groups, place, signal);
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      for (const group of groups) work.createBasic(withoutEvidence(group), error);
      return [];
    }
  }

  async #write(
    work: ChunkResolution,
    place: MentionPlace,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const { spaceId } = place;
    const plan = work.plan;
    const finalIds = new Map(await this.#writeWithFallback(spaceId, plan, work, signal));
    // The entity to add to was deleted since: create a new one.
    const lost = new Set(plan.additions.map(({ entityId }) => entityId).filter((id) => !finalIds.has(id)));
    const recreated = [...work.outcomes].filter(([, { entityId }]) => lost.has(entityId));
    if (recreated.length > 0) {
      const drafts = recreated.map(([group]) => this.#draftOf(group, place));
      for (const [index, [, { entityId }]] of recreated.entries()) {
        const draft = drafts[index];
        if (draft && !finalIds.has(entityId)) finalIds.set(entityId, draft.entityId);
      }
      for (const [id, live] of await this.#writeWithFallback(
        spaceId,
        { ...plan, place, drafts, additions: [], pairs: [] },
        work,
        signal,
      ))
        finalIds.set(id, live);
    }
    return finalIds;
  }

  #draftOf(group: MentionGroup, { artifactUid, revisionId }: MentionPlace): EntityDraft {
    return {
      entityId: this.#deps.ids.uuid(),
      type: group.type,
      canonicalName: group.name,
      normalizedName: group.normalizedName,
      names: group.names,
      clues: group.clues,
      embedding: null,
      artifactUid,
      revisionId,
      reviewReason: null,
      isUnchecked: false,
    };
  }

  /** Writes everything at once; if the store rejects it, item by item, and a rejected item in its minimal form. */
  async #writeWithFallback(
    spaceId: number,
    plan: ResolutionPlan,
    work: ChunkResolution,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const { entities, clock } = this.#deps;
    const none: ResolutionPlan = { ...plan, drafts: [], additions: [], pairs: [] };
    const write = (part: ResolutionPlan) =>
      entities.write(spaceId, part, matchConcurrent, new Date(clock.now()), signal);
    if (plan.drafts.length + plan.additions.length + plan.pairs.length === 0) return new Map();
    const finalIds = new Map<string, string>();
    try {
      // Writers of one space wait for each other: keep transactions short.
      let left = plan.drafts;
      for (; left.length > draftsPerWrite; left = left.slice(draftsPerWrite))
        for (const [id, live] of await write({ ...none, drafts: left.slice(0, draftsPerWrite) }))
          finalIds.set(id, live);
      const now = (id: string) => finalIds.get(id) ?? id;
      const pairs = plan.pairs.map((pair) => ({
        ...pair,
        entityId: now(pair.entityId),
        otherId: now(pair.otherId),
      }));
      for (const [id, live] of await write({ ...plan, drafts: left, pairs })) finalIds.set(id, live);
      return finalIds;
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      const gather = async (part: Partial<ResolutionPlan>) => {
        for (const [id, live] of await write({ ...none, ...part })) finalIds.set(id, live);
      };
      for (const draft of plan.drafts.filter(({ entityId }) => !finalIds.has(entityId)))
        await gather({ drafts: [draft] }).catch(async (why: unknown) => {
          if (isFatal(why, signal)) throw why;
          await gather({ drafts: [minimalDraft(draft)] });
          this.#recordMinimal(work, draft, why);
        });
      for (const addition of plan.additions)
        await gather({ additions: [addition] }).catch((why: unknown) => this.#skip('addition', why, signal));
      await gather({ pairs: plan.pairs }).catch((why: unknown) => this.#skip('pairs', why, signal));
      // A failed addition leaves its entity as it was.
      for (const { entityId } of plan.additions)
        if (!finalIds.has(entityId)) finalIds.set(entityId, entityId);
      return finalIds;
    }
  }

  #skip(what: string, error: unknown, signal: AbortSignal): void {
    if (isFatal(error, signal)) throw error;
    this.#deps.log.error('part of a resolution could not be written', {
      what,
      error_type: kindOf(error),
      error_message: messageOf(error),
    });
  }

  #recordMinimal(work: ChunkResolution, { entityId }: EntityDraft, error: unknown): void {
    for (const [group, outcome] of work.outcomes)
      if (outcome.entityId === entityId) {
        work.fallbacks.push({ reason: 'resolution-failed', entityId, group, error });
        return;
      }
  }

  #results(
    count: number,
    groups: readonly MentionGroup[],
    work: ChunkResolution,
    finalIds: ReadonlyMap<string, string>,
    fallbacks: readonly Fallback[],
  ): readonly EntityResolutionResult[] {
    const results = Array.from({ length: count }, (): EntityResolutionResult | null => null);
    const degraded = new Set(fallbacks.map(({ entityId }) => entityId));
    for (const group of groups) {
      const outcome = work.outcomes.get(group);
      if (!outcome) throw new Error('A name was left undecided.');
      const entityId = finalIds.get(outcome.entityId) ?? outcome.entityId;
      this.#deps.watch?.resolved(outcome.isNew && degraded.has(entityId) ? 'degraded' : 'ok');
      for (const [position, member] of group.members.entries())
        results[member] = {
          entityId,
          isNew: outcome.isNew && position === 0 && entityId === outcome.entityId,
          mergedFrom: outcome.isJoinedByOtherName ? entityId : null,
          uncertainMatch:
            outcome.uncertainMatch === null
              ? null
              : (finalIds.get(outcome.uncertainMatch) ?? outcome.uncertainMatch),
          canonicalName: outcome.canonicalName,
        };
    }
    return results.filter((result) => result !== null);
  }
}

const withoutEvidence = (group: MentionGroup): MentionEvidence => ({
  group,
  known: [],
  candidatesProblem: null,
  embedding: null,
  embeddingProblem: null,
});

/** A name only, which every store accepts. */
const minimalDraft = (draft: EntityDraft): EntityDraft => ({
  ...draft,
  names: draft.names.slice(0, 1).map((name) => ({ ...name, keys: [] })),
  clues: { role: null, organization: null, email: null, notes: [] },
  embedding: null,
  reviewReason: 'resolution-failed',
  isUnchecked: true,
});

/** Another process created it since the lookup: the same entity unless the context contradicts. */
const matchConcurrent: MatchConcurrent = (draft, there) => {
  const profile = profileOf(
    draft.type,
    draft.names.map(({ alias }) => alias),
    draft.clues,
  );
  const group = { profile, name: draft.canonicalName, normalizedName: draft.normalizedName };
  const choice = decide(matchCandidates(group, there), false);
  return choice.kind === 'join' ? choice.chosen.candidate.entity.entityId : undefined;
};

// Records each degradation in the ledger and the log. Names appear at debug level only.

export const resolutionLedgerKinds = {
  'embedding-missing': 'knowledge.entity-embedding-missing',
  'candidates-unknown': 'knowledge.candidates-unknown',
  'confirmation-failed': 'knowledge.confirmation-failed',
  'resolution-failed': 'knowledge.resolution-failed',
} as const satisfies Readonly<Record<Exclude<ReviewReason, 'uncertain'>, string>>;

const sentences: Readonly<Record<Fallback['reason'], string>> = {
  'embedding-missing': 'An entity was created without a vector because embedding failed.',
  'candidates-unknown':
    'An entity was created without a search for duplicates because the store took too long.',
  'confirmation-failed': 'An entity was created separately from one it may be the same as.',
  'resolution-failed': 'A basic entity was created because resolving its name failed.',
};

export function reportFallbacks(
  { ledger, log }: Pick<ResolutionDeps, 'ledger' | 'log'>,
  { spaceId, artifactUid, revisionId, chunkId }: MentionPlace,
  fallbacks: readonly Fallback[],
): void {
  for (const { reason, entityId, group, error } of fallbacks) {
    const context = {
      entity_id: entityId,
      entity_type: group.type,
      space_id: spaceId,
      artifact_id: artifactUid,
      revision_id: revisionId,
      chunk_id: chunkId,
      error_type: kindOf(error),
      error_message: messageOf(error),
    };
    // Not awaited: the entity's flag is stored already.
    void ledger
      .record({
        kind: resolutionLedgerKinds[reason],
        subject: entityId,
        cause: kindOf(error),
        message:
          reason === 'confirmation-failed'
            ? `${sentences[reason]} ${describeConfirmationFailure(error)}`
            : sentences[reason],
        details: context,
      })
      .catch(() => undefined);
    log.warn('degraded entity resolution', { ...context, reason });
    log.debug('degraded entity resolution: name', { entity_id: entityId, surface_form: group.name });
  }
}
