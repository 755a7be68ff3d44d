// The words of a query as the space's language has them, how often they stand in it, and how rare they are.
import type { Queryable } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { PhraseWord } from './closer-look.ts';
import type { WeighedWord } from './essential-words.ts';
import type { QueryWord } from './proximity.ts';
import type { ReadQuery } from './read-query.ts';

export interface AnalysedQuery {
  /** Those that some chunk of the space has. */
  readonly words: readonly (QueryWord & WeighedWord)[];
  /** A phrase of stop words only is left out: the index knows nothing of them. */
  readonly phrases: readonly (readonly PhraseWord[])[];
  /** What is found must hold every phrase. */
  readonly isExact: boolean;
  /** Words of a chunk. */
  readonly averageLength: number;
  /** False when it is nothing but signs and words that the language has no index of. */
  readonly hasWords: boolean;
  /** It has more words than are looked for. */
  readonly isCut: boolean;
}

/** Different words of a query, or of a phrase; what comes after them is not looked for. */
export const mostWords = 64;

export async function analyseQuery(
  database: Queryable,
  { spaceId, language }: { readonly spaceId: number; readonly language: string },
  { words, phrases, isExact }: ReadQuery,
  signal: AbortSignal,
): Promise<AnalysedQuery> {
  const { rows: found } = await database.query<Row>(
    sql`
      with word as materialized (
        select text_no, term, positions
        from unnest(${[words, ...phrases]}::text[]) with ordinality as t (text, text_no) cross join lateral (
          select lexeme as term, positions from unnest(to_tsvector(${language}::regconfig, lexical_text(text, false)))
          order by positions[1] limit ${mostWords + 1}) as v),
      known as materialized (
        select term, (select count(*) from chunk_posting p where p.space_id = ${spaceId} and p.term = one.term) as df
        from (select distinct term from word) as one)
      select text_no as "textNo", term, positions, df, coalesce(chunk_count, 0) as "chunkCount",
        coalesce(total_len, 0) as "totalLength"
      from word join known using (term) left join corpus_total on space_id = ${spaceId}
      order by text_no, positions[1]`,
    { signal },
  );
  const rows = [...Map.groupBy(found, ({ textNo }) => textNo).values()].flatMap((own) =>
    own.slice(0, mostWords),
  );
  const [first] = rows;
  const unique = new Map(rows.toReversed().map((row) => [row.term, row]));
  return {
    isExact,
    isCut: rows.length < found.length,
    hasWords: first !== undefined,
    averageLength: first && first.chunkCount > 0 ? first.totalLength / first.chunkCount : 1,
    words: [...unique.values()].filter(({ df }) => df > 0).map(weighed),
    phrases: phrases.flatMap((_, index) => phraseOf(rows.filter(({ textNo }) => textNo === index + 2))),
  };
}

interface Row {
  /** 1: the whole query; from 2 on: its phrases. */
  readonly textNo: number;
  readonly term: string;
  readonly positions: readonly number[];
  readonly df: number;
  readonly chunkCount: number;
  readonly totalLength: number;
}

function weighed({ textNo, term, positions, chunkCount, df }: Row): QueryWord & WeighedWord {
  const idf = Math.log(1 + Math.max(0, chunkCount - df + 0.5) / (df + 0.5));
  // A word of a phrase that the query's own words, being too many, left out: it has no neighbours in the query.
  return textNo === 1
    ? { term, positions, df, idf, weight: idf * positions.length }
    : { term, positions: [], df, idf, weight: idf };
}

function phraseOf(rows: readonly Row[]): readonly (readonly PhraseWord[])[] {
  const placed = rows.flatMap(({ term, positions }) => positions.map((at) => ({ term, at })));
  const start = Math.min(...placed.map(({ at }) => at));
  return placed.length === 0 ? [] : [placed.map(({ term, at }) => ({ term, offset: at - start }))];
}
