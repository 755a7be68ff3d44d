// Who stands near an entity: in the same artifacts, or in the space of vectors.
import type { Database } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { EntityType } from '../ports.ts';
import type { KnownEntity } from '../resolution/store-ports.ts';
import { loadFamilies } from './postgres-entity-family.ts';

const mostCompanions = 20;
/** Of one entity's mentions so many say whom it is seen with; the newest tell most. */
const mostMentions = 100;

export async function findCompanions(
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
          order by times desc, name limit ${mostCompanions}) most) near
    where near.names is not null`,
    { signal },
  );
  return new Map(rows.map(({ id, names }) => [id, names]));
}

/** Below this a vector says nothing, whatever the model. */
const leastCosine = 0.6;

export async function findNearest(
  database: Database,
  spaceId: number,
  model: string,
  wishes: readonly { readonly type: EntityType; readonly vector: Float32Array }[],
  artifactUid: string | null,
  signal: AbortSignal,
): Promise<readonly (readonly KnownEntity[])[]> {
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
