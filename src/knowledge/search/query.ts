// What somebody typed, as what is looked for: words, and phrases in quotes. A query that is nothing but phrases finds
// only what holds them all; among other words (people quote titles in questions) a phrase weighs more, and excludes nothing.
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import { familyOf } from '../entities/pair-store.ts';
import type { SearchFilter } from './types.ts';

export interface ParsedQuery {
  /** Everything, phrases included, without the quotes. */
  readonly words: string;
  readonly phrases: readonly string[];
  /** Nothing stands outside the quotes: what is found must hold every phrase. */
  readonly isExact: boolean;
  /** Phrases beyond those that are looked for. */
  readonly droppedPhrases: number;
}

/** Nobody types more; what is pasted beyond that would only make the search slow. */
const longestQuery = 10_000;
export const maxPhrases = 8;

const quoted = /"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»/gu;
const wordy = /[\p{L}\p{N}]/u;

/** Never fails: a quote without its partner is a character like any other. */
export function parseQuery(text: string): ParsedQuery {
  // Postgres takes neither NUL nor half a character.
  const query = text.slice(0, longestQuery).toWellFormed().replaceAll('\0', ' ');
  const phrases = [...query.matchAll(quoted)]
    .map((match) => match.slice(1).find((group) => group !== undefined) ?? '')
    .filter((phrase) => wordy.test(phrase));
  return {
    words: query.replaceAll(/["“”„«»]/gu, ' '),
    phrases: phrases.slice(0, maxPhrases),
    isExact: phrases.length > 0 && !wordy.test(query.replaceAll(quoted, ' ')),
    droppedPhrases: Math.max(0, phrases.length - maxPhrases),
  };
}

// Which chunks a search may find, as SQL.

/** The ids of the space's chunks that pass; null when all do. Only latest revisions have postings and vectors. */
export function allowedChunks(spaceId: number, filter: SearchFilter): Sql | null {
  const { types, sources, from, to, categories, entityIds } = filter;
  const written = sql`coalesce(r.source_ts, r.ingested_at)`;
  const conditions: Sql[] = [];
  if (types?.length) conditions.push(sql`a.type = any(${types}::text[])`);
  if (sources?.length) conditions.push(sql`a.source_system = any(${sources}::text[])`);
  if (from) conditions.push(sql`${written} >= ${from}`);
  if (to) conditions.push(sql`${written} <= ${to}`);
  if (categories?.length)
    conditions.push(sql`c.chunk_id in (
      select chunk_id from semantic_event
      where space_id = ${spaceId} and superseded_at is null and category = any(${categories}::text[]))`);
  if (entityIds?.length) conditions.push(sql`c.chunk_id in (${mentioning(spaceId, entityIds)})`);
  if (conditions.length === 0) return null;
  return sql`
    select c.chunk_id from chunk c join artifact_revision r using (revision_id)
      join artifact a on a.artifact_uid = c.artifact_uid
    where c.space_id = ${spaceId} and r.is_latest and ${joinSql(conditions, sql` and `)}`;
}

/** Chunks that mention what these ids mean now. What the source says of a whole document holds for each of its chunks. */
const mentioning = (spaceId: number, entityIds: readonly string[]): Sql => sql`
  with recursive ${familyOf(sql`select unnest(${entityIds}::uuid[])`)},
  mention as (
    select m.chunk_id, m.revision_id from family f join entity_mention m on m.entity_id = f.member
    where m.space_id = ${spaceId})
  select chunk_id from mention where chunk_id is not null
  union all
  select w.chunk_id from mention m join chunk w on w.revision_id = m.revision_id where m.chunk_id is null`;
