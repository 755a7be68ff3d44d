// Whom a name may mean: indexed lookups for all names of a batch together, then a look at those they lead to.
import type { Database, Queryable, QueryOptions } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { EntityType } from '../reading/types.ts';
import { kindOfKey } from './blocking-keys.ts';
import type { Candidate, CandidateQuery, Entity, CandidateEntity } from './types.ts';

type FoundBy = Candidate['foundBy'][number];

/** Rows per key and name; a key that more share tells nobody apart. */
const mostPerKey = 20;
const mostPerWish = 30;
/** Trigrams cost about 0.15 ms each, more in large spaces; beyond this many names the keys of beginnings stand in for them. */
const mostByTrigram = 200;
const trigramThreshold = 0.45;
const longestAlike = 100;

interface Hit {
  readonly wish: number;
  readonly entityId: string;
  readonly by: FoundBy;
}

export async function findCandidates(
  database: Queryable,
  spaceId: number,
  wishes: readonly CandidateQuery[],
  options: {
    readonly artifactUid: string | null;
    readonly withTrigrams: boolean;
    readonly signal: AbortSignal;
  },
): Promise<readonly (readonly CandidateEntity[])[]> {
  const { signal } = options;
  const hits = await findHits(database, spaceId, wishes, options);
  const kept = boundedHits(hits, wishes.length);
  const ids = [...new Set(kept.flat().map(({ entityId }) => entityId))];
  const families = await loadFamilies(database, spaceId, ids, options.artifactUid, { signal });
  const byFound = new Map(families.flatMap((family) => family.found.map((id) => [id, family] as const)));
  return kept.map((own) => {
    const merged = new Map<string, CandidateEntity>();
    for (const { entityId, by } of own) {
      const family = byFound.get(entityId);
      if (!family) continue;
      const { known } = family;
      const before = merged.get(known.entity.entityId)?.foundBy ?? [];
      const foundBy = before.includes(by) ? before : [...before, by];
      merged.set(known.entity.entityId, { ...known, foundBy, cosine: null });
    }
    return [...merged.values()];
  });
}

/** Surest kinds first, so that a bound costs the least sure. */
const order: readonly FoundBy[] = [
  'identity',
  'name',
  'alias',
  'email',
  'nickname',
  'initials',
  'trigram',
  'embedding',
];

function boundedHits(hits: readonly Hit[], count: number): readonly (readonly Hit[])[] {
  const byWish = Array.from({ length: count }, (): Hit[] => []);
  for (const hit of hits) byWish[hit.wish]?.push(hit);
  return byWish.map((own) =>
    own.sort((a, b) => order.indexOf(a.by) - order.indexOf(b.by)).slice(0, mostPerWish),
  );
}

const foundByOf = (via: string, key: string): FoundBy => {
  if (via !== 'key') return via as FoundBy;
  const kind = kindOfKey(key);
  if (kind === 'identity' || kind === 'initials' || kind === 'nickname' || kind === 'email') return kind;
  return kind === 'part' ? 'alias' : 'trigram';
};

async function findHits(
  database: Queryable,
  spaceId: number,
  wishes: readonly CandidateQuery[],
  { withTrigrams, signal }: { readonly withTrigrams: boolean; readonly signal: AbortSignal },
): Promise<readonly Hit[]> {
  const names = wantedBy(wishes, ({ normalizedNames }) => normalizedNames);
  const keys = wantedBy(wishes, (wish) => wish.keys);
  const emails = wantedBy(wishes, (wish) => wish.emails);
  const alike = wantedBy(withTrigrams ? wishes : [], ({ normalizedNames }) =>
    normalizedNames.slice(0, 1).filter((name) => name.length <= longestAlike),
  );
  const { rows } = await database.query<{ via: string; key: string; entityId: string }>(
    sql`
    select via, found_key as key, found_id as "entityId" from knowledge_find_entities(${spaceId}::integer,
      ${[...names.keys()]}::text[], ${[...emails.keys()]}::text[], ${[...keys.keys()]}::text[], ${mostPerKey}::integer,
      ${[...alike.keys()]}::text[], ${mostByTrigram}::integer, ${trigramThreshold}::real)`,
    { signal, isFrequent: true },
  );
  const wantedOf: Readonly<Record<string, ReadonlyMap<string, readonly number[]>>> = {
    name: names,
    alias: names,
    email: emails,
    key: keys,
    trigram: alike,
  };
  return rows.flatMap(({ via, key, entityId }) =>
    (wantedOf[via]?.get(key) ?? []).map((wish) => ({ wish, entityId, by: foundByOf(via, key) })),
  );
}

