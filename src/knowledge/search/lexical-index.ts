// BM25 in SQL over postings. PostgreSQL's own ranking ignores how rare a word is and performs much worse. The postings
// of rarer terms yield candidates; frequent terms are looked up for the best candidates only. The best of these are
// rescored by title and proximity.
import type { Database, Queryable } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { ParsedQuery } from './query.ts';
import { allowedChunks, maxPhrases, parseQuery } from './query.ts';
import type { RankedChunk, SearchFilter } from './types.ts';

/** The usual values: those that win on one collection lose on others. */
const k1 = 1.2;
const b = 0.75;
/** A term in the title counts again, with this share of its weight. */
const titleWord = 0.5;
/** Minimum number of chunks that are rescored. */
const minRescored = 100;
/** Candidates for which frequent terms are looked up. */
const candidates = 300;

export class LexicalIndex {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Chunks of latest revisions, best first. `onDropped` receives a sentence for every part of the query that was
   * ignored.
   */
  async search(
    space: { readonly spaceId: number; readonly language: string },
    query: string,
    limit: number,
    filter: SearchFilter,
    signal: AbortSignal,
    onDropped: (sentence: string) => void = () => undefined,
  ): Promise<readonly RankedChunk[]> {
    const read = parseQuery(query);
    const analyzed = await analyzeQuery(this.#database, space, read, signal);
    if (analyzed.isCut) onDropped(`Only the first ${maxTerms} distinct words of the query were searched.`);
    if (read.droppedPhrases > 0)
      onDropped(`Only the first ${maxPhrases} quoted phrases were searched as phrases.`);
    if (!analyzed.hasWords)
      onDropped(
        'The query has no searchable word: punctuation and stop words such as “the” are not indexed.',
      );
    const { words, phrases, isExact } = analyzed;
    const known = new Set(words.map(({ term }) => term));
    const cannotMatch = phrases.some((phrase) => phrase.some(({ term }) => !known.has(term)));
    if (known.size === 0 || (isExact && cannotMatch)) return [];
    const added = rescoreByProximity(words, phrases);
    const { rows } = await this.#database.query<Scored>(
      scoring(space.spaceId, analyzed, Math.max(limit, minRescored), filter),
      { signal },
    );
    return rows
      .map((row) => ({ chunkId: row.chunkId, score: row.score + added(positionsOf(row)) }))
      .sort((one, other) => other.score - one.score || one.chunkId - other.chunkId)
      .slice(0, limit);
  }
}

interface Scored {
  readonly chunkId: number;
  readonly score: number;
  readonly titleTerms: number;
  readonly terms: readonly string[];
  /** The array of positions of each term, as text. */
  readonly places: readonly string[];
}

function positionsOf({ titleTerms, terms, places }: Scored): WordPlaces {
  const numbers = (text: string | undefined) => (text ?? '{}').slice(1, -1).split(',').map(Number);
  return { titleTerms, places: new Map(terms.map((term, index) => [term, numbers(places[index])])) };
}

/**
 * Weights are float8: numeric costs seven times as much. OFFSET 0 prevents the planner from turning the lookups by term
 * into one join, which was 30 times slower on the embedded store.
 */
function scoring(spaceId: number, analyzed: AnalyzedQuery, limit: number, filter: SearchFilter): Sql {
  const { averageLength } = analyzed;
  const phrases = analyzed.isExact ? analyzed.phrases : [];
  const { essential, frequent } =
    phrases.length === 0 ? selectiveTerms(analyzed.words) : { essential: analyzed.words, frequent: [] };
  const perWord = (k1 * b) / Math.max(averageLength, 1);
  const part = sql`
    w.weight * (p.tf * ${k1 + 1}::float8 / (p.tf + ${k1 * (1 - b)}::float8 + ${perWord}::float8 * p.len)
      + case when p.title_tf > 0 then ${titleWord}::float8 else 0::float8 end)`;
  const allowed = allowedChunks(spaceId, filter);
  return sql`
    with essential as materialized (${termTable(essential)}), frequent as materialized (${termTable(frequent)}),
    ${allowed === null ? sql`` : sql`allowed as materialized (${allowed}),`}
    matched as (
      select p.chunk_id, sum(${part}) as score
      from essential w cross join lateral (
        select chunk_id, tf, title_tf, len from chunk_posting
        where space_id = ${spaceId}::integer and term = w.term offset 0) p
      ${allowed === null ? sql`` : sql`where p.chunk_id in (select chunk_id from allowed)`}
      group by p.chunk_id ${havingPhraseTerms(phrases)}),
    candidate as materialized (
      select chunk_id, score from matched
      ${phrases.length === 0 ? sql`` : sql`where ${allPhrasesOccur(spaceId, phrases)}`}
      order by score desc, chunk_id limit ${Math.max(limit, frequent.length === 0 ? 0 : candidates)}),
    best as materialized (
      select chunk_id, score + coalesce((
        select sum(${part}) from frequent w cross join lateral (
          select tf, title_tf, len from chunk_posting
          where space_id = ${spaceId}::integer and term = w.term and chunk_id = candidate.chunk_id offset 0) p), 0) as score
      from candidate order by 2 desc, chunk_id limit ${limit})
    select best.chunk_id as "chunkId", best.score, max(p.title_terms) as "titleTerms", array_agg(w.term) as terms,
      array_agg(p.positions::text) as places
    from best cross join (select term from essential union all select term from frequent) w cross join lateral (
      select title_terms, positions from chunk_posting
      where space_id = ${spaceId}::integer and term = w.term and chunk_id = best.chunk_id offset 0) p
    group by best.chunk_id, best.score`;
}

