// Loads what a search returns: texts with highlights, related events, entities.
import type { Queryable } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import { supersededCause } from '../graph/graph.ts';
import { parseQuery } from './query.ts';
import type { RelatedItem, SearchEntity, SearchHit } from './types.ts';

const maxEntities = 50;
/** An upper bound for the count. */
const maxWaiting = 1_000;
/** Private-use characters; a text that contains them gets no highlights there. */
export const marks = { start: '\uE000', end: '\uE001' } as const;
const headline = `HighlightAll=true, StartSel=${marks.start}, StopSel=${marks.end}`;

export class SearchStore {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Chunks in any order; deleted ones are omitted. */
  async hits(
    { spaceId, language }: { readonly spaceId: number; readonly language: string },
    chunkIds: readonly number[],
    query: string,
    signal: AbortSignal,
  ): Promise<readonly Omit<SearchHit, 'score'>[]> {
    if (chunkIds.length === 0) return [];
    const { rows } = await this.#database.query<HitRow>(
      sql`
      with wanted as (
        select coalesce(string_agg(quote_literal(lexeme), ' | '), '')::tsquery as words,
          coalesce(array_agg(lexeme) filter (where has_unspaced(lexeme)), '{}') as runs
        from unnest(to_tsvector(${language}::regconfig, lexical_text(${parseQuery(query).words}, false))))
      select c.chunk_id as "chunkId", c.artifact_uid as "artifactUid", c.revision_id as "revisionId", a.type,
        a.source_system as "sourceSystem", a.source_id as "sourceId", r.title, c.heading, r.source_ts as "sourceTs",
        c.text, c.start_char as "startChar", c.end_char as "endChar",
        ts_headline(${language}::regconfig, c.text, wanted.words, ${headline}) as marked, wanted.runs
      from chunk c join artifact_revision r using (revision_id)
        join artifact a on a.artifact_uid = c.artifact_uid, wanted
      where c.chunk_id = any(${chunkIds}::bigint[]) and c.space_id = ${spaceId} and r.is_latest`,
      { signal },
    );
    return rows.map(({ marked, runs, ...hit }) => ({
      ...hit,
      highlights: joined([...highlightsIn(hit.text, marked), ...occurrencesOf(hit.text, runs)]),
    }));
  }

  /** Events of a chunk of a latest revision, the most confident first. */
  async eventIdsOf(spaceId: number, chunkId: number, signal: AbortSignal): Promise<readonly string[]> {
    const { rows } = await this.#database.query<{ id: string }>(
      sql`
      select event_id as id from semantic_event
      where chunk_id = ${chunkId} and space_id = ${spaceId} and superseded_at is null
      order by confidence desc, event_id`,
      { signal },
    );
    return rows.map(({ id }) => id);
  }

  /** Chunks of the space not in the separate graph yet, because it was unavailable or rejected them. At most 1,000. */
  async countWaitingForGraph(spaceId: number, signal: AbortSignal): Promise<number> {
    const { rows } = await this.#database.query<{ count: number }>(
      sql`
      select count(*) from (
        select from chunk_step where space_id = ${spaceId} and step = 'graph' and status <> 'completed'
          and cause is distinct from ${supersededCause} limit ${maxWaiting}) as waiting`,
      { signal },
    );
    return rows[0]?.count ?? 0;
  }

  /** Events as related items, in any order, without the reason. */
  async events(
    spaceId: number,
    eventIds: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Omit<RelatedItem, 'reason'>[]> {
    if (eventIds.length === 0) return [];
    const { rows } = await this.#database.query<Omit<RelatedItem, 'reason' | 'type'>>(
      sql`
      select e.event_id as id, e.category, e.narrative as summary, e.event_time as "eventTime",
        e.artifact_uid as "artifactUid", coalesce((
          select jsonb_agg(jsonb_build_object('quote', v.quote, 'artifactUid', e.artifact_uid,
            'startChar', v.start_char, 'endChar', v.end_char) order by v.start_char)
          from event_evidence v where v.event_id = e.event_id), '[]') as evidence
      from semantic_event e
      where e.event_id = any(${eventIds}::uuid[]) and e.space_id = ${spaceId} and e.superseded_at is null`,
      { signal },
    );
    return rows.map((row) => ({ type: 'event', ...row }));
  }

  /**
   * Entities that these chunks or their documents mention, or that participate in these events; most mentions first.
   */
  async entities(
    spaceId: number,
    chunkIds: readonly number[],
    eventIds: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly SearchEntity[]> {
    const { rows } = await this.#database.query<SearchEntity>(
      sql`
      with part as (
        select entity_id, 1 as mentions, relation from entity_mention
        where chunk_id = any(${chunkIds}::bigint[]) and space_id = ${spaceId}
        union all
        select entity_id, 1, relation from entity_mention
        where chunk_id is null and space_id = ${spaceId}
          and revision_id in (select revision_id from chunk where chunk_id = any(${chunkIds}::bigint[]))
        union all
        select entity_id, 0, null from event_actor where event_id = any(${eventIds}::uuid[]) and space_id = ${spaceId}
        union all
        select entity_id, 0, null from event_subject where event_id = any(${eventIds}::uuid[]) and space_id = ${spaceId})
      select e.entity_id as "entityId", e.canonical_name as name, e.entity_type as type,
        sum(p.mentions)::integer as mentions,
        coalesce(array_agg(distinct p.relation) filter (where p.relation is not null), '{}') as relations
      from part p join entity e using (entity_id)
      where e.space_id = ${spaceId} and e.merged_into is null
      group by e.entity_id order by mentions desc, e.entity_type <> 'person', name, e.entity_id limit ${maxEntities}`,
      { signal },
    );
    return rows;
  }
}

interface HitRow extends Omit<SearchHit, 'score' | 'highlights'> {
  readonly marked: string;
  /** Words in scripts without spaces, which PostgreSQL does not mark. */
  readonly runs: readonly string[];
}

// Highlights from a copy of the text in which PostgreSQL marked the query's words.

export interface Highlight {
  readonly start: number;
  readonly end: number;
}

/** UTF-16 offsets into `text`. Stops where the copy differs from the text. */
export function highlightsIn(text: string, marked: string): readonly Highlight[] {
  const found: Highlight[] = [];
  let start = 0;
  let at = 0;
  for (const character of marked) {
    if (text.startsWith(character, at)) at += character.length;
    else if (character === marks.start) start = at;
    else if (character === marks.end) found.push({ start, end: at });
    else break;
  }
  return found;
}

/** Every occurrence of these words. */
export function occurrencesOf(text: string, words: readonly string[]): readonly Highlight[] {
  const found: Highlight[] = [];
  for (const word of words)
    for (let start = text.indexOf(word); start >= 0; start = text.indexOf(word, start + 1))
      found.push({ start, end: start + word.length });
  return found;
}

/** In order; overlapping ones are joined, so that 東京 and 京都 highlight 東京都. */
export function joined(places: readonly Highlight[]): readonly Highlight[] {
  const result: Highlight[] = [];
  for (const place of places.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && place.start < last.end) result.splice(-1, 1, { ...last, end: Math.max(last.end, place.end) });
    else result.push(place);
  }
  return result;
}
