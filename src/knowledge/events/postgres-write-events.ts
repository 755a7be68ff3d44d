// What was read in one place as it is written: mentions and events, one statement whatever their number.
import type { IdSource } from '../../core/index.ts';
import type { Queryable, Transaction } from '../../platform/postgres/ports.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { EntityMention, MentionPlace, ReadEvent, ReadingMethod } from '../ports.ts';
import { storedJson } from '../artifacts/stored-json.ts';

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
export async function putReading(
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
export async function putFirstReading(database: Queryable, reading: WrittenReading): Promise<boolean> {
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