/** Each wanted text once, with the wishes that want it. */
function wantedBy(
  wishes: readonly CandidateQuery[],
  read: (wish: CandidateQuery) => readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const wanted = new Map<string, number[]>();
  for (const [index, wish] of wishes.entries())
    for (const text of new Set(read(wish))) {
      const known = wanted.get(text);
      if (known) known.push(index);
      else wanted.set(text, [index]);
    }
  return wanted;
}

// Who stands near an entity: in the same artifacts, or in the space of vectors.

const maxCoMentions = 20;
/** Of one entity's mentions so many say whom it is seen with; the newest tell most. */
const mostMentions = 100;

export async function findCoMentions(
  database: Database,
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
              limit ${mostMentions}) newest) own
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

/** Below this a vector says nothing, whatever the model. */
const leastCosine = 0.6;

export async function findNearestEntities(
  database: Database,
  spaceId: number,
  model: string,
  wishes: readonly { readonly type: EntityType; readonly vector: Float32Array }[],
  artifactUid: string | null,
  signal: AbortSignal,
): Promise<readonly (readonly CandidateEntity[])[]> {
  if (wishes.length === 0 || !database.capabilities.vector.available) return wishes.map(() => []);
  const found: (readonly { id: string; cosine: number }[])[] = [];
  for (const { type, vector } of wishes) {
    const { rows } = await database.query<{ id: string; cosine: number }>(
      sql`
      select entity_id as id, 1 - distance as cosine from (
        select entity_id, context_embedding::vector <=> ${[...vector]}::real[]::vector as distance from entity
        where space_id = ${spaceId} and embedding_model = ${model} and entity_type = ${type}
          and context_embedding is not null and merged_into is null
          and array_length(context_embedding, 1) = ${vector.length}
        order by distance limit 5) nearest
      where 1 - distance >= ${leastCosine}`,
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
      return known ? [{ ...known, foundBy: ['embedding'] as const, cosine }] : [];
    }),
  );
}

// An entity with everything that was merged into it: names, addresses and clues stay with the row they came with.

/** Names and clues of one family that are looked at. */
const mostNames = 50;

interface FamilyRow extends Entity {
  readonly found: readonly string[];
  readonly aliases: readonly string[];
  readonly emails: readonly string[];
  readonly organizations: readonly string[];
  readonly roles: readonly string[];
  readonly notes: readonly (readonly string[])[];
  readonly isInArtifact: boolean;
}

export interface Family {
  readonly known: Omit<CandidateEntity, 'foundBy' | 'cosine'>;
  /** Those of the ids asked for that are this entity now. */
  readonly found: readonly string[];
}

/** The live entities that these ids mean now, each once; ids of other spaces mean nothing. */
export async function loadFamilies(
  database: Queryable,
  spaceId: number,
  ids: readonly string[],
  artifactUid: string | null,
  options: QueryOptions = {},
): Promise<readonly Family[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<FamilyRow>(
    sql`
    select ${entityColumns}, f.found, f.aliases, f.emails, f.organizations, f.roles, f.notes,
      f.is_in_artifact as "isInArtifact"
    from knowledge_families(${spaceId}::integer, ${ids}::uuid[], ${artifactUid}::uuid, ${mostNames}::integer,
      ${longestChain}::integer) f join entity e on e.entity_id = f.root`,
    { ...options, isFrequent: true },
  );
  return rows.map(familyOf);
}

function familyOf({
  found,
  aliases,
  emails,
  organizations,
  roles,
  notes,
  isInArtifact,
  ...entity
}: FamilyRow): Family {
  const names = [entity.canonicalName, ...aliases.filter((alias) => alias !== entity.canonicalName)];
  const profile = {
    type: entity.type,
    names,
    emails,
    organizations,
    roles,
    notes: [...new Set(notes.flat())],
    coMentions: [],
  };
  return { known: { entity, aliases: names.slice(1), coMentions: [], profile, isInArtifact }, found };
}

/** Of the table `entity`, called `e`. */
export const entityColumns = sql`
  e.entity_id as "entityId", e.space_id as "spaceId", e.entity_type as type, e.canonical_name as "canonicalName",
  e.normalized_name as "normalizedName", e.role, e.organization, e.email, e.context_clues as "contextClues",
  e.embedding_model as "embeddingModel", e.first_artifact_uid as "firstArtifactUid",
  e.needs_review as "needsReview", e.review_reason as "reviewReason", e.merged_into as "mergedInto",
  e.created_at as "createdAt", e.updated_at as "updatedAt"`;

/** Merges upon merges are followed this far; nobody merges deeper. */
export const longestChain = 32;
