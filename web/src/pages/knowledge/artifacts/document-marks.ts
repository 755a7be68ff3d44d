// What is marked in a document: evidence of its events, names of who takes part in them, and what was asked for.
import { useQueries } from '@tanstack/react-query';
import type { EntityDetailAnswer, KnowledgeEventAnswer } from '../../../../../src/http/contract.ts';
import { readOptions } from '../ask.ts';
import type { Range } from '../marks.ts';
import { usePlace } from '../place.ts';
import { categoryWords } from '../words.ts';
import type { DocumentMark } from './document-view.tsx';

/** Entities whose places are looked up: each is a question to the server. */
const mostEntities = 16;

export function evidenceMarks(
  events: readonly KnowledgeEventAnswer[],
  asked: string | null,
): readonly DocumentMark[] {
  return events.flatMap((event) =>
    event.evidence.map(({ start_char: start, end_char: end }) => ({
      kind: event.event_id === asked ? ('asked' as const) : ('evidence' as const),
      id: event.event_id,
      label: `${categoryWords[event.category]}: ${event.narrative}`,
      start,
      end,
    })),
  );
}

export const askedMarks = (ranges: readonly Range[]): readonly DocumentMark[] =>
  ranges.map(({ start, end }) => ({ kind: 'asked', id: '', label: 'What you looked for', start, end }));

/** Those who act most, or are acted on, first. */
export function entitiesOf(events: readonly KnowledgeEventAnswer[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { actors, subjects } of events)
    for (const { entity_id: id } of [...actors, ...subjects]) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([id]) => id);
}

/** Where the entities of these events are mentioned in the document. */
export function useNameMarks(
  artifactUid: string,
  events: readonly KnowledgeEventAnswer[],
): readonly DocumentMark[] {
  const place = usePlace();
  return useQueries({
    queries: entitiesOf(events)
      .slice(0, mostEntities)
      .map((id) => readOptions<EntityDetailAnswer>(place, `/entities/${id}`)),
    combine: (results) => results.flatMap(({ data }) => (data ? namesIn(artifactUid, data) : [])),
  });
}

const namesIn = (artifactUid: string, entity: EntityDetailAnswer): readonly DocumentMark[] =>
  entity.mentions.flatMap(({ artifact_uid: uid, start_char: start, end_char: end }) =>
    uid !== artifactUid || start === null || end === null
      ? []
      : [{ kind: 'name', id: entity.entity_id, label: entity.canonical_name, start, end }],
  );
