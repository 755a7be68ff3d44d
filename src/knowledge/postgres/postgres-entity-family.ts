// An entity with everything that was merged into it: names, addresses and clues stay with the row they came with.
import type { Queryable, QueryOptions } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { Entity } from '../ports.ts';
import type { KnownEntity } from '../resolution/store-ports.ts';
import { entityColumns, longestChain } from './entity-columns.ts';

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
  readonly known: Omit<KnownEntity, 'foundBy' | 'cosine'>;
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
    with recursive up as (
      select entity_id as found, entity_id as at, merged_into, 0 as depth from entity
        where entity_id = any(${ids}::uuid[]) and space_id = ${spaceId}
      union all
      select up.found, e.entity_id, e.merged_into, up.depth + 1 from up join entity e on e.entity_id = up.merged_into
        where up.depth < ${longestChain}),
    root as (select at as root, array_agg(found) as found from up where merged_into is null group by at),
    family as (
      select root, root as member, 0 as depth from root
      union all
      select f.root, e.entity_id, f.depth + 1 from family f join entity e on e.merged_into = f.member
        where f.depth < ${longestChain}),
    gathered as (
      select f.root,
        coalesce(array_agg(distinct lower(m.email)) filter (where m.email is not null), '{}') as emails,
        coalesce(array_agg(distinct m.organization) filter (where m.organization is not null), '{}') as organizations,
        coalesce(array_agg(distinct m.role) filter (where m.role is not null), '{}') as roles,
        jsonb_agg(m.context_clues) as notes
      from family f join entity m on m.entity_id = f.member group by f.root),
    named as (
      select f.root, (array_agg(distinct a.alias))[1:${mostNames}] as aliases
      from family f join entity_alias a on a.entity_id = f.member group by f.root)
    select ${entityColumns}, root.found, coalesce(named.aliases, '{}') as aliases,
      gathered.emails, gathered.organizations, gathered.roles, gathered.notes,
      exists (select from entity_mention m where m.entity_id = e.entity_id
        and m.artifact_uid = ${artifactUid}::uuid) as "isInArtifact"
    from root join entity e on e.entity_id = root.root join gathered on gathered.root = root.root
      left join named on named.root = root.root`,
    options,
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
    companions: [],
  };
  return { known: { entity, aliases: names.slice(1), companions: [], profile, isInArtifact }, found };
}
