// SQL that finds candidate entities: indexed lookups for all names of a batch at once, then their families.
import type { Database, Queryable, QueryOptions } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { EntityType } from '../reading/types.ts';
import { kindOfKey } from './blocking-keys.ts';
import type { CandidateEntity, CandidateQuery, Entity, EntityEmbedding } from './types.ts';

/** Rows per key and name; a key shared by more entities distinguishes none of them. */
const maxPerKey = 20;
const maxPerQuery = 30;
/**
 * A trigram search takes about 0.15 ms per name, more in large spaces; names beyond this number use prefix keys only.
 */
const maxByTrigram = 200;
const trigramThreshold = 0.45;
const maxTrigramLength = 100;

interface Hit {
  readonly query: number;
  readonly entityId: string;
  /** The most reliable first, so that a limit cuts off the least reliable. */
  readonly rank: number;
}

export async function findCandidates(
  database: Queryable,
  spaceId: number,
  queries: readonly CandidateQuery[],
  options: {
    readonly artifactUid: string | null;
    readonly withTrigrams: boolean;
    readonly signal: AbortSignal;
  },
): Promise<readonly (readonly CandidateEntity[])[]> {
  const { artifactUid, signal } = options;
  const byQuery = Map.groupBy(await findHits(database, spaceId, queries, options), ({ query }) => query);
  const kept = queries.map((_, index) =>
    (byQuery.get(index) ?? []).sort((a, b) => a.rank - b.rank).slice(0, maxPerQuery),
  );
  const ids = [...new Set(kept.flat().map(({ entityId }) => entityId))];
  const families = await loadFamilies(database, spaceId, ids, artifactUid, { signal });
  const known = new Map(families.flatMap(({ found, known: one }) => found.map((id) => [id, one] as const)));
  return kept.map((own) => [...new Set(own.flatMap(({ entityId }) => known.get(entityId) ?? []))]);
}

const reliability = ['identity', 'name', 'alias', 'email', 'nickname', 'initials', 'trigram'];

function rankOf(via: string, key: string): number {
  const kind = via === 'key' ? kindOfKey(key) : via;
  if (kind === 'part') return reliability.indexOf('alias');
  return reliability.indexOf(kind === 'clue' ? 'trigram' : kind);
}

async function findHits(
  database: Queryable,
  spaceId: number,
  queries: readonly CandidateQuery[],
  { withTrigrams, signal }: { readonly withTrigrams: boolean; readonly signal: AbortSignal },
): Promise<readonly Hit[]> {
  const names = queriesByText(queries, ({ normalizedNames }) => normalizedNames);
  const keys = queriesByText(queries, (query) => query.keys);
  const emails = queriesByText(queries, (query) => query.emails);
  const alike = queriesByText(withTrigrams ? queries : [], ({ normalizedNames }) =>
    normalizedNames.slice(0, 1).filter((name) => name.length <= maxTrigramLength),
  );
  const { rows } = await database.query<{ via: string; key: string; entityId: string }>(
    sql`
    select via, found_key as key, found_id as "entityId" from knowledge_find_entities(${spaceId}::integer,
      ${[...names.keys()]}::text[], ${[...emails.keys()]}::text[], ${[...keys.keys()]}::text[], ${maxPerKey}::integer,
      ${[...alike.keys()]}::text[], ${maxByTrigram}::integer, ${trigramThreshold}::real)`,
    { signal, isFrequent: true },
  );
  const queriesOf = new Map(
    Object.entries({ name: names, alias: names, email: emails, key: keys, trigram: alike }),
  );
  return rows.flatMap(({ via, key, entityId }) =>
    (queriesOf.get(via)?.get(key) ?? []).map((query) => ({ query, entityId, rank: rankOf(via, key) })),
  );
}

/** Each distinct text with the queries that look for it. */
function queriesByText(
  queries: readonly CandidateQuery[],
  read: (query: CandidateQuery) => readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const wanted = new Map<string, number[]>();
  for (const [index, query] of queries.entries())
    for (const text of new Set(read(query))) {
      const known = wanted.get(text);
      if (known) known.push(index);
      else wanted.set(text, [index]);
    }
  return wanted;
}

