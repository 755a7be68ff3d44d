// Entities as they are read from their table.
import { isUuid } from '../../core/index.ts';
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { EntityType } from '../reading/types.ts';
import {
  entityColumns,
  findCandidates,
  findCoMentions,
  findNearestEntities,
  loadFamilies,
  longestChain,
} from './candidate-queries.ts';
import {
  lockEntities,
  lockRevision,
  setEmbedding,
  writeEntities,
  writeEntitiesIfUnchanged,
} from './entity-writes.ts';
import { insertPairs, refreshUncertain } from './pair-store.ts';
import type {
  CandidateEntity,
  CandidateQuery,
  Entity,
  EntityAddition,
  EntityDraft,
  EntityFilter,
  EntityRow,
  MatchConcurrent,
  MentionRow,
  ResolutionPlan,
  ReviewReason,
} from './types.ts';

// Entities in Postgres: who is known, under which names, and what resolution writes.

export class EntityStore {
  readonly #database: Database;
  #trigrams: Promise<boolean> | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  /** For each wish those it may mean, surest kinds of finding first, at most 30. Gives up with the signal. */
  async candidates(
    spaceId: number,
    wishes: readonly CandidateQuery[],
    artifactUid: string | null,
    signal: AbortSignal,
  ): Promise<readonly (readonly CandidateEntity[])[]> {
    this.#trigrams ??= this.#ensureTrigramIndex();
    return findCandidates(this.#database, spaceId, wishes, {
      artifactUid,
      withTrigrams: await this.#trigrams,
      signal,
    });
  }

  /** For each vector the nearest entities of its type, at most five, with their cosine; none without pgvector. */
  nearest(
    spaceId: number,
    model: string,
    wishes: readonly { readonly type: EntityType; readonly vector: Float32Array }[],
    artifactUid: string | null,
    signal: AbortSignal,
  ): Promise<readonly (readonly CandidateEntity[])[]> {
    return findNearestEntities(this.#database, spaceId, model, wishes, artifactUid, signal);
  }

  /** Names of those each is mentioned with, most often first, at most twenty. */
  coMentions(
    spaceId: number,
    entityIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    return findCoMentions(this.#database, spaceId, entityIds, signal);
  }

  /**
   * Writes it all in one transaction, one writer per space at a time. A draft that `matchConcurrent` recognises in what
   * others made meanwhile becomes an addition to that. The id that each draft and addition ended up with; an addition
   * whose entity is gone has none. Fails with CONFLICT when the place is gone, or no longer the latest revision: then
   * nothing was written.
   */
  async write(
    spaceId: number,
    plan: ResolutionPlan,
    matchConcurrent: MatchConcurrent,
    at: Date,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const database = this.#database;
    const { schema } = database;
    const isPlain = plan.pairs.length === 0 && plan.drafts.every(({ embedding }) => embedding === null);
    if (isPlain && (await writeEntitiesIfUnchanged(database, spaceId, plan, at, signal)))
      return new Map([...plan.drafts, ...plan.additions].map(({ entityId }) => [entityId, entityId]));
    return database.transaction(
      async (transaction) => {
        await lockEntities(transaction, schema, spaceId);
        await lockRevision(transaction, spaceId, plan.place);
        const ended = new Map<string, string>();
        const additions: EntityAddition[] = [];
        const live = await loadFamilies(
          transaction,
          spaceId,
          plan.additions.map(({ entityId }) => entityId),
          null,
        );
        for (const { known, found } of live) for (const id of found) ended.set(id, known.entity.entityId);
        for (const addition of plan.additions) {
          const entityId = ended.get(addition.entityId);
          if (entityId !== undefined) additions.push({ ...addition, entityId });
        }
        const drafts: EntityDraft[] = [];
        const there = await this.#madeMeanwhile(transaction, spaceId, plan.drafts);
        for (const draft of plan.drafts) {
          const again = draft.isUnchecked
            ? undefined
            : matchConcurrent(draft, there.get(draft.normalizedName) ?? []);
          ended.set(draft.entityId, again ?? draft.entityId);
          if (again === undefined) drafts.push(draft);
          else additions.push({ entityId: again, names: draft.names, clues: draft.clues, betterName: null });
        }
        await writeEntities(
          transaction,
          spaceId,
          { drafts, additions, artifactUid: plan.place.artifactUid },
          at,
        );
        const pairs = plan.pairs.map((pair) => ({
          ...pair,
          entityId: ended.get(pair.entityId) ?? pair.entityId,
          otherId: ended.get(pair.otherId) ?? pair.otherId,
        }));
        await insertPairs(transaction, spaceId, pairs, at);
        const paired = pairs.flatMap(({ entityId, otherId }) => [entityId, otherId]);
        await refreshUncertain(transaction, spaceId, paired);
        return ended;
      },
      signal ? { signal } : {},
    );
  }

  /** By the names that are about to be made. */
  async #madeMeanwhile(
    transaction: Parameters<Parameters<Database['transaction']>[0]>[0],
    spaceId: number,
    drafts: readonly EntityDraft[],
  ): Promise<ReadonlyMap<string, readonly CandidateEntity[]>> {
    const names = [
      ...new Set(drafts.filter(({ isUnchecked }) => !isUnchecked).map((draft) => draft.normalizedName)),
    ];
    if (names.length === 0) return new Map();
    const { rows } = await transaction.query<{ id: string }>(sql`
      select entity_id as id from entity where space_id = ${spaceId} and normalized_name = any(${names}::text[])
        and merged_into is null limit 2000`);
    const byName = new Map<string, CandidateEntity[]>();
    for (const { known } of await loadFamilies(
      transaction,
      spaceId,
      rows.map(({ id }) => id),
      null,
    )) {
      const { normalizedName } = known.entity;
      byName.set(normalizedName, [
        ...(byName.get(normalizedName) ?? []),
        { ...known, foundBy: ['name'], cosine: null },
      ]);
    }
    return byName;
  }

  /** Live or merged. */
  async get(spaceId: number, entityId: string): Promise<Entity | null> {
    const entity = await this.byId(entityId);
    return entity?.spaceId === spaceId ? entity : null;
  }

  /** The same of any space, for repairs, which know ids only. */
  async byId(entityId: string): Promise<Entity | null> {
    if (!isUuid(entityId)) return null;
    const { rows } = await this.#database.query<Entity>(
      sql`select ${entityColumns} from entity e where e.entity_id = ${entityId}::uuid`,
    );
    return rows[0] ?? null;
  }

  /** With everything of its family; null unless it is live. */
  async known(spaceId: number, entityId: string): Promise<CandidateEntity | null> {
    if (!isUuid(entityId)) return null;
    const [family] = await loadFamilies(this.#database, spaceId, [entityId], null);
    return family?.known.entity.entityId === entityId ? { ...family.known, foundBy: [], cosine: null } : null;
  }

  list(filter: EntityFilter): Promise<readonly EntityRow[]> {
    return listEntities(this.#database, filter);
  }

  /** Live or merged, in any order; those that are not there are left out. */
  async details(spaceId: number, entityIds: readonly string[]): Promise<readonly EntityRow[]> {
    const ids = entityIds.filter(isUuid);
    return ids.length === 0 ? [] : listEntities(this.#database, { spaceId, limit: ids.length }, ids);
  }

  mentions(spaceId: number, entityId: string, limit: number): Promise<readonly MentionRow[]> {
    return listMentions(this.#database, spaceId, entityId, limit);
  }

  async setEmbedding(spaceId: number, entityId: string, model: string, vector: Float32Array): Promise<void> {
    await setEmbedding(this.#database, spaceId, entityId, model, vector);
  }

  /** Sets or clears the flag; with `onlyIf` no other reason is touched. */
  async flag(
    spaceId: number,
    entityId: string,
    reason: ReviewReason | null,
    onlyIf?: ReviewReason,
  ): Promise<void> {
    await this.#database.query(sql`
      update entity set needs_review = ${reason !== null}, review_reason = ${reason}
      where entity_id = ${entityId}::uuid and space_id = ${spaceId}
        and (${onlyIf ?? null}::text is null or review_reason = ${onlyIf ?? null})`);
  }

  /** Made once, when the server can; two processes may try at once, and then one of them goes without until its next start. */
  async #ensureTrigramIndex(): Promise<boolean> {
    if (!this.#database.capabilities.trigram.available) return false;
    try {
      await this.#database.query(sql`
        create index if not exists entity_alias_space_trigram on entity_alias
          using gin ((array[space_id]), normalized_alias gin_trgm_ops) with (fastupdate = off)`);
      return true;
    } catch {
      return false;
    }
  }
}

// Entities as people look at them: with their names, and how often they are seen.

/** Live entities, oldest first; with `only` that one, live or merged. Counted is what latest revisions say. */
export async function listEntities(
  database: Database,
  { spaceId, type, needsReview, name, limit, after }: EntityFilter,
  only?: readonly string[],
): Promise<readonly EntityRow[]> {
  const conditions: Sql[] = [sql`e.space_id = ${spaceId}`];
  conditions.push(only === undefined ? sql`e.merged_into is null` : sql`e.entity_id = any(${only}::uuid[])`);
  if (type !== undefined) conditions.push(sql`e.entity_type = ${type}`);
  if (needsReview !== undefined) conditions.push(sql`e.needs_review = ${needsReview}`);
  if (after !== undefined) conditions.push(isUuid(after) ? sql`e.entity_id > ${after}::uuid` : sql`false`);
  if (name !== undefined) conditions.push(isCalled(spaceId, name));
  const { rows } = await database.query<EntityRow>(sql`
    with chosen as (
      select * from entity e where ${joinSql(conditions, sql` and `)} order by e.entity_id limit ${limit})
    select ${entityColumns}, names.aliases,
      (select count(*) from entity_mention m join artifact_revision r using (revision_id)
        where m.entity_id = e.entity_id and r.is_latest) as "mentionCount",
      (select count(*) from (select event_id from event_actor where entity_id = e.entity_id
        union select event_id from event_subject where entity_id = e.entity_id) parts
        join semantic_event v using (event_id) where v.superseded_at is null) as "eventCount"
    from chosen e cross join lateral (
      with recursive family as (
        select e.entity_id as member, 0 as depth
        union all
        select m.entity_id, f.depth + 1 from family f join entity m on m.merged_into = f.member
          where f.depth < ${longestChain})
      select coalesce(array_agg(distinct a.alias order by a.alias), '{}') as aliases
      from family f join entity_alias a on a.entity_id = f.member
      where a.alias <> e.canonical_name) names
    order by e.entity_id`);
  return rows;
}

/** Part of its name, or of a name of anything that was merged into it. */
function isCalled(spaceId: number, name: string): Sql {
  const pattern = `%${name.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return sql`e.entity_id in (
    with recursive up as (
      select e2.entity_id as at, e2.merged_into, 0 as depth from entity e2
        where e2.space_id = ${spaceId} and (e2.canonical_name ilike ${pattern} or exists (
          select from entity_alias a where a.entity_id = e2.entity_id and a.alias ilike ${pattern}))
      union all
      select e3.entity_id, e3.merged_into, up.depth + 1 from up join entity e3 on e3.entity_id = up.merged_into
        where up.depth < ${longestChain})
    select at from up where merged_into is null)`;
}

/** Of latest revisions, newest first. */
export async function listMentions(
  database: Database,
  spaceId: number,
  entityId: string,
  limit: number,
): Promise<readonly MentionRow[]> {
  if (!isUuid(entityId)) return [];
  const { rows } = await database.query<MentionRow>(sql`
    select m.mention_id as "mentionId", m.artifact_uid as "artifactUid", r.title, m.surface_form as "surfaceForm",
      m.start_char as "startChar", m.end_char as "endChar", m.method, m.confidence, m.relation
    from entity_mention m join artifact_revision r using (revision_id)
    where m.entity_id = ${entityId}::uuid and m.space_id = ${spaceId} and r.is_latest
    order by m.mention_id desc limit ${limit}`);
  return rows;
}
