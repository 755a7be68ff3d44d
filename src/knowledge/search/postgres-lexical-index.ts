// BM25 in plain SQL, on postings. Postgres's own ranking knows nothing of how rare a word is, and loses badly by it.
// First the postings of the rarer words give candidates; frequent words are looked up for the best of these only. Then
// the best of all are looked at closely: how much of the title the query names, and which words stand together.
import type { Database } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { LexicalHit, LexicalIndex, SearchFilter } from '../ports.ts';
import type { PhraseWord, WordPlaces } from './closer-look.ts';
import { closerLook } from './closer-look.ts';
import { essentialWords } from './essential-words.ts';
import { mostPhrases, readQuery } from './read-query.ts';
import type { AnalysedQuery } from './postgres-query-words.ts';
import { analyseQuery, mostWords } from './postgres-query-words.ts';
import { allowedChunks } from './postgres-search-filter.ts';

/** The usual ones: values that win on one collection lose on others. */
const k1 = 1.2;
const b = 0.75;
/** A word of the title counts again, by this share of its weight. */
const titleWord = 0.5;
/** So many are looked at closely, at least. */
const closely = 100;
/** So many candidates have their frequent words looked up. */
const candidates = 300;

export class PostgresLexicalIndex implements LexicalIndex {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async search(
    space: { readonly spaceId: number; readonly language: string },
    query: string,
    limit: number,
    filter: SearchFilter,
    signal: AbortSignal,
    onLeftOut: (sentence: string) => void = () => undefined,
  ): Promise<readonly LexicalHit[]> {
    const read = readQuery(query);
    const analysed = await analyseQuery(this.#database, space, read, signal);
    if (analysed.isCut)
      onLeftOut(`Only the first ${mostWords} different words of the query were looked for.`);
    if (read.phrasesLeftOut > 0)
      onLeftOut(`Only the first ${mostPhrases} phrases in quotes were looked for as such.`);
    if (!analysed.hasWords)
      onLeftOut('No word of the query can be searched for: signs and words such as “the” are in no index.');
    const { words, phrases, isExact } = analysed;
    const known = new Set(words.map(({ term }) => term));
    const isHopeless = phrases.some((phrase) => phrase.some(({ term }) => !known.has(term)));
    if (known.size === 0 || (isExact && isHopeless)) return [];
    const added = closerLook(words, phrases);
    const { rows } = await this.#database.query<Scored>(
      scoring(space.spaceId, analysed, Math.max(limit, closely), filter),
      { signal },
    );
    return rows
      .map((row) => ({ chunkId: row.chunkId, score: row.score + added(placesIn(row)) }))
      .sort((one, other) => other.score - one.score || one.chunkId - other.chunkId)
      .slice(0, limit);
  }
}

interface Scored {
  readonly chunkId: number;
  readonly score: number;
  readonly titleTerms: number;
  readonly terms: readonly string[];
  /** An array's text for each term. */
  readonly places: readonly string[];
}

function placesIn({ titleTerms, terms, places }: Scored): WordPlaces {
  const numbers = (text: string | undefined) => (text ?? '{}').slice(1, -1).split(',').map(Number);
  return { titleTerms, places: new Map(terms.map((term, index) => [term, numbers(places[index])])) };
}

/**
 * The weights are float8: as numeric they would cost seven times as much. OFFSET 0 keeps the planner from turning the
 * lookups by term into one join, which was 30 times slower on the embedded store.
 */
function scoring(spaceId: number, analysed: AnalysedQuery, limit: number, filter: SearchFilter): Sql {
  const { averageLength } = analysed;
  const phrases = analysed.isExact ? analysed.phrases : [];
  const { essential, frequent } =
    phrases.length === 0 ? essentialWords(analysed.words) : { essential: analysed.words, frequent: [] };
  const perWord = (k1 * b) / Math.max(averageLength, 1);
  const part = sql`
    w.weight * (p.tf * ${k1 + 1}::float8 / (p.tf + ${k1 * (1 - b)}::float8 + ${perWord}::float8 * p.len)
      + case when p.title_tf > 0 then ${titleWord}::float8 else 0::float8 end)`;
  const allowed = allowedChunks(spaceId, filter);
  return sql`
    with essential as materialized (${wordTable(essential)}), frequent as materialized (${wordTable(frequent)}),
    ${allowed === null ? sql`` : sql`allowed as materialized (${allowed}),`}
    matched as (
      select p.chunk_id, sum(${part}) as score
      from essential w cross join lateral (
        select chunk_id, tf, title_tf, len from chunk_posting
        where space_id = ${spaceId}::integer and term = w.term offset 0) p
      ${allowed === null ? sql`` : sql`where p.chunk_id in (select chunk_id from allowed)`}
      group by p.chunk_id ${havingPhraseWords(phrases)}),
    candidate as materialized (
      select chunk_id, score from matched
      ${phrases.length === 0 ? sql`` : sql`where ${standsThere(spaceId, phrases)}`}
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

function wordTable(words: AnalysedQuery['words']): Sql {
  return sql`
    select term, weight from unnest(${words.map(({ term }) => term)}::text[],
      ${words.map(({ weight }) => weight)}::float8[]) as w (term, weight)`;
}

/** Cheap, before places are looked at: every word of every phrase is in the chunk. */
function havingPhraseWords(phrases: AnalysedQuery['phrases']): Sql {
  if (phrases.length === 0) return sql``;
  const terms = [...new Set(phrases.flat().map(({ term }) => term))];
  return sql`having count(*) filter (where w.term = any(${terms}::text[])) = ${terms.length}`;
}

/** Every phrase begins somewhere: its words stand at that place, one after the other as in the query. */
function standsThere(spaceId: number, phrases: readonly (readonly PhraseWord[])[]): Sql {
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