function termTable(words: AnalyzedQuery['words']): Sql {
  return sql`
    select term, weight from unnest(${words.map(({ term }) => term)}::text[],
      ${words.map(({ weight }) => weight)}::float8[]) as w (term, weight)`;
}

/** A cheap check before positions are compared: the chunk has every term of every phrase. */
function havingPhraseTerms(phrases: AnalyzedQuery['phrases']): Sql {
  if (phrases.length === 0) return sql``;
  const terms = [...new Set(phrases.flat().map(({ term }) => term))];
  return sql`having count(*) filter (where w.term = any(${terms}::text[])) = ${terms.length}`;
}

/** Every phrase occurs: its terms are at consecutive positions as in the query. */
function allPhrasesOccur(spaceId: number, phrases: readonly (readonly PhraseWord[])[]): Sql {
  const words = phrases.flatMap((phrase, no) => phrase.map((word) => ({ no, size: phrase.length, ...word })));
  return sql`(
    select count(distinct no) from (
      select f.no from unnest(${words.map(({ no }) => no)}::integer[], ${words.map(({ term }) => term)}::text[],
        ${words.map(({ offset }) => offset)}::integer[], ${words.map(({ size }) => size)}::integer[])
          as f (no, term, place, size)
        cross join lateral (
          select positions from chunk_posting
          where space_id = ${spaceId}::integer and term = f.term and chunk_id = matched.chunk_id offset 0) p,
        unnest(p.positions) as at
      group by f.no, f.size, at - f.place having count(*) = f.size) as found) = ${phrases.length}`;
}

// The terms of a query in the language of the space, with their frequencies.

export interface AnalyzedQuery {
  /** Those that occur in the space. */
  readonly words: readonly (QueryWord & WeighedWord)[];
  /** Phrases of stop words only are omitted: they are not indexed. */
  readonly phrases: readonly (readonly PhraseWord[])[];
  /** Results must contain every phrase. */
  readonly isExact: boolean;
  /** Terms per chunk. */
  readonly averageLength: number;
  /** False when the query has only punctuation and stop words. */
  readonly hasWords: boolean;
  /** The query has more terms than are looked up. */
  readonly isCut: boolean;
}

/** Distinct terms of a query or phrase; further ones are ignored. */
export const maxTerms = 64;

