// Parses queries into words and quoted phrases, and filters into SQL. A query of phrases only returns chunks that
// contain them all; next to other words (people quote titles in questions) a phrase adds weight and excludes nothing.
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { SearchFilter } from './types.ts';

export interface ParsedQuery {
  /** All words, phrases included, without the quotes. */
  readonly words: string;
  readonly phrases: readonly string[];
  /** There is nothing outside the quotes: results must contain every phrase. */
  readonly isExact: boolean;
  /** Phrases beyond the limit. */
  readonly droppedPhrases: number;
}

/** Longer input would only slow the search down. */
const maxQueryLength = 10_000;
export const maxPhrases = 8;

const quoted = /"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»/gu;
const letterOrDigit = /[\p{L}\p{N}]/u;

/** Never fails: an unbalanced quote is an ordinary character. */
export function parseQuery(text: string): ParsedQuery {
  // PostgreSQL accepts neither NUL nor lone surrogates.
  const query = text.slice(0, maxQueryLength).toWellFormed().replaceAll('\0', ' ');
  const phrases = [...query.matchAll(quoted)]
    .map((match) => match.slice(1).find((group) => group !== undefined) ?? '')
    .filter((phrase) => letterOrDigit.test(phrase));
  return {
    words: query.replaceAll(/["“”„«»]/gu, ' '),
    phrases: phrases.slice(0, maxPhrases),
    isExact: phrases.length > 0 && !letterOrDigit.test(query.replaceAll(quoted, ' ')),
    droppedPhrases: Math.max(0, phrases.length - maxPhrases),
  };
}

/**
 * The ids of the space's chunks that pass the filter; null when all do. Only latest revisions have postings and
 * vectors.
 */
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
  if (entityIds?.length) conditions.push(sql`c.chunk_id in (${chunksMentioning(spaceId, entityIds)})`);
  if (conditions.length === 0) return null;
  return sql`
    select c.chunk_id from chunk c join artifact_revision r using (revision_id)
      join artifact a on a.artifact_uid = c.artifact_uid
    where c.space_id = ${spaceId} and r.is_latest and ${joinSql(conditions, sql` and `)}`;
}

/** Chunks that mention these entities. A structured mention of a document counts for each of its chunks. */
const chunksMentioning = (spaceId: number, entityIds: readonly string[]): Sql => sql`
  with mention as (
    select m.chunk_id, m.revision_id from entity_mention m
    where m.entity_id = any(array(select root from knowledge_family(${entityIds}::uuid[]))) and m.space_id = ${spaceId})
  select chunk_id from mention where chunk_id is not null
  union all
  select w.chunk_id from mention m join chunk w on w.revision_id = m.revision_id where m.chunk_id is null`;
