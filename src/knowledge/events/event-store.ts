// Writes the readings of chunks (mentions and events) and lists events.
import { CoreError, isUuid } from '../../core/index.ts';
import type { Database, Transaction } from '../../platform/postgres/ports.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { joinSql, sql, storedJson } from '../../platform/postgres/sql.ts';
import type { StoreDeps } from '../artifacts/artifact-store.ts';
import type { RemovedMention } from '../artifacts/remove-artifact.ts';
import { deleteOrphanedEntities } from '../artifacts/remove-artifact.ts';
import type { RemovedIds } from '../artifacts/types.ts';
import type { EntityResolutionResult, MentionPlace } from '../entities/types.ts';
import type { ActorRole, EntityMention, EventCategory, ReadEvent, ReadingMethod } from '../reading/types.ts';
import type { Space } from '../spaces/spaces.ts';

export interface EventFilter {
  readonly spaceId: number;
  readonly category?: string;
  readonly entityId?: string;
  readonly artifactUid?: string;
  readonly from?: Date;
  readonly to?: Date;
  /** Also events of superseded revisions. */
  readonly includeSuperseded?: boolean;
  readonly limit: number;
  readonly before?: string;
}

export interface StoredEvent {
  readonly eventId: string;
  readonly spaceId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly chunkId: number;
  readonly category: EventCategory;
  readonly eventTime: Date | null;
  readonly narrative: string;
  readonly subject: string | null;
  readonly confidence: number;
  readonly method: 'model' | 'rules';
  readonly supersededAt: Date | null;
  readonly actors: readonly { readonly entityId: string; readonly name: string; readonly role: ActorRole }[];
  readonly subjects: readonly { readonly entityId: string; readonly name: string }[];
  readonly evidence: readonly {
    readonly chunkId: number;
    readonly quote: string;
    readonly startChar: number;
    readonly endChar: number;
  }[];
}

/** What was read in a chunk, or is known of a whole revision. */
interface ResolvedReading {
  readonly mentions: readonly EntityMention[];
  /** The entity of each mention. */
  readonly results: readonly EntityResolutionResult[];
  /** Relations of structured mentions to their document. */
  readonly relations?: readonly string[];
  /** Actors and subjects that are not among the mentions are omitted. */
  readonly events: readonly ReadEvent[];
}

export class EventStore {
  readonly #database: Database;
  readonly #deps: StoreDeps;

  constructor(database: Database, deps: StoreDeps) {
    this.#database = database;
    this.#deps = deps;
  }

