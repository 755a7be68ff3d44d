// Writes the lexical index, in the transaction that writes the chunks, with the totals of the space.
import type { Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';

/** The searchable parts of a chunk. */
export interface PostedChunk {
  readonly chunkId: number;
  readonly title: string;
  readonly heading: string | null;
  readonly text: string;
}

/** Offset of title and heading terms, so that no phrase spans title and text: positions end at 16,383. */
const titleOffset = 20_001;
/** PostgreSQL rejects texts over a megabyte; no chunk comes close. */
const maxTextLength = 200_000;
/** The input of to_tsvector: scripts without spaces as pairs of letters (see lexical_text in the schema). */
const lexical = (text: Sql, withSingles: boolean): Sql =>
  sql`left(lexical_text(left(${text}, ${maxTextLength}), ${withSingles}), ${maxTextLength})`;

/**
 * Indexes chunks of a latest revision; chunks that are indexed already are not changed. The totals of the space change
 * at the end of the statement, and their row stays locked until commit: other writers of the space wait, so call it
 * late in the transaction.
 */
export async function writePostings(
  transaction: Queryable,
  { spaceId, language }: { readonly spaceId: number; readonly language: string },
  rows: readonly PostedChunk[],
): Promise<void> {
  if (rows.length === 0) return;
  const titles = rows.map(({ title, heading }) => (heading === null ? title : `${title}\n${heading}`));
  await transaction.query(
    sql`
    with given as materialized (
      select chunk_id, to_tsvector(${language}::regconfig, ${lexical(sql`body`, true)}) as body,
        to_tsvector(${language}::regconfig, ${lexical(sql`title`, false)}) as title
      from unnest(${rows.map(({ chunkId }) => chunkId)}::bigint[], ${rows.map(({ text }) => text)}::text[],
        ${titles}::text[]) as given (chunk_id, body, title)
      where not exists (select from chunk_posting p where p.chunk_id = given.chunk_id)),
    word as materialized (
      select g.chunk_id, w.* from given g cross join lateral (
        select coalesce(b.lexeme, t.lexeme) as term,
          coalesce(cardinality(b.positions), 0) + coalesce(cardinality(t.positions), 0) as tf,
          coalesce(cardinality(t.positions), 0) as title_tf,
          case when t.positions is null then b.positions
            else (select array_agg(p - ${titleOffset}::integer) from unnest(t.positions) as p)::smallint[]
              || coalesce(b.positions, '{}') end as positions
        from unnest(g.body) as b full join unnest(g.title) as t on t.lexeme = b.lexeme) as w),
    size as (
      select chunk_id, least(sum(tf), 32767) as len,
        least(count(*) filter (where title_tf > 0), 32767) as title_terms
      from word group by chunk_id),
    posted as (
      insert into chunk_posting (space_id, term, chunk_id, tf, title_tf, len, title_terms, positions)
      select ${spaceId}::integer, term, chunk_id, tf, title_tf, len, title_terms, positions
      from word join size using (chunk_id)
      returning chunk_id, len),
    added as (select distinct chunk_id, len from posted)
    insert into corpus_total (space_id, chunk_count, total_len)
    select ${spaceId}::integer, count(*), coalesce(sum(len), 0) from added
    on conflict (space_id) do update set chunk_count = corpus_total.chunk_count + excluded.chunk_count,
      total_len = corpus_total.total_len + excluded.total_len`,
    { isFrequent: true },
  );
}

/** Removes a revision from the index; its chunks stay. Idempotent. */
export async function removePostings(
  transaction: Queryable,
  spaceId: number,
  revisionId: string,
): Promise<void> {
  await transaction.query(sql`
    with gone as (
      delete from chunk_posting p using chunk c
      where c.revision_id = ${revisionId}::uuid and c.space_id = ${spaceId} and p.chunk_id = c.chunk_id
      returning p.chunk_id, p.len),
    lens as (select distinct chunk_id, len from gone),
    less as (select count(*) as chunks, coalesce(sum(len), 0) as len from lens)
    update corpus_total t set chunk_count = t.chunk_count - l.chunks, total_len = t.total_len - l.len
    from less l where t.space_id = ${spaceId} and l.chunks > 0`);
}
