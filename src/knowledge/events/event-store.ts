// Writes and lists events with actors, subjects and evidence, and the mentions of their chunk.
import type { Clock, IdSource } from '../../core/index.ts';
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Queryable, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import { storedJson } from '../artifacts/artifact-store.ts';
import type { RemovedMention } from '../artifacts/remove-artifact.ts';
import { forgetEntities } from '../artifacts/remove-artifact.ts';
import type { RemovedIds } from '../artifacts/types.ts';
import type { EntityResolutionResult, MentionPlace } from '../entities/types.ts';
import type { EntityMention, ReadEvent, ReadingMethod } from '../reading/types.ts';
import type { Space } from '../spaces/spaces.ts';
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
   * Replaces what was read in a chunk: mentions (resolved, in the order of `results`) and events, in one transaction.
   * Idempotent. Entities that nothing mentions any more are deleted; a separate graph must remove both. Fails with
   * CONFLICT: retryable when an entity of `results` was deleted (resolve again), not retryable when the chunk is gone.
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

  /** The same for structured mentions of a whole revision. */
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
    const readDocument = (entityIds: readonly string[]): WrittenReading => ({
      ...found,
      place,
      mentions: found.mentions.map((each, index) => ({
        ...each,
        entityId: entityIds[index] ?? '',
        resolvedId: results[index]?.entityId ?? '',
      })),
      ids: this.#ids,
      at,
    });
    if (await writeFirstReading(this.#database, readDocument(results.map(({ entityId }) => entityId))))
      return { eventIds: [], entityIds: [] };
    return this.#database.transaction(async (transaction) => {
      const isLatest = await lockPlace(transaction, place);
      const live = await liveEntities(transaction, place.spaceId, results);
      const before = await removeFound(transaction, place);
      await writeReading(transaction, readDocument(live), !isLatest);
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
          from (select distinct entity_id, role from event_actor where event_id = e.event_id) a
            join entity n using (entity_id)) as actors,
        (select coalesce(jsonb_agg(jsonb_build_object('entityId', s.entity_id, 'name', n.canonical_name)
            order by n.canonical_name), '[]')
          from (select distinct entity_id from event_subject where event_id = e.event_id) s
            join entity n using (entity_id)) as subjects,
        (select coalesce(jsonb_agg(jsonb_build_object('chunkId', v.chunk_id, 'quote', v.quote, 'startChar', v.start_char,
            'endChar', v.end_char) order by v.start_char), '[]')
          from event_evidence v where v.event_id = e.event_id) as evidence
      from semantic_event e where ${condition} ${order}`);
    return rows;
  }
}

/** Deletes what was read here before. */
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
      returning entity_id, resolved_id, surface_form)
    select event_id as "eventId", null as "entityId", null as "resolvedId", null as "surfaceForm" from event
    union all
    select null, entity_id, resolved_id, surface_form from mention`);
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
      with live as (select distinct root from knowledge_family(array[${entityId}::uuid]))
      select a.event_id from live join event_actor a on a.entity_id = live.root
      union all select s.event_id from live join event_subject s on s.entity_id = live.root)`;
  if (from !== undefined) yield sql`e.event_time >= ${from}`;
  if (to !== undefined) yield sql`e.event_time < ${to}`;
  if (before !== undefined) yield sql`e.event_id < ${before}::uuid`;
}

// Writes a reading in one statement, however large.

export interface WrittenReading {
  readonly place: Omit<MentionPlace, 'relation'>;
  readonly method: ReadingMethod;
  readonly mentions: readonly {
    readonly mention: EntityMention;
    readonly relation: string | null;
    /** The unmerged entity. */
    readonly entityId: string;
    readonly resolvedId: string;
  }[];
  /** Actors and subjects that are not among the mentions are omitted. */
  readonly events: readonly ReadEvent[];
  readonly ids: IdSource;
  readonly at: Date;
}

/** In the caller's transaction, which has checked that the chunk exists and is empty and the entities are unmerged. */
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
 * In its own transaction and one round trip: the usual case. Returns false and writes nothing when there is a reading
 * already, or the chunk or an entity is gone or merged.
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
    mentions.map(({ mention, relation, entityId, resolvedId }) => ({
      id: ids.uuid(),
      entity: entityId,
      resolved: resolvedId,
      surface: mention.surfaceForm,
      start_char: mention.startChar,
      end_char: mention.endChar,
      method: mention.method,
      confidence: mention.confidence,
      relation,
    })),
  );

function eventRows({ mentions, events, ids }: WrittenReading): string {
  const entityOf = new Map(
    mentions.map(({ mention, entityId, resolvedId }) => [
      mention.ref,
      { entity: entityId, resolved: resolvedId },
    ]),
  );
  const participant = (ref: string) => {
    const found = entityOf.get(ref);
    return found === undefined ? [] : [found];
  };
  return storedJson(
    events.map((event) => ({
      id: ids.uuid(),
      category: event.category,
      event_time: event.eventTime,
      narrative: event.narrative,
      subject: event.subject,
      confidence: event.confidence,
      about: event.subjectRef === null ? [] : participant(event.subjectRef),
      actors: event.actors.flatMap(({ ref, role }) => participant(ref).map((one) => ({ ...one, role }))),
      evidence: event.evidence.map(({ startChar, endChar, quote }) => ({
        start_char: startChar,
        end_char: endChar,
        quote,
      })),
    })),
  );
}

// Locks that keep the chunk and its entities in place while a reading is written.

/** One writer per chunk or revision at a time. Returns whether it is of a latest revision. Fails with CONFLICT. */
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

/**
 * The unmerged entities of the results, in order. Locks them until the transaction ends. Fails with CONFLICT when one
 * was deleted.
 */
export async function liveEntities(
  transaction: Transaction,
  spaceId: number,
  results: readonly EntityResolutionResult[],
): Promise<readonly string[]> {
  const wanted = [...new Set(results.map(({ entityId }) => entityId))];
  if (wanted.length === 0) return [];
  const { rows } = await transaction.query<{ wanted: string; live: string }>(sql`
    select f.member as wanted, e.entity_id as live from knowledge_family(${wanted}::uuid[]) f
      join entity e on e.entity_id = f.root and e.space_id = ${spaceId} and e.merged_into is null
    where f.member = any(${wanted}::uuid[])
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

export interface EventService {
  list(filter: EventFilter): Promise<readonly StoredEvent[]>;
  get(space: Space, eventId: string): Promise<StoredEvent>;
}

export function openEventService(store: Pick<EventStore, 'list' | 'get'>): EventService {
  return {
    list: async (filter) => {
      if (filter.from && filter.to && filter.from > filter.to)
        throw new CoreError('INPUT_INVALID', 'The start of the period is after its end.');
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
