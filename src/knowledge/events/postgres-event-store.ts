// Events with actors, subjects and evidence, and the mentions they were found with, in Postgres.
import type { Clock, IdSource } from '../../core/index.ts';
import { isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql } from '../../platform/postgres/sql.ts';
import type { EntityResolutionResult, EventFilter, EventStore, Gone, StoredEvent } from '../ports.ts';
import { familyOf } from '../entities/postgres-live-pairs.ts';
import { forgetEntities } from '../artifacts/postgres-remove-artifact.ts';
import type { RemovedMention } from '../artifacts/postgres-remove-artifact.ts';
import type { WrittenReading } from './postgres-write-events.ts';
import { putFirstReading, putReading } from './postgres-write-events.ts';
import { liveEntities, lockPlace } from './postgres-write-mentions.ts';

export class PostgresEventStore implements EventStore {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #ids: IdSource;

  constructor(database: Database, { clock, ids }: { readonly clock: Clock; readonly ids: IdSource }) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
  }

  write(...[place, method, found]: Parameters<EventStore['write']>): Promise<Gone> {
    const { mentions, results, events } = found;
    const { relation } = place;
    return this.#write(
      place,
      { method, events, mentions: mentions.map((mention) => ({ mention, relation })) },
      results,
    );
  }

  writeStructured(...[place, found]: Parameters<EventStore['writeStructured']>): Promise<Gone> {
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
  ): Promise<Gone> {
    const at = new Date(this.#clock.now());
    const readingOf = (entityIds: readonly string[]): WrittenReading => ({
      ...found,
      place,
      mentions: found.mentions.map((each, index) => ({ ...each, entityId: entityIds[index] ?? '' })),
      ids: this.#ids,
      at,
    });
    if (await putFirstReading(this.#database, readingOf(results.map(({ entityId }) => entityId))))
      return { eventIds: [], entityIds: [] };
    return this.#database.transaction(async (transaction) => {
      const isLatest = await lockPlace(transaction, place);
      const live = await liveEntities(transaction, place.spaceId, results);
      const before = await removeFound(transaction, place);
      await putReading(transaction, readingOf(live), !isLatest);
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