// Entities near another: mentioned in the same artifacts, or with a similar vector.

const maxCoMentions = 20;
/** Newest mentions of an entity whose co-mentions are counted. */
const maxMentions = 100;

export async function findCoMentions(
  database: Queryable,
  spaceId: number,
  entityIds: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (entityIds.length === 0) return new Map();
  const { rows } = await database.query<{ id: string; names: readonly string[] }>(
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

/** Vectors below this cosine are unrelated, for every model. */
const minCosine = 0.6;

export async function findNearestEntities(
  database: Database,
  spaceId: number,
  queries: readonly (EntityEmbedding & { readonly type: EntityType })[],
  artifactUid: string | null,
  signal: AbortSignal,
): Promise<readonly (readonly CandidateEntity[])[]> {
  if (queries.length === 0 || !database.capabilities.vector.available) return queries.map(() => []);
  const found: (readonly { id: string; cosine: number }[])[] = [];
  for (const { type, model, vector } of queries) {
    const { rows } = await database.query<{ id: string; cosine: number }>(
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
  const families = await loadFamilies(database, spaceId, ids, artifactUid, { signal });
  const byId = new Map(families.map(({ known }) => [known.entity.entityId, known]));
  return found.map((rows) =>
    rows.flatMap(({ id, cosine }) => {
      const known = byId.get(id);
      return known ? [{ ...known, cosine }] : [];
    }),
  );
}

// An entity with everything merged into it: names, emails and clues stay with their original row.

/** Names and clues of one family that are compared. */
const maxNames = 50;

interface FamilyRow extends Entity {
  readonly found: readonly string[];
  readonly aliases: readonly string[];
  readonly emails: readonly string[];
  readonly organizations: readonly string[];
  readonly roles: readonly string[];
  readonly notes: readonly (readonly string[])[];
  readonly isInArtifact: boolean;
}

/** The unmerged entities of these ids, each once; ids of other spaces are ignored. */
export async function loadFamilies(
  database: Queryable,
  spaceId: number,
  ids: readonly string[],
  artifactUid: string | null,
  options: QueryOptions = {},
): Promise<
  readonly {
    readonly known: CandidateEntity;
    /** Those of the requested ids that are this entity, directly or by merge. */
    readonly found: readonly string[];
  }[]
> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<FamilyRow>(
    sql`
    select ${entityColumns}, f.found, f.aliases, f.emails, f.organizations, f.roles, f.notes,
      f.is_in_artifact as "isInArtifact"
    from knowledge_families(${spaceId}::integer, ${ids}::uuid[], ${artifactUid}::uuid, ${maxNames}::integer) f join entity e on e.entity_id = f.root`,
    { ...options, isFrequent: true },
  );
  return rows.map(({ found, aliases, emails, organizations, roles, notes, isInArtifact, ...entity }) => {
    const { type, canonicalName } = entity;
    const names = [canonicalName, ...aliases.filter((alias) => alias !== canonicalName)];
    const clues = { emails, organizations, roles, notes: [...new Set(notes.flat())] };
    const profile = { type, names, ...clues, coMentions: [] };
    return { known: { entity, profile, isInArtifact, cosine: null }, found };
  });
}

/** Columns of the table `entity` under the alias `e`. */
export const entityColumns = sql`
  e.entity_id as "entityId", e.space_id as "spaceId", e.entity_type as type, e.canonical_name as "canonicalName",
  e.normalized_name as "normalizedName", e.role, e.organization, e.email, e.context_clues as "contextClues",
  e.embedding_model as "embeddingModel", e.first_artifact_uid as "firstArtifactUid",
  e.needs_review as "needsReview", e.review_reason as "reviewReason", e.merged_into as "mergedInto",
  e.created_at as "createdAt", e.updated_at as "updatedAt"`;
