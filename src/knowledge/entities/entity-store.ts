import type { IdSource } from '../../core/index.ts';
import { isUuid } from '../../core/index.ts';
import type { Database, Queryable, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { EntityType } from '../reading/types.ts';
import type { FoundCandidates } from './candidate-queries.ts';
import { entityColumns, findCandidates, loadFamilies } from './candidate-queries.ts';
import {
  lockEntities,
  lockRevision,
  setEmbedding,
  writeEntities,
  writeEntitiesAsSeen,
} from './entity-writes.ts';
import { findNamesakes, moveNamesakes } from './namesakes.ts';
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

const maxCoMentions = 20;
/** Newest mentions of an entity whose co-mentions are counted. */
const maxMentions = 100;
/** Vectors below this cosine are unrelated, for every model. */
const minCosine = 0.6;

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
  ): Promise<FoundCandidates> {
    const withTrigrams = await this.#withTrigrams();
    return findCandidates(this.#queryable, spaceId, queries, { artifactUid, withTrigrams, signal });
  }

  #withTrigrams(): Promise<boolean> {
    return (this.#trigrams ??= this.#ensureTrigramIndex());
  }

  /** Per vector the nearest entities of its type, at most five, with their cosine; none without pgvector. */
  async nearest(
    spaceId: number,
    queries: readonly (EntityEmbedding & { readonly type: EntityType })[],
    artifactUid: string | null,
    signal: AbortSignal,
  ): Promise<readonly (readonly CandidateEntity[])[]> {
    if (!this.#database.capabilities.vector.available) return [];
    const found: (readonly { id: string; cosine: number }[])[] = [];
    for (const { type, model, vector } of queries) {
      const { rows } = await this.#database.query<{ id: string; cosine: number }>(
        sql`
        select entity_id as id, 1 - distance as cosine from (
          select entity_id, context_embedding::vector <=> ${[...vector]}::real[]::vector as distance from entity
          where space_id = ${spaceId} and embedding_model = ${model} and entity_type = ${type}
            and context_embedding is not null and merged_into is null
            and array_length(context_embedding, 1) = ${vector.length}
          order by distance limit 5) nearest
        where 1 - distance >= ${minCosine}`,
        { signal },
      );
      found.push(rows);
    }
    const ids = [...new Set(found.flat().map(({ id }) => id))];
    const families = await loadFamilies(this.#database, spaceId, ids, artifactUid, { signal });
    const byId = new Map(families.map(({ known }) => [known.entity.entityId, known]));
    return found.map((rows) =>
      rows.flatMap(({ id, cosine }) => {
        const known = byId.get(id);
        return known ? [{ ...known, cosine }] : [];
      }),
    );
  }

  /** Names of entities mentioned with each, most frequent first, at most 20. */
  async coMentions(
    spaceId: number,
    entityIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    if (entityIds.length === 0) return new Map();
    const { rows } = await this.#queryable.query<{ id: string; names: readonly string[] }>(
      sql`
      select t.id, near.names from unnest(${entityIds}::uuid[]) as t (id)
        cross join lateral (
          select array_agg(name order by times desc, name) as names from (
            select e.canonical_name as name, count(*) as times
            from (select distinct revision_id from (
                select revision_id from entity_mention where entity_id = t.id order by mention_id desc
                limit ${maxMentions}) newest) own
              join lateral (select distinct entity_id from (select entity_id from entity_mention m
                where m.revision_id = own.revision_id and m.space_id = ${spaceId} limit 500) few) other on true
              join entity e on e.entity_id = other.entity_id
            where other.entity_id <> t.id group by e.canonical_name
            order by times desc, name limit ${maxCoMentions}) most) near
      where near.names is not null`,
      { signal },
    );
    return new Map(rows.map(({ id, names }) => [id, names]));
  }

  /**
   * One transaction, one writer per space at a time. Returns false and writes nothing when something changed since the
   * lookup: see `writeEntitiesAsSeen`.
   */
  async write(spaceId: number, plan: ResolutionPlan, at: Date, signal?: AbortSignal): Promise<boolean> {
    const { drafts, additions, unsettled, pairs } = plan;
    if (drafts.length + additions.length + unsettled.length + pairs.length === 0) return true;
    if (this.#transaction) {
      await writeEntities(this.#transaction, spaceId, plan, at);
      await this.#writePairs(this.#transaction, spaceId, plan, at);
      return true;
    }
    const { schema } = this.#database;
    const options = { withTrigrams: await this.#withTrigrams(), ...(signal ? { signal } : {}) };
    if (pairs.length === 0 && drafts.every(({ embedding }) => embedding === null))
      return writeEntitiesAsSeen(this.#database, schema, spaceId, plan, at, options);
    return this.#database.transaction(
      async (transaction) => {
        await lockEntities(transaction, schema, spaceId);
        const isWritten = await writeEntitiesAsSeen(transaction, schema, spaceId, plan, at, options);
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
   * Runs `work` with a store whose lookups and writes no other process interrupts. Fails with CONFLICT when the
   * revision is gone or no longer the latest.
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

  /**
   * After a document: separates mentions by their name only from entities that contradict another of that name. Returns
   * the entities that changed. Fails with CONFLICT when the revision is gone or no longer the latest.
   */
  async separateNamesakes(
    revision: Pick<MentionPlace, 'spaceId' | 'revisionId'>,
    ids: IdSource,
    at: Date,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { spaceId } = revision;
    const find = (store: EntityStore) =>
      findNamesakes(
        store.#queryable,
        (queries) => store.candidates(spaceId, queries, null, signal),
        revision,
        at,
        signal,
      );
    const { moves, unsettled } = await find(this);
    const changed: string[] = [];
    // One part after the other: other writers of the space wait for each.
    for (let isPartial = moves.length + unsettled.length > 0; isPartial;)
      await this.locked(
        revision,
        async (locked) => {
          const work = await find(locked);
          if (locked.#transaction)
            changed.push(...(await moveNamesakes(locked.#transaction, spaceId, work, ids, at)));
          ({ isPartial } = work);
        },
        signal,
      );
    return changed;
  }

  /** The entity, merged or not. */
  async get(spaceId: number, entityId: string): Promise<Entity | null> {
    const entity = await this.byId(entityId);
    return entity?.spaceId === spaceId ? entity : null;
  }

  /** The entity in any space, for repairs, which have ids only. */
  async byId(entityId: string): Promise<Entity | null> {
    if (!isUuid(entityId)) return null;
    const { rows } = await this.#database.query<Entity>(
      sql`select ${entityColumns} from entity e where e.entity_id = ${entityId}::uuid`,
    );
    return rows[0] ?? null;
  }

  /** The entity with everything merged into it; null if it is merged or unknown. */
  async known(spaceId: number, entityId: string): Promise<CandidateEntity | null> {
    if (!isUuid(entityId)) return null;
    const [family] = await loadFamilies(this.#database, spaceId, [entityId], null);
    return family?.known.entity.entityId === entityId ? family.known : null;
  }

  /** Unmerged entities, oldest first. */
  list(filter: EntityFilter): Promise<readonly EntityView[]> {
    return this.#list(filter, [sql`e.merged_into is null`, ...conditionsOf(filter)]);
  }

  /** Entities, merged or not, in any order; unknown ids are omitted. */
  async details(spaceId: number, entityIds: readonly string[]): Promise<readonly EntityView[]> {
    const ids = entityIds.filter(isUuid);
    if (ids.length === 0) return [];
    return this.#list({ spaceId, limit: ids.length }, [sql`e.entity_id = any(${ids}::uuid[])`]);
  }

  /** Counts cover latest revisions. */
  async #list(
    { spaceId, limit }: Pick<EntityFilter, 'spaceId' | 'limit'>,
    conditions: readonly Sql[],
  ): Promise<readonly EntityView[]> {
    const { rows } = await this.#database.query<EntityView>(sql`
      with chosen as (
        select * from entity e where e.space_id = ${spaceId} and ${joinSql(conditions, sql` and `)}
        order by e.entity_id limit ${limit}),
      family as materialized (select * from knowledge_family(array(select entity_id from chosen)))
      select ${entityColumns}, names.aliases,
        (select count(*) from entity_mention m join artifact_revision r using (revision_id)
          where m.entity_id = e.entity_id and r.is_latest) as "mentionCount",
        (select count(*) from (select event_id from event_actor where entity_id = e.entity_id
          union select event_id from event_subject where entity_id = e.entity_id) own
          join semantic_event v using (event_id) where v.superseded_at is null) as "eventCount"
      from chosen e cross join lateral (
        select coalesce(array_agg(distinct a.alias order by a.alias), '{}') as aliases
        from family f join entity_alias a on a.entity_id = f.member
        where f.root = e.entity_id and a.alias <> e.canonical_name) names
      order by e.entity_id`);
    return rows;
  }

  /** Mentions in latest revisions, newest first. */
  async mentions(spaceId: number, entityId: string, limit: number): Promise<readonly MentionRow[]> {
    if (!isUuid(entityId)) return [];
    const { rows } = await this.#database.query<MentionRow>(sql`
      select m.mention_id as "mentionId", m.artifact_uid as "artifactUid", r.title, m.surface_form as "surfaceForm",
        m.start_char as "startChar", m.end_char as "endChar", m.method, m.confidence, m.relation
      from entity_mention m join artifact_revision r using (revision_id)
      where m.entity_id = ${entityId}::uuid and m.space_id = ${spaceId} and r.is_latest
      order by m.mention_id desc limit ${limit}`);
    return rows;
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
   * Created once if the server can. If two processes create it at the same time, one of them runs without it until
   * its next start.
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

function* conditionsOf({ spaceId, type, needsReview, name, after }: EntityFilter): Generator<Sql> {
  if (type !== undefined) yield sql`e.entity_type = ${type}`;
  if (needsReview !== undefined) yield sql`e.needs_review = ${needsReview}`;
  if (after !== undefined) yield isUuid(after) ? sql`e.entity_id > ${after}::uuid` : sql`false`;
  if (name === undefined) return;
  // Matches a name of the entity, or of anything merged into it.
  const pattern = `%${name.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  yield sql`e.entity_id in (
    select root from knowledge_family(array(
      select named.entity_id from entity named
      where named.space_id = ${spaceId} and (named.canonical_name ilike ${pattern} or exists (
        select from entity_alias a where a.entity_id = named.entity_id and a.alias ilike ${pattern})))))`;
}
