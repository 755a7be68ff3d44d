// SQL that finds candidate entities: indexed lookups for all names of a batch at once, then their families.
import type { Queryable, QueryOptions } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { kindOfKey } from './blocking-keys.ts';
import type { CandidateEntity, CandidateQuery, Entity, NamesakeState } from './types.ts';

/** Rows per key and name; a key shared by more entities distinguishes none of them. */
const maxPerKey = 20;
const maxPerQuery = 30;
/**
 * A trigram search takes about 0.15 ms per name, more in large spaces; names beyond this number use prefix keys only.
 */
const maxByTrigram = 200;
export const trigramThreshold = 0.45;
const maxTrigramLength = 100;

interface Hit {
  readonly query: number;
  readonly entityId: string;
  /** The most reliable first, so that a limit cuts off the least reliable. */
  readonly rank: number;
}

export interface FoundCandidates {
  /** Per query, the most reliable finds first. */
  readonly found: readonly (readonly CandidateEntity[])[];
  /** Version of the space before the search. */
  readonly version: string;
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
): Promise<FoundCandidates> {
  const { artifactUid, signal } = options;
  const { hits, version } = await findHits(database, spaceId, queries, options);
  const byQuery = Map.groupBy(hits, ({ query }) => query);
  const limited = queries.map((_, index) =>
    (byQuery.get(index) ?? []).sort((a, b) => a.rank - b.rank).slice(0, maxPerQuery),
  );
  const ids = [...new Set(limited.flat().map(({ entityId }) => entityId))];
  const families = await loadFamilies(database, spaceId, ids, artifactUid, { signal });
  const known = new Map(families.flatMap(({ found, known: one }) => found.map((id) => [id, one] as const)));
  const found = limited.map((own) => [...new Set(own.flatMap(({ entityId }) => known.get(entityId) ?? []))]);
  return { found, version };
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
): Promise<{ readonly hits: readonly Hit[]; readonly version: string }> {
  const { names, keys, emails, alike } = searchedTexts(queries, withTrigrams);
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
  const hits = rows.flatMap(({ via, key, entityId }) =>
    (queriesOf.get(via)?.get(key) ?? []).map((query) => ({ query, entityId, rank: rankOf(via, key) })),
  );
  return { hits, version: rows.find(({ via }) => via === 'version')?.key ?? '0' };
}

/** What the search looks for, each text with the queries that look for it. */
export const searchedTexts = (queries: readonly CandidateQuery[], withTrigrams: boolean) => ({
  names: queriesByText(queries, ({ normalizedNames }) => normalizedNames),
  keys: queriesByText(queries, (query) => query.keys),
  emails: queriesByText(queries, (query) => query.emails),
  alike: queriesByText(withTrigrams ? queries : [], ({ normalizedNames }) =>
    normalizedNames.slice(0, 1).filter((name) => name.length <= maxTrigramLength),
  ),
});

/** Each distinct text with the queries that look for it. */
function queriesByText(
  queries: readonly CandidateQuery[],
  read: (query: CandidateQuery) => readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const byText = new Map<string, number[]>();
  for (const [index, query] of queries.entries())
    for (const text of new Set(read(query))) {
      const known = byText.get(text);
      if (known) known.push(index);
      else byText.set(text, [index]);
    }
  return byText;
}

/** Names and clues of one family that are compared. */
const maxNames = 50;

/** Names, emails and clues of merged entities stay with their original row. */
interface FamilyRow extends Entity {
  readonly found: readonly string[];
  readonly aliases: readonly string[];
  readonly emails: readonly string[];
  readonly organizations: readonly string[];
  readonly roles: readonly string[];
  readonly notes: readonly (readonly string[])[];
  readonly isInArtifact: boolean;
  readonly namesakes: NamesakeState | null;
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
    select ${entityColumns}, e.namesakes, f.found, f.aliases, f.emails, f.organizations, f.roles, f.notes,
      f.is_in_artifact as "isInArtifact"
    from knowledge_families(${spaceId}::integer, ${ids}::uuid[], ${artifactUid}::uuid, ${maxNames}::integer) f join entity e on e.entity_id = f.root`,
    { ...options, isFrequent: true },
  );
  return rows.map((row) => {
    const { found, aliases, emails, organizations, roles, notes, isInArtifact, namesakes, ...entity } = row;
    const { type, canonicalName } = entity;
    const names = [canonicalName, ...aliases.filter((alias) => alias !== canonicalName)];
    const clues = { emails, organizations, roles, notes: [...new Set(notes.flat())] };
    const profile = { type, names, ...clues, coMentions: [] };
    return { known: { entity, profile, isInArtifact, cosine: null, namesakes }, found };
  });
}

/** Columns of the table `entity` under the alias `e`. */
export const entityColumns = sql`
  e.entity_id as "entityId", e.space_id as "spaceId", e.entity_type as type, e.canonical_name as "canonicalName",
  e.normalized_name as "normalizedName", e.role, e.organization, e.email, e.context_clues as "contextClues",
  e.embedding_model as "embeddingModel", e.first_artifact_uid as "firstArtifactUid",
  e.needs_review as "needsReview", e.review_reason as "reviewReason", e.merged_into as "mergedInto",
  e.created_at as "createdAt", e.updated_at as "updatedAt"`;
