// What resolving takes, and whom it tells.
import { kindOf, messageOf } from '../../core/index.ts';
import { ReadingPatience } from '../ingest/read-chunk-patience.ts';
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

// Mentions find their entities: try; on failure make one with a flag, record it, go on. Never block, never drop one.

/** Entities that one transaction makes. */
const draftsPerWrite = 1_000;

export class EntityResolver implements Resolver {
  readonly #parts: ConstructorParameters<typeof ChunkResolution>[0];

  constructor(parts: ResolutionDeps) {
    const patience = new ReadingPatience(parts.clock, parts.options.cooldownSeconds * 1_000);
    this.#parts = { patience, ...parts };
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
    const work = new ChunkResolution(this.#parts, place, caller, signal);
    for (const evidence of await this.#gather(groups, place, signal, work)) await work.decide(evidence);
    const ended = await this.#write(work, place, signal);
    const fallbacks = work.fallbacks.filter(({ entityId }) => ended.get(entityId) === entityId);
    reportFallbacks(this.#parts, place, fallbacks);
    return this.#results(mentions.length, groups, work, ended, fallbacks);
  }

  /** MentionEvidence that cannot even be gathered for a reason nobody thought of: every name becomes a basic entity. */
  async #gather(
    groups: readonly MentionGroup[],
    place: MentionPlace,
    signal: AbortSignal,
    work: ChunkResolution,
  ): Promise<readonly MentionEvidence[]> {
    try {
      return await findCandidatesFor(this.#parts, groups, place, signal);
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      for (const group of groups) work.makeBasic(withoutEvidence(group), error);
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
    const ended = new Map(await this.#writeAnyhow(spaceId, plan, work, signal));
    // Additions whose entity was removed meanwhile: the name is made anew.
    const lost = new Set(plan.additions.map(({ entityId }) => entityId).filter((id) => !ended.has(id)));
    const anew = [...work.outcomes].filter(([, { entityId }]) => lost.has(entityId));
    if (anew.length > 0) {
      const drafts = anew.map(([group]) => this.#draftOf(group, place));
      for (const [index, [, { entityId }]] of anew.entries()) {
        const draft = drafts[index];
        if (draft && !ended.has(entityId)) ended.set(entityId, draft.entityId);
      }
      for (const [id, live] of await this.#writeAnyhow(
        spaceId,
        { ...plan, place, drafts, additions: [], pairs: [] },
        work,
        signal,
      ))
        ended.set(id, live);
    }
    return ended;
  }

  #draftOf(group: MentionGroup, { artifactUid, revisionId }: MentionPlace): EntityDraft {
    return {
      entityId: this.#parts.ids.uuid(),
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

  /** All at once; if the store refuses that, piece by piece, and the piece that it refuses in its barest form. */
  async #writeAnyhow(
    spaceId: number,
    plan: ResolutionPlan,
    work: ChunkResolution,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const { entities, clock } = this.#parts;
    const none: ResolutionPlan = { ...plan, drafts: [], additions: [], pairs: [] };
    const write = (part: ResolutionPlan) =>
      entities.write(spaceId, part, matchConcurrent, new Date(clock.now()), signal);
    if (plan.drafts.length + plan.additions.length + plan.pairs.length === 0) return new Map();
    const ended = new Map<string, string>();
    try {
      // Others wait while one writes: not for long.
      let left = plan.drafts;
      for (; left.length > draftsPerWrite; left = left.slice(draftsPerWrite))
        for (const [id, live] of await write({ ...none, drafts: left.slice(0, draftsPerWrite) }))
          ended.set(id, live);
      const now = (id: string) => ended.get(id) ?? id;
      const pairs = plan.pairs.map((pair) => ({
        ...pair,
        entityId: now(pair.entityId),
        otherId: now(pair.otherId),
      }));
      for (const [id, live] of await write({ ...plan, drafts: left, pairs })) ended.set(id, live);
      return ended;
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      const gather = async (part: Partial<ResolutionPlan>) => {
        for (const [id, live] of await write({ ...none, ...part })) ended.set(id, live);
      };
      for (const draft of plan.drafts.filter(({ entityId }) => !ended.has(entityId)))
        await gather({ drafts: [draft] }).catch(async (why: unknown) => {
          if (isFatal(why, signal)) throw why;
          await gather({ drafts: [bare(draft)] });
          this.#noteBare(work, draft, why);
        });
      for (const addition of plan.additions)
        await gather({ additions: [addition] }).catch((why: unknown) => this.#skip('addition', why, signal));
      await gather({ pairs: plan.pairs }).catch((why: unknown) => this.#skip('pairs', why, signal));
      // An addition that could not be made leaves its entity as it was.
      for (const { entityId } of plan.additions) if (!ended.has(entityId)) ended.set(entityId, entityId);
      return ended;
    }
  }

  #skip(what: string, error: unknown, signal: AbortSignal): void {
    if (isFatal(error, signal)) throw error;
    this.#parts.log.error('part of a resolution could not be written', {
      what,
      error_type: kindOf(error),
      error_message: messageOf(error),
    });
  }

  #noteBare(work: ChunkResolution, { entityId }: EntityDraft, error: unknown): void {
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
    ended: ReadonlyMap<string, string>,
    fallbacks: readonly Fallback[],
  ): readonly EntityResolutionResult[] {
    const results = Array.from({ length: count }, (): EntityResolutionResult | null => null);
    const degraded = new Set(fallbacks.map(({ entityId }) => entityId));
    for (const group of groups) {
      const outcome = work.outcomes.get(group);
      if (!outcome) throw new Error('A name was left undecided.');
      const entityId = ended.get(outcome.entityId) ?? outcome.entityId;
      this.#parts.watch?.resolved(outcome.isNew && degraded.has(entityId) ? 'degraded' : 'ok');
      for (const [position, member] of group.members.entries())
        results[member] = {
          entityId,
          isNew: outcome.isNew && position === 0 && entityId === outcome.entityId,
          mergedFrom: outcome.isJoinedByOtherName ? entityId : null,
          uncertainMatch:
            outcome.uncertainMatch === null
              ? null
              : (ended.get(outcome.uncertainMatch) ?? outcome.uncertainMatch),
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

/** Nothing but a name that every store takes. */
const bare = (draft: EntityDraft): EntityDraft => ({
  ...draft,
  names: draft.names.slice(0, 1).map((name) => ({ ...name, keys: [] })),
  clues: { role: null, organization: null, email: null, notes: [] },
  embedding: null,
  reviewReason: 'resolution-failed',
  isUnchecked: true,
});

/** Another process made it between our look and our writing: the same unless the context contradicts. */
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

// Tells what fell back: a row in the ledger and a line in the log for each entity. Ids, not names, above debug level.

export const resolutionLedgerKinds = {
  'embedding-missing': 'knowledge.entity-embedding-missing',
  'candidates-unknown': 'knowledge.candidates-unknown',
  'confirmation-failed': 'knowledge.confirmation-failed',
  'resolution-failed': 'knowledge.resolution-failed',
} as const satisfies Readonly<Record<Exclude<ReviewReason, 'uncertain'>, string>>;

const sentences: Readonly<Record<Fallback['reason'], string>> = {
  'embedding-missing': 'An entity was made without a vector: none could be made for it.',
  'candidates-unknown':
    'An entity was made without a look whether it is known already: the store took too long.',
  'confirmation-failed': 'An entity was made apart from one it may be.',
  'resolution-failed': 'An entity was made as it is called: resolving its name failed.',
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
      artifact_uid: artifactUid,
      revision_id: revisionId,
      chunk_id: chunkId,
      error_type: kindOf(error),
      error_message: messageOf(error),
    };
    // Nobody waits for the row: the flag on the entity is in the store already.
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
    log.warn('entity resolution fell back', { ...context, reason });
    log.debug('entity resolution fell back on a name', { entity_id: entityId, surface_form: group.name });
  }
}
