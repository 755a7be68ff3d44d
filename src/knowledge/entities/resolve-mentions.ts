// Resolves mentions to entities. A failure creates a flagged entity, records a degradation and continues: no mention is
// dropped and ingest never blocks.
import { kindOf, messageOf, nextTurn } from '../../core/index.ts';
import { resolutionDegradations } from '../degradations.ts';
import type { EntityMention } from '../reading/types.ts';
import type { MentionGroup, ResolutionDeps } from './candidates.ts';
import { embedGroups, findCandidates, groupMentions, isFatal } from './candidates.ts';
import { describeConfirmationFailure } from './confirm.ts';
import type { ChunkContext, Fallback } from './decide-mentions.ts';
import { MentionDecisions } from './decide-mentions.ts';
import type { EntityStore } from './entity-store.ts';
import type { EntityResolutionResult, MentionPlace } from './types.ts';

/** Names that are looked up and written together: writers of one space wait for each other. */
const groupsPerWrite = 1_000;

export class EntityResolver {
  readonly #deps: ResolutionDeps;

  constructor(deps: ResolutionDeps) {
    this.#deps = deps;
  }

  /**
   * A failed component does not fail the call: the entity is created with a review flag and a ledger row. Fails only
   * when the state store is down, the signal aborts, or, with CONFLICT, when the artifact was removed or revised. Pass
   * all mentions of a chunk together: they are each other's co-mentions.
   */
  async resolve(
    mentions: readonly EntityMention[],
    place: MentionPlace,
    caller: string,
    signal: AbortSignal,
  ): Promise<readonly EntityResolutionResult[]> {
    signal.throwIfAborted();
    const groups = groupMentions(mentions, place);
    const chunk: ChunkContext = {
      place,
      caller,
      signal,
      inChunk: new Set(),
      confirmations: new Map(),
      confirmationCount: 0,
    };
    const results = new Map<number, EntityResolutionResult>();
    for (let from = 0; from < groups.length; from += groupsPerWrite)
      for (const [group, result] of await this.#resolve(groups.slice(from, from + groupsPerWrite), chunk))
        for (const [position, member] of group.members.entries())
          results.set(member, position === 0 ? result : { ...result, isNew: false });
    return mentions.flatMap((_, index) => results.get(index) ?? []);
  }

  /** After an unexpected error each name is resolved alone, and one that still fails gets an entity of its own. */
  async #resolve(groups: readonly MentionGroup[], chunk: ChunkContext): Promise<MentionDecisions['results']> {
    try {
      return await this.#resolveTogether(groups, chunk);
    } catch (error) {
      if (isFatal(error, chunk.signal)) throw error;
      const results: [MentionGroup, EntityResolutionResult][] = [];
      for (const group of groups)
        results.push(
          ...(groups.length > 1
            ? await this.#resolve([group], chunk)
            : await this.#createWithNameOnly(group, error, chunk)),
        );
      return new Map(results);
    }
  }

  /** Resolves again when another process wrote in between; the last time under the lock of the space. */
  async #resolveTogether(
    groups: readonly MentionGroup[],
    chunk: ChunkContext,
  ): Promise<MentionDecisions['results']> {
    const { place, signal } = chunk;
    const { entities } = this.#deps;
    for (let attempt = 1; attempt <= 2; attempt++) {
      const version = await findCandidates(this.#deps, entities, groups, place, signal);
      await embedGroups(this.#deps, groups, place, signal);
      const decisions = new MentionDecisions(this.#deps, chunk);
      await decideAll(decisions, groups);
      const queries = groups.map(({ query }) => query);
      const plan = { ...decisions.plan, search: version === null ? null : { queries, version } };
      if (await entities.write(place.spaceId, plan, this.#now(), signal))
        return this.#finish(decisions, chunk);
    }
    return this.#writeLocked(chunk, async (locked) => {
      await findCandidates(this.#deps, locked, groups, place, signal);
      // Other writers wait: no model is called. Pairs that stay open are confirmed later.
      const decisions = new MentionDecisions(this.#deps, chunk, false);
      await decideAll(decisions, groups);
      return decisions;
    });
  }

  #createWithNameOnly(
    group: MentionGroup,
    error: unknown,
    chunk: ChunkContext,
  ): Promise<MentionDecisions['results']> {
    const decisions = new MentionDecisions(this.#deps, chunk);
    decisions.createWithNameOnly(group, error);
    return this.#writeLocked(chunk, async () => decisions);
  }

  async #writeLocked(
    chunk: ChunkContext,
    decideWith: (locked: EntityStore) => Promise<MentionDecisions>,
  ): Promise<MentionDecisions['results']> {
    const { place, signal } = chunk;
    const write = async (locked: EntityStore) => {
      const decisions = await decideWith(locked);
      await locked.write(place.spaceId, decisions.plan, this.#now(), signal);
      return decisions;
    };
    return this.#finish(await this.#deps.entities.locked(place, write, signal), chunk);
  }

  #finish(decisions: MentionDecisions, { place, inChunk }: ChunkContext): MentionDecisions['results'] {
    const { fallbacks, results } = decisions;
    for (const fallback of fallbacks) reportFallback(this.#deps, place, fallback);
    const degraded = new Set(fallbacks.map(({ entityId }) => entityId));
    for (const { entityId, isNew } of results.values()) {
      inChunk.add(entityId);
      this.#deps.monitor?.resolved(isNew && degraded.has(entityId) ? 'degraded' : 'ok');
    }
    return results;
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}

/** Names that are compared before other work of the server runs: each has up to hundreds of candidates. */
const groupsPerTurn = 20;

async function decideAll(decisions: MentionDecisions, groups: readonly MentionGroup[]): Promise<void> {
  for (const [index, group] of groups.entries()) {
    if (index % groupsPerTurn === groupsPerTurn - 1) await nextTurn();
    await decisions.decide(group);
  }
}

const sentences: Readonly<Record<Fallback['reason'], string>> = {
  'embedding-missing': 'An entity was created without a vector because embedding failed.',
  'candidates-unknown':
    'An entity was created without a search for duplicates because the store took too long.',
  'confirmation-failed': 'An entity was created separately from one it may be the same as.',
  'resolution-failed': 'A basic entity was created because resolving its name failed.',
};

/** Reports to the ledger and the log. Names appear at debug level only. */
function reportFallback(
  { ledger, log }: ResolutionDeps,
  { spaceId, artifactUid, revisionId, chunkId }: MentionPlace,
  { reason, entityId, group, error }: Fallback,
): void {
  const cause = kindOf(error);
  const details = {
    entity_id: entityId,
    entity_type: group.type,
    space_id: spaceId,
    artifact_id: artifactUid,
    revision_id: revisionId,
    chunk_id: chunkId,
    error_type: cause,
    error_message: messageOf(error),
  };
  const more = reason === 'confirmation-failed' ? ` ${describeConfirmationFailure(error)}` : '';
  const message = sentences[reason] + more;
  // Not awaited: the entity's flag is stored already.
  void ledger
    .record({ kind: resolutionDegradations[reason], subject: entityId, cause, message, details })
    .catch(() => undefined);
  log.warn('degraded entity resolution', { ...details, reason });
  log.debug('degraded entity resolution: name', { entity_id: entityId, surface_form: group.name });
}
