// Events of one chunk as they are written: one insert for each table, whatever their number.
import type { IdSource } from '../../core/index.ts';
import type { Sql } from '../../platform/postgres/sql.ts';
import { sql } from '../../platform/postgres/sql.ts';
import type { MentionPlace, ReadEvent } from '../ports.ts';

export interface WrittenEvents {
  readonly method: 'model' | 'rules';
  readonly events: readonly ReadEvent[];
  /** By the mention's `ref`; actors and subjects that it does not know are left out. */
  readonly entityOf: ReadonlyMap<string, string>;
  readonly ids: IdSource;
  readonly at: Date;
  readonly isSuperseded: boolean;
}

/** Inserts into each of the four tables, as statements that may be parts of a larger one. */
export function eventInserts(
  place: MentionPlace & { readonly chunkId: number },
  written: WrittenEvents,
): Readonly<Record<'event' | 'evidence' | 'actor' | 'subject', Sql>> {
  const rows = written.events.map((event) => ({ id: written.ids.uuid(), event }));
  return {
    event: eventInsert(place, written, rows),
    evidence: evidenceInsert(place, rows),
    actor: actorInsert(place, written, rows),
    subject: subjectInsert(place, written, rows),
  };
}

interface EventRow {
  readonly id: string;
  readonly event: ReadEvent;
}

function eventInsert(
  { spaceId, artifactUid, revisionId, chunkId }: MentionPlace,
  { method, at, isSuperseded }: WrittenEvents,
  rows: readonly EventRow[],
): Sql {
  const column = <T>(read: (event: ReadEvent) => T) => rows.map(({ event }) => read(event));
  return sql`
    insert into semantic_event (event_id, space_id, artifact_uid, revision_id, chunk_id, category, event_time, narrative,
      subject, confidence, method, superseded_at, created_at)
    select event_id, ${spaceId}::integer, ${artifactUid}::uuid, ${revisionId}::uuid, ${chunkId}::bigint, category,
      event_time, narrative, subject, confidence, ${method}::text, ${isSuperseded ? at : null}::timestamptz,
      ${at}::timestamptz
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${column((event) => event.category)}::text[],
      ${column((event) => event.eventTime)}::timestamptz[], ${column((event) => event.narrative)}::text[],
      ${column((event) => event.subject)}::text[], ${column((event) => event.confidence)}::real[])
      as t (event_id, category, event_time, narrative, subject, confidence)`;
}

function evidenceInsert({ spaceId, chunkId }: MentionPlace, rows: readonly EventRow[]): Sql {
  const evidence = rows.flatMap(({ id, event }) => event.evidence.map((each) => ({ id, ...each })));
  return sql`
    insert into event_evidence (event_id, space_id, chunk_id, start_char, end_char, quote)
    select event_id, ${spaceId}::integer, ${chunkId}::bigint, start_char, end_char, quote
    from unnest(${evidence.map(({ id }) => id)}::uuid[], ${evidence.map(({ startChar }) => startChar)}::integer[],
      ${evidence.map(({ endChar }) => endChar)}::integer[], ${evidence.map(({ quote }) => quote)}::text[])
      as t (event_id, start_char, end_char, quote)
    on conflict do nothing`;
}

function actorInsert({ spaceId }: MentionPlace, { entityOf }: WrittenEvents, rows: readonly EventRow[]): Sql {
  const actors = rows.flatMap(({ id, event }) =>
    event.actors.flatMap(({ ref, role }) => {
      const entityId = entityOf.get(ref);
      return entityId === undefined ? [] : [{ id, entityId, role }];
    }),
  );
  return sql`
    insert into event_actor (event_id, entity_id, space_id, role)
    select event_id, entity_id, ${spaceId}::integer, role
    from unnest(${actors.map(({ id }) => id)}::uuid[], ${actors.map(({ entityId }) => entityId)}::uuid[],
      ${actors.map(({ role }) => role)}::text[]) as t (event_id, entity_id, role)
    on conflict do nothing`;
}

function subjectInsert(
  { spaceId }: MentionPlace,
  { entityOf }: WrittenEvents,
  rows: readonly EventRow[],
): Sql {
  const subjects = rows.flatMap(({ id, event }) => {
    const entityId = event.subjectRef === null ? undefined : entityOf.get(event.subjectRef);
    return entityId === undefined ? [] : [{ id, entityId }];
  });
  return sql`
    insert into event_subject (event_id, entity_id, space_id)
    select event_id, entity_id, ${spaceId}::integer
    from unnest(${subjects.map(({ id }) => id)}::uuid[], ${subjects.map(({ entityId }) => entityId)}::uuid[])
      as t (event_id, entity_id)
    on conflict do nothing`;
}
