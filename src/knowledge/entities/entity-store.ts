import { isUuid } from '../../core/index.ts';
import type { Database, Queryable, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { EntityType } from '../reading/types.ts';
import {
  entityColumns,
  findCandidates,
  findCoMentions,
  findNearestEntities,
  loadFamilies,
} from './candidate-queries.ts';
import {
  lockEntities,
  lockRevision,
  setEmbedding,
  writeEntities,
  writeEntitiesAsSeen,
} from './entity-writes.ts';
import { insertPairs, refreshUncertain } from './pair-store.ts';
import type {
  CandidateEntity,
  CandidateQuery,
  Entity,
  EntityEmbedding,
  EntityFilter,
  EntityView,
  MentionPlace,
  MentionRow,
  ResolutionPlan,
  ReviewReason,
} from './types.ts';

// Reads and writes entities: candidates, listings, review flags, and what resolution writes.

export class EntityStore {
  readonly #database: Database;
  readonly #transaction: Transaction | undefined;
  readonly #queryable: Queryable;
  #trigrams: Promise<boolean> | null = null;

  /** `transaction`: see `locked`. */
  constructor(database: Database, transaction?: Transaction) {
    this.#database = database;
    this.#transaction = transaction;
    this.#queryable = transaction ?? database;
  }

  /** Per query the entities it may refer to, the most reliable finds first, at most 30. */
  async candidates(
    spaceId: number,
    queries: readonly CandidateQuery[],
    artifactUid: string | null,
    signal: AbortSignal,
  ): Promise<readonly (readonly CandidateEntity[])[]> {
    this.#trigrams ??= this.#ensureTrigramIndex();
    return findCandidates(this.#queryable, spaceId, queries, {
      artifactUid,
      withTrigrams: await this.#trigrams,
      signal,
    });
  }

  /** Per vector the nearest entities of its type, at most five, with their cosine; none without pgvector. */
  nearest(
    spaceId: number,
    queries: readonly (EntityEmbedding & { readonly type: EntityType })[],
    artifactUid: string | null,
    signal: AbortSignal,
  ): Promise<readonly (readonly CandidateEntity[])[]> {
    return findNearestEntities(this.#database, spaceId, queries, artifactUid, signal);
  }

  /** Names of entities mentioned with each, most frequent first, at most 20. */
  coMentions(
    spaceId: number,
    entityIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    return findCoMentions(this.#queryable, spaceId, entityIds, signal);
  }

  /**
   * One transaction, one writer per space at a time. Returns false and writes nothing when something changed since the
   * lookup: see `writeEntitiesAsSeen`.
   */
  async write(spaceId: number, plan: ResolutionPlan, at: Date, signal?: AbortSignal): Promise<boolean> {
    const { drafts, additions, pairs } = plan;
    if (drafts.length + additions.length + pairs.length === 0) return true;
    if (this.#transaction) {
      await writeEntities(this.#transaction, spaceId, plan, at);
      await this.#writePairs(this.#transaction, spaceId, plan, at);
      return true;
    }
    const { schema } = this.#database;
    if (pairs.length === 0 && drafts.every(({ embedding }) => embedding === null))
      return writeEntitiesAsSeen(this.#database, schema, spaceId, plan, at, signal);
    return this.#database.transaction(
      async (transaction) => {
        await lockEntities(transaction, schema, spaceId);
        const isWritten = await writeEntitiesAsSeen(transaction, schema, spaceId, plan, at);
        if (isWritten) await this.#writePairs(transaction, spaceId, plan, at);
        return isWritten;
      },
      signal ? { signal } : {},
    );
  }

  async #writePairs(
    transaction: Transaction,
    spaceId: number,
    { drafts, pairs }: ResolutionPlan,
    at: Date,
  ): Promise<void> {
    for (const { entity, embedding } of drafts)
      if (embedding) await setEmbedding(transaction, spaceId, entity.entityId, embedding);
    await insertPairs(transaction, spaceId, pairs, at);
    const paired = pairs.flatMap(({ entityId, otherId }) => [entityId, otherId]);
    await refreshUncertain(transaction, spaceId, paired);
  }

  /**
   * With a store whose lookups and writes no other process comes between. Fails with CONFLICT when the revision is gone
   * or no longer the latest.
   */
  locked<T>(
    place: Pick<MentionPlace, 'spaceId' | 'revisionId'>,
    work: (locked: EntityStore) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#database.transaction(
      async (transaction) => {
        await lockEntities(transaction, this.#database.schema, place.spaceId);
        await lockRevision(transaction, place);
        const locked = new EntityStore(this.#database, transaction);
        locked.#trigrams = this.#trigrams;
        return work(locked);
      },
      { signal },
    );
  }

  /** Merged or not. */
  async get(spaceId: number, entityId: string): Promise<Entity | null> {
    const entity = await this.byId(entityId);
    return entity?.spaceId === spaceId ? entity : null;
  }

  /** In any space, for repairs, which know ids only. */
  async byId(entityId: string): Promise<Entity | null> {
    if (!isUuid(entityId)) return null;
    const { rows } = await this.#database.query<Entity>(
      sql`select ${entityColumns} from entity e where e.entity_id = ${entityId}::uuid`,
    );
    return rows[0] ?? null;
  }

  /** With everything merged into it; null if it is merged or unknown. */
  async known(spaceId: number, entityId: string): Promise<CandidateEntity | null> {
    if (!isUuid(entityId)) return null;
    const [family] = await loadFamilies(this.#database, spaceId, [entityId], null);
    return family?.known.entity.entityId === entityId ? family.known : null;
  }

  list(filter: EntityFilter): Promise<readonly EntityView[]> {
    return listEntities(this.#database, filter);
  }

  /** Merged or not, in any order; unknown ids are omitted. */
  async details(spaceId: number, entityIds: readonly string[]): Promise<readonly EntityView[]> {
    const ids = entityIds.filter(isUuid);
    return ids.length === 0 ? [] : listEntities(this.#database, { spaceId, limit: ids.length }, ids);
  }

  mentions(spaceId: number, entityId: string, limit: number): Promise<readonly MentionRow[]> {
    return listMentions(this.#database, spaceId, entityId, limit);
  }

  setEmbedding(spaceId: number, entityId: string, embedding: EntityEmbedding): Promise<void> {
    return setEmbedding(this.#database, spaceId, entityId, embedding);
  }

  /** Sets or clears the flag; with `onlyIf` only if that is the current reason. */
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

  /**
   * Created once if the server can. If two processes create it at the same time, one of them goes without until its
   * next start.
   */
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

// Entities as they are listed, with names and counts.

/** Unmerged entities, oldest first; with `only` these, merged or not. Counts cover latest revisions. */
async function listEntities(
  database: Database,
  { spaceId, type, needsReview, name, limit, after }: EntityFilter,
  only?: readonly string[],
): Promise<readonly EntityView[]> {
  const conditions: Sql[] = [sql`e.space_id = ${spaceId}`];
  conditions.push(only === undefined ? sql`e.merged_into is null` : sql`e.entity_id = any(${only}::uuid[])`);
  if (type !== undefined) conditions.push(sql`e.entity_type = ${type}`);
  if (needsReview !== undefined) conditions.push(sql`e.needs_review = ${needsReview}`);
  if (after !== undefined) conditions.push(isUuid(after) ? sql`e.entity_id > ${after}::uuid` : sql`false`);
  if (name !== undefined) conditions.push(nameMatches(spaceId, name));
  const { rows } = await database.query<EntityView>(sql`
    with chosen as (
      select * from entity e where ${joinSql(conditions, sql` and `)} order by e.entity_id limit ${limit}),
    family as materialized (select * from knowledge_family(array(select entity_id from chosen)))
    select ${entityColumns}, names.aliases,
      (select count(*) from entity_mention m join artifact_revision r using (revision_id)
        where m.entity_id = e.entity_id and r.is_latest) as "mentionCount",
      (select count(*) from (select event_id from event_actor where entity_id = e.entity_id
        union select event_id from event_subject where entity_id = e.entity_id) deps
        join semantic_event v using (event_id) where v.superseded_at is null) as "eventCount"
    from chosen e cross join lateral (
      select coalesce(array_agg(distinct a.alias order by a.alias), '{}') as aliases
      from family f join entity_alias a on a.entity_id = f.member
      where f.root = e.entity_id and a.alias <> e.canonical_name) names
    order by e.entity_id`);
  return rows;
}

/** Substring of its name, or of a name of anything merged into it. */
function nameMatches(spaceId: number, name: string): Sql {
  const pattern = `%${name.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return sql`e.entity_id in (
    select root from knowledge_family(array(
      select named.entity_id from entity named
      where named.space_id = ${spaceId} and (named.canonical_name ilike ${pattern} or exists (
        select from entity_alias a where a.entity_id = named.entity_id and a.alias ilike ${pattern})))))`;
}

/** Of latest revisions, newest first. */
async function listMentions(
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
