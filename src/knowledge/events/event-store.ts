// Events with actors, subjects and evidence, and the mentions they were found with, in Postgres.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Queryable, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { RemovedMention } from '../artifacts/postgres-remove-artifact.ts';
import { forgetEntities } from '../artifacts/postgres-remove-artifact.ts';
import { storedJson } from '../artifacts/stored-json.ts';
import type { RemovedIds } from '../artifacts/types.ts';
import type { EventService } from '../desk-ports.ts';
import { familyOf } from '../entities/pair-store.ts';
import type { EntityResolutionResult, MentionPlace } from '../entities/types.ts';
import type { EntityMention, ReadEvent, ReadingMethod } from '../reading/types.ts';
import type { EventFilter, StoredEvent } from './types.ts';

export class EventStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: IdSource;

  constructor(database: Database, { clock, ids }: { readonly clock: Clock; readonly ids: IdSource }) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  /**
   * What a chunk's reading found takes the place of what was found there before: mentions (already resolved, in the
   * order of `results`) and events with actors, subjects and evidence, in one transaction. Idempotent. Entities that
   * nothing mentions any more go with what is replaced: a graph elsewhere has to forget both. Fails with CONFLICT when
   * an entity of `results` has been removed meanwhile (resolve again) or the chunk has (nothing to do).
   */
  write(
    place: MentionPlace & { readonly chunkId: number },
    method: ReadingMethod,
    {
      mentions,
      results,
      events,
    }: {
      readonly mentions: readonly EntityMention[];
      readonly results: readonly EntityResolutionResult[];
      readonly events: readonly ReadEvent[];
    },
  ): Promise<RemovedIds> {
    const { relation } = place;
    return this.#write(
      place,
      { method, events, mentions: mentions.map((mention) => ({ mention, relation })) },
      results,
    );
  }

  /** The same for what the source itself says of a whole revision: mentions without a chunk. */
  writeStructured(
    place: Omit<MentionPlace, 'chunkId' | 'relation'>,
    found: readonly {
      readonly mention: EntityMention;
      readonly relation: string;
      readonly result: EntityResolutionResult;
    }[],
  ): Promise<RemovedIds> {
    return this.#write(
      { ...place, chunkId: null },
      { method: 'structured', events: [], mentions: found },
      found.map(({ result }) => result),
    );
  }

  async #write(
    place: WrittenReading['place'],
    found: Pick<WrittenReading, 'method' | 'events'> & {
      readonly mentions: readonly Pick<WrittenReading['mentions'][number], 'mention' | 'relation'>[];
    },
    results: readonly EntityResolutionResult[],
  ): Promise<RemovedIds> {
    const at = new Date(this.#clock.now());
    const readingOf = (entityIds: readonly string[]): WrittenReading => ({
      ...found,
      place,
      mentions: found.mentions.map((each, index) => ({ ...each, entityId: entityIds[index] ?? '' })),
      ids: this.#ids,
      at,
    });
    if (await writeFirstReading(this.#database, readingOf(results.map(({ entityId }) => entityId))))
      return { eventIds: [], entityIds: [] };
    return this.#database.transaction(async (transaction) => {
      const isLatest = await lockPlace(transaction, place);
      const live = await liveEntities(transaction, place.spaceId, results);
      const before = await removeFound(transaction, place);
      await writeReading(transaction, readingOf(live), !isLatest);
      const entityIds = await forgetEntities(transaction, place.spaceId, before.mentions);
      return { eventIds: before.eventIds, entityIds };
    });
  }

  list({ limit, ...filter }: EventFilter): Promise<readonly StoredEvent[]> {
    return this.#read(
      joinSql([...conditionsOf(filter)], sql` and `),
      sql`order by e.event_id desc limit ${limit}`,
    );
  }

  async get(spaceId: number, eventId: string): Promise<StoredEvent | null> {
    if (!isUuid(eventId)) return null;
    const [found] = await this.#read(
      sql`e.space_id = ${spaceId} and e.event_id = ${eventId}::uuid`,
      sql`limit 1`,
    );
    return found ?? null;
  }

  async #read(condition: Sql, order: Sql): Promise<readonly StoredEvent[]> {
    const { rows } = await this.#database.query<StoredEvent>(sql`
      select e.event_id as "eventId", e.space_id as "spaceId", e.artifact_uid as "artifactUid",
        e.revision_id as "revisionId", e.chunk_id as "chunkId", e.category, e.event_time as "eventTime", e.narrative,
        e.subject, e.confidence, e.method, e.superseded_at as "supersededAt",
        (select coalesce(jsonb_agg(jsonb_build_object('entityId', a.entity_id, 'name', n.canonical_name, 'role', a.role)
            order by n.canonical_name, a.role), '[]')
          from event_actor a join entity n using (entity_id) where a.event_id = e.event_id) as actors,
        (select coalesce(jsonb_agg(jsonb_build_object('entityId', s.entity_id, 'name', n.canonical_name)
            order by n.canonical_name), '[]')
          from event_subject s join entity n using (entity_id) where s.event_id = e.event_id) as subjects,
        (select coalesce(jsonb_agg(jsonb_build_object('chunkId', v.chunk_id, 'quote', v.quote, 'startChar', v.start_char,
            'endChar', v.end_char) order by v.start_char), '[]')
          from event_evidence v where v.event_id = e.event_id) as evidence
      from semantic_event e where ${condition} ${order}`);
    return rows;
  }
}

/** What was found in a place before, deleted. */
async function removeFound(
  transaction: Transaction,
  { spaceId, revisionId, chunkId }: WrittenReading['place'],
): Promise<{ readonly eventIds: readonly string[]; readonly mentions: readonly RemovedMention[] }> {
  const isHere =
    chunkId === null
      ? sql`revision_id = ${revisionId}::uuid and chunk_id is null`
      : sql`chunk_id = ${chunkId}::bigint`;
  const { rows } = await transaction.query<{ eventId: string | null } & RemovedMention>(sql`
    with event as (
      delete from semantic_event where ${isHere} and space_id = ${spaceId} returning event_id),
    mention as (
      delete from entity_mention where ${isHere} and space_id = ${spaceId}
      returning mention_id, entity_id, surface_form)
    select event_id as "eventId", null as "mentionId", null as "entityId", null as "surfaceForm" from event
    union all
    select null, mention_id, entity_id, surface_form from mention`);
  return {
    eventIds: rows.flatMap(({ eventId }) => (eventId === null ? [] : [eventId])),
    mentions: rows.filter(({ eventId }) => eventId === null),
  };
}

function* conditionsOf(filter: Omit<EventFilter, 'limit'>): Generator<Sql> {
  const { spaceId, category, entityId, artifactUid, from, to, withSuperseded, before } = filter;
  yield sql`e.space_id = ${spaceId}`;
  if (withSuperseded !== true) yield sql`e.superseded_at is null`;
  if (category !== undefined) yield sql`e.category = ${category}`;
  if (artifactUid !== undefined) yield sql`e.artifact_uid = ${artifactUid}::uuid`;
  if (entityId !== undefined)
    yield sql`e.event_id in (
      with recursive ${familyOf(sql`select ${entityId}::uuid`)}
      select a.event_id from family f join event_actor a on a.entity_id = f.member
      union all select s.event_id from family f join event_subject s on s.entity_id = f.member)`;
  if (from !== undefined) yield sql`e.event_time >= ${from}`;
  if (to !== undefined) yield sql`e.event_time < ${to}`;
  if (before !== undefined) yield sql`e.event_id < ${before}::uuid`;
}

// What was read in one place as it is written: mentions and events, one statement whatever their number.

export interface WrittenReading {
  readonly place: Omit<MentionPlace, 'relation'>;
  readonly method: ReadingMethod;
  readonly mentions: readonly {
    readonly mention: EntityMention;
    readonly relation: string | null;
    readonly entityId: string;
  }[];
  /** Actors and subjects that are not among the mentions are left out. */
  readonly events: readonly ReadEvent[];
  readonly ids: IdSource;
  readonly at: Date;
}

/** In the caller's transaction, which has made sure that the place is there, empty, and the entities are live. */
export async function writeReading(
  transaction: Transaction,
  reading: WrittenReading,
  isSuperseded: boolean,
): Promise<void> {
  const { place, method, at } = reading;
  if (reading.mentions.length + reading.events.length === 0) return;
  await transaction.query(sql`
    select knowledge_put_reading(${place.spaceId}::integer, ${place.artifactUid}::uuid, ${place.revisionId}::uuid,
      ${place.chunkId}::bigint, ${method}::text, ${at}::timestamptz, ${isSuperseded}::boolean,
      ${mentionRows(reading)}::jsonb, ${eventRows(reading)}::jsonb)`);
}

/**
 * A transaction of its own, in one trip: the usual case. False, and nothing is written, when something was found here
 * before, or the place or an entity is gone, or an entity was merged.
 */
export async function writeFirstReading(database: Queryable, reading: WrittenReading): Promise<boolean> {
  const { place, method, at } = reading;
  const entities = [...new Set(reading.mentions.map(({ entityId }) => entityId))];
  const { rows } = await database.query<{ isWritten: boolean }>(
    sql`
    select knowledge_put_first_reading(${place.spaceId}::integer, ${place.artifactUid}::uuid, ${place.revisionId}::uuid,
      ${place.chunkId}::bigint, ${method}::text, ${at}::timestamptz, ${mentionRows(reading)}::jsonb,
      ${eventRows(reading)}::jsonb, ${entities}::uuid[]) as "isWritten"`,
    { isFrequent: true },
  );
  return rows[0]?.isWritten === true;
}

const mentionRows = ({ mentions, ids }: WrittenReading): string =>
  storedJson(
    mentions.map(({ mention, relation, entityId }) => ({
      id: ids.uuid(),
      entity: entityId,
      surface: mention.surfaceForm,
      start_char: mention.startChar,
      end_char: mention.endChar,
      method: mention.method,
      confidence: mention.confidence,
      relation,
    })),
  );

function eventRows({ mentions, events, ids }: WrittenReading): string {
  const entityOf = new Map(mentions.map(({ mention, entityId }) => [mention.ref, entityId]));
  return storedJson(
    events.map((event) => ({
      id: ids.uuid(),
      category: event.category,
      event_time: event.eventTime,
      narrative: event.narrative,
      subject: event.subject,
      confidence: event.confidence,
      about: event.subjectRef === null ? null : (entityOf.get(event.subjectRef) ?? null),
      actors: event.actors.flatMap(({ ref, role }) => {
        const entity = entityOf.get(ref);
        return entity === undefined ? [] : [{ entity, role }];
      }),
      evidence: event.evidence.map(({ startChar, endChar, quote }) => ({
        start_char: startChar,
        end_char: endChar,
        quote,
      })),
    })),
  );
}

// Whatever is written stands at a place that is still there, and is of entities that are still live.

/** What is found in a place is written by one at a time. Whether it is of a latest revision. Fails with CONFLICT. */
export async function lockPlace(
  transaction: Transaction,
  { spaceId, revisionId, chunkId }: Pick<MentionPlace, 'spaceId' | 'revisionId' | 'chunkId'>,
): Promise<boolean> {
  const { rows } = await transaction.query<{ isLatest: boolean }>(
    chunkId === null
      ? sql`select is_latest as "isLatest" from artifact_revision
          where revision_id = ${revisionId}::uuid and space_id = ${spaceId} for update`
      : sql`select r.is_latest as "isLatest" from chunk c join artifact_revision r using (revision_id)
          where c.chunk_id = ${chunkId} and c.space_id = ${spaceId} and c.revision_id = ${revisionId}::uuid
          for update of c`,
  );
  const [found] = rows;
  if (!found) throw new CoreError('CONFLICT', 'The artifact was removed while it was read.');
  return found.isLatest;
}

/** How often an entity that a mention was resolved to may have been merged further meanwhile. */
const longestChain = 32;

/**
 * The entities that the results mean now, in their order: one that was merged meanwhile is the one it became part of.
 * They stay until the transaction ends. Fails with CONFLICT when one has been removed.
 */
export async function liveEntities(
  transaction: Transaction,
  spaceId: number,
  results: readonly EntityResolutionResult[],
): Promise<readonly string[]> {
  const wanted = [...new Set(results.map(({ entityId }) => entityId))];
  if (wanted.length === 0) return [];
  const { rows } = await transaction.query<{ wanted: string; live: string }>(sql`
    with recursive chain as (
      select entity_id as wanted, entity_id as at, merged_into, 0 as depth from entity
        where entity_id = any(${wanted}::uuid[]) and space_id = ${spaceId}
      union all
      select c.wanted, e.entity_id, e.merged_into, c.depth + 1 from chain c join entity e on e.entity_id = c.merged_into
        where c.depth < ${longestChain})
    select c.wanted, e.entity_id as live from chain c join entity e on e.entity_id = c.at and e.merged_into is null
    for key share of e`);
  const live = new Map(rows.map((row) => [row.wanted, row.live]));
  return results.map(({ entityId }) => {
    const found = live.get(entityId);
    if (found === undefined)
      throw new CoreError('CONFLICT', 'An entity was removed while it was being mentioned.', {
        isRetryable: true,
      });
    return found;
  });
}

// Events as callers look at them.

export function openEventService(store: Pick<EventStore, 'list' | 'get'>): EventService {
  return {
    list: async (filter) => {
      if (filter.from && filter.to && filter.from > filter.to)
        throw new CoreError(
          'INPUT_INVALID',
          'The time to list events from is after the time to list them to.',
        );
      return store.list(filter);
    },
    get: async ({ spaceId }, eventId) => {
      const found = await store.get(spaceId, eventId);
      if (found) return found;
      throw new CoreError(
        'NOT_FOUND',
        `There is no event ${JSON.stringify(eventId.slice(0, 60))} in this space.`,
      );
    },
  };
}
