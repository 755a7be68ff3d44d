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
    companions: [],
  };
  return { known: { entity, aliases: names.slice(1), companions: [], profile, isInArtifact }, found };
}