export async function analyzeQuery(
  database: Queryable,
  { spaceId, language }: { readonly spaceId: number; readonly language: string },
  { words, phrases, isExact }: ParsedQuery,
  signal: AbortSignal,
): Promise<AnalyzedQuery> {
  const { rows: found } = await database.query<Row>(
    sql`
      with word as materialized (
        select text_no, term, positions
        from unnest(${[words, ...phrases]}::text[]) with ordinality as t (text, text_no) cross join lateral (
          select lexeme as term, positions from unnest(to_tsvector(${language}::regconfig, lexical_text(text, false)))
          order by positions[1] limit ${maxTerms + 1}) as v),
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
    own.slice(0, maxTerms),
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
  // A phrase term beyond the limit for the query: it has no adjacent terms.
  return textNo === 1
    ? { term, positions, df, idf, weight: idf * positions.length }
    : { term, positions: [], df, idf, weight: idf };
}

function phraseOf(rows: readonly Row[]): readonly (readonly PhraseWord[])[] {
  const placed = rows.flatMap(({ term, positions }) => positions.map((at) => ({ term, at })));
  const start = Math.min(...placed.map(({ at }) => at));
  return placed.length === 0 ? [] : [placed.map(({ term, at }) => ({ term, offset: at - start }))];
}

// Which terms find candidates, and which only order them.

export interface WeighedWord {
  /** Number of chunks with the term. */
  readonly df: number;
  readonly weight: number;
}

/** Frequent terms with at most this share of the query's weight are not looked up in every chunk. */
const maxFrequentShare = 0.25;
/** The other terms must have this many postings to find enough candidates. */
const minPostings = 1_000;

/**
 * Frequent terms cost the most time and carry the least weight. On two public collections, leaving them out of the
 * first pass (a quarter of the weight) changed no figure and read a third of the postings. Small collections are read
 * whole.
 */
export function selectiveTerms<Word extends WeighedWord>(
  words: readonly Word[],
): { readonly essential: readonly Word[]; readonly frequent: readonly Word[] } {
  const byFrequency = words.toSorted((a, b) => b.df - a.df);
  let spare = maxFrequentShare * words.reduce((sum, { weight }) => sum + weight, 0);
  let postings = words.reduce((sum, { df }) => sum + df, 0);
  const firstEssential = byFrequency.findIndex(({ df, weight }) => {
    spare -= weight;
    postings -= df;
    return spare < 0 || postings < minPostings;
  });
  return { frequent: byFrequency.slice(0, firstEssential), essential: byFrequency.slice(firstEssential) };
}

// Rescoring beyond BM25: how much of the title the query names, which terms are adjacent, which phrases occur.

/** Bonus for a fully named title, as a share of the weight of its terms. */
const titleShare = 1;
/** Bonus for adjacent terms that are also adjacent in the text, as a share of their weight. */
const adjacencyBonus = 0.3;
/** Bonus for a quoted phrase that occurs, as a share of the weight of its terms. */
const phraseShare = 1;

export interface PhraseWord {
  readonly term: string;
  /** Position relative to the first term; stop words count. */
  readonly offset: number;
}

/** Positions of the query's terms in one chunk, ascending; negative in title and headings. */
export interface WordPlaces {
  readonly places: ReadonlyMap<string, readonly number[]>;
  /** Distinct terms of title and headings. */
  readonly titleTerms: number;
}

/** For a query, a function that returns the bonus of a chunk. */
export function rescoreByProximity(
  words: readonly QueryWord[],
  phrases: readonly (readonly PhraseWord[])[],
): (chunk: WordPlaces) => number {
  const pairs = adjacentPairs(words);
  const idfs = new Map(words.map(({ term, idf }) => [term, idf]));
  const sumOfIdf = (terms: readonly { readonly term: string }[]): number =>
    terms.reduce((sum, { term }) => sum + (idfs.get(term) ?? 0), 0);
  return ({ places, titleTerms }) => {
    const named = words.filter(({ term }) => (places.get(term)?.[0] ?? 0) < 0);
    const title = titleTerms > 0 ? (sumOfIdf(named) * named.length) / titleTerms : 0;
    const quoted = phrases.filter((phrase) => phraseOccurs(phrase, places));
    return (
      titleShare * title +
      adjacencyBonus * proximityBonus(pairs, places) +
      phraseShare * sumOfIdf(quoted.flat())
    );
  };
}

function phraseOccurs(phrase: readonly PhraseWord[], places: WordPlaces['places']): boolean {
  const [first, ...others] = phrase.map(({ term, offset }) => ({ at: new Set(places.get(term)), offset }));
  return [...(first?.at ?? [])].some((place) =>
    others.every(({ at, offset }) => at.has(place - (first?.offset ?? 0) + offset)),
  );
}

// Terms that are adjacent in the query should be adjacent in the text.

export interface QueryWord {
  readonly term: string;
  /** Positions in the query, from 1; stop words count. */
  readonly positions: readonly number[];
  /** 0 when every chunk has the term. */
  readonly idf: number;
}

/** Adjacent terms in query order. */
export interface WordPair {
  readonly first: string;
  readonly second: string;
  /** Distance in the query: 1 without a stop word between them. */
  readonly gap: number;
  readonly weight: number;
}

/** Each term with the next one that is not a stop word. */
export function adjacentPairs(words: readonly QueryWord[]): readonly WordPair[] {
  const placed = words
    .flatMap(({ term, idf, positions }) => positions.map((at) => ({ term, idf, at })))
    .sort((a, b) => a.at - b.at);
  return placed.flatMap((first, index) => {
    const second = placed[index + 1];
    if (!second || second.term === first.term) return [];
    const weight = Math.sqrt(first.idf * second.idf);
    return [{ first: first.term, second: second.term, gap: second.at - first.at, weight }];
  });
}

/** Full weight if as close as in the query, in either order; half at twice the distance, and so on. */
export function proximityBonus(
  pairs: readonly WordPair[],
  places: ReadonlyMap<string, readonly number[]>,
): number {
  return pairs.reduce((bonus, { first, second, gap, weight }) => {
    const distance = nearest(places.get(first) ?? [], places.get(second) ?? []);
    return bonus + weight / Math.max(1, distance - gap + 1);
  }, 0);
}

/** The smallest distance between two ascending lists; Infinity when one is empty. */
function nearest(a: readonly number[], b: readonly number[]): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const difference = (a[i] ?? 0) - (b[j] ?? 0);
    best = Math.min(best, Math.abs(difference));
    if (difference < 0) i++;
    else j++;
  }
  return best;
}