  /**
   * Replaces what was read in a chunk, or the structured mentions of a revision, in one transaction. Idempotent. Entities
   * that nothing mentions any more are deleted; a separate graph must remove both. Fails with CONFLICT: retryable when an
   * entity of `results` was deleted (resolve again), not retryable when the chunk is gone.
   */
  async write(place: MentionPlace, method: ReadingMethod, reading: ResolvedReading): Promise<RemovedIds> {
    const wanted = [...new Set(reading.results.map(({ entityId }) => entityId))];
    if (await this.#writeFirst(place, method, reading, wanted)) return { eventIds: [], entityIds: [] };
    return this.#database.transaction(async (transaction) => {
      const isLatest = await lockPlace(transaction, place);
      const live = await lockLiveEntities(transaction, place.spaceId, wanted);
      const before = await removeFound(transaction, place);
      const { parameters, mentionRows, eventRows } = this.#rows(place, method, reading, live);
      if (reading.mentions.length + reading.events.length > 0)
        await transaction.query(sql`
          select knowledge_put_reading(${parameters}, ${!isLatest}::boolean, ${mentionRows}, ${eventRows})`);
      const entityIds = await deleteOrphanedEntities(transaction, place.spaceId, before.mentions);
      return { eventIds: before.eventIds, entityIds };
    });
  }

  /**
   * Writes a first reading in its own transaction and one round trip, the usual case. Returns false and writes nothing
   * when there is a reading already, or the chunk or an entity is gone or merged.
   */
  async #writeFirst(
    place: MentionPlace,
    method: ReadingMethod,
    reading: ResolvedReading,
    entityIds: readonly string[],
  ): Promise<boolean> {
    const { parameters, mentionRows, eventRows } = this.#rows(place, method, reading);
    const { rows } = await this.#database.query<{ isWritten: boolean }>(
      sql`
      select knowledge_put_first_reading(${parameters}, ${mentionRows}, ${eventRows}, ${entityIds}::uuid[]) as "isWritten"`,
      { isFrequent: true },
    );
    return rows[0]?.isWritten === true;
  }

  /** `live`: the unmerged entity of each entity that a mention was resolved to; default: itself. */
  #rows(
    { spaceId, artifactUid, revisionId, chunkId }: MentionPlace,
    method: ReadingMethod,
    { mentions, results, relations = [], events }: ResolvedReading,
    live?: ReadonlyMap<string, string>,
  ) {
    const resolved = mentions.flatMap((mention, index) => {
      const { entityId, byName } = results[index] ?? {};
      const relation = relations[index] ?? null;
      if (entityId === undefined) return [];
      return [
        { mention, relation, byName, of: { entity: live?.get(entityId) ?? entityId, resolved: entityId } },
      ];
    });
    const byRef = new Map(resolved.map(({ mention, of }) => [mention.ref, of]));
    const mentionRows = resolved.map(({ mention, relation, byName, of }) => ({
      id: this.#deps.ids.uuid(),
      ...of,
      surface: mention.surfaceForm,
      start_char: mention.startChar,
      end_char: mention.endChar,
      method: mention.method,
      confidence: mention.confidence,
      relation,
      by_name: byName,
    }));
    const eventRows = events.map((event) => ({
      id: this.#deps.ids.uuid(),
      category: event.category,
      event_time: event.eventTime,
      narrative: event.narrative,
      subject: event.subject,
      confidence: event.confidence,
      about: [byRef.get(event.subjectRef ?? '')].filter((one) => one !== undefined),
      actors: event.actors.flatMap(({ ref, role }) => {
        const actor = byRef.get(ref);
        return actor ? [{ ...actor, role }] : [];
      }),
      evidence: event.evidence.map(({ startChar, endChar, quote }) => ({
        start_char: startChar,
        end_char: endChar,
        quote,
      })),
    }));
    return {
      parameters: sql`${spaceId}::integer, ${artifactUid}::uuid, ${revisionId}::uuid, ${chunkId}::bigint,
        ${method}::text, ${new Date(this.#deps.clock.now())}::timestamptz`,
      mentionRows: sql`${storedJson(mentionRows)}::jsonb`,
      eventRows: sql`${storedJson(eventRows)}::jsonb`,
    };
  }

  async list({ limit, ...filter }: EventFilter): Promise<readonly StoredEvent[]> {
    if (filter.from && filter.to && filter.from > filter.to)
      throw new CoreError('INPUT_INVALID', 'The start of the period is after its end.');
    const condition = joinSql([...conditionsOf(filter)], sql` and `);
    return this.#read(condition, sql`order by e.event_id desc limit ${limit}`);
  }

  /** Fails with NOT_FOUND. */
  async get({ spaceId }: Pick<Space, 'spaceId'>, eventId: string): Promise<StoredEvent> {
    const condition = sql`e.space_id = ${spaceId} and e.event_id = ${eventId}::uuid`;
    const [found] = isUuid(eventId) ? await this.#read(condition, sql`limit 1`) : [];
    if (found) return found;
    throw new CoreError(
      'NOT_FOUND',
      `There is no event ${JSON.stringify(eventId.slice(0, 60))} in this space.`,
    );
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
  { spaceId, revisionId, chunkId }: MentionPlace,
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
  const { spaceId, category, entityId, artifactUid, from, to, includeSuperseded, before } = filter;
  yield sql`e.space_id = ${spaceId}`;
  if (includeSuperseded !== true) yield sql`e.superseded_at is null`;
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

/** One writer per chunk or revision at a time. Returns whether it is of a latest revision. Fails with CONFLICT. */
async function lockPlace(
  transaction: Transaction,
  { spaceId, revisionId, chunkId }: MentionPlace,
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

/** The unmerged entity of each, locked until the transaction ends. Fails with CONFLICT when one was deleted. */
async function lockLiveEntities(
  transaction: Transaction,
  spaceId: number,
  wanted: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (wanted.length === 0) return new Map();
  const { rows } = await transaction.query<{ wanted: string; live: string }>(sql`
    select f.member as wanted, e.entity_id as live from knowledge_family(${wanted}::uuid[]) f
      join entity e on e.entity_id = f.root and e.space_id = ${spaceId} and e.merged_into is null
    where f.member = any(${wanted}::uuid[])
    for key share of e`);
  if (rows.length < wanted.length)
    throw new CoreError('CONFLICT', 'An entity was removed while it was being mentioned.', {
      isRetryable: true,
    });
  return new Map(rows.map((row) => [row.wanted, row.live]));
}
