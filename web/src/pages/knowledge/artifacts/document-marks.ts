// Marks in a document: evidence of events, names of their participants, and the linked passage.
import type { KnowledgeEvent } from '../../../../../src/api/knowledge.ts';
import type { EntityDetail } from '../../../../../src/api/entities.ts';
import { useQueries } from '@tanstack/react-query';
import { readOptions } from '../queries.ts';
import type { Range } from '../marks.ts';
import { useSpaceRef } from '../space-ref.ts';
import { categoryLabels } from '../labels.ts';
import type { DocumentMark } from './document-view.tsx';

/** Entities whose mentions are loaded: each costs one request. */
const maxEntities = 16;

export function evidenceMarks(
  events: readonly KnowledgeEvent[],
  target: string | null,
): readonly DocumentMark[] {
  return events.flatMap((event) =>
    event.evidence.map(({ start_char: start, end_char: end }) => ({
      kind: event.id === target ? ('target' as const) : ('evidence' as const),
      id: event.id,
      label: `${categoryLabels[event.category]}: ${event.narrative}`,
      start,
      end,
    })),
  );
}

export const targetMarks = (ranges: readonly Range[]): readonly DocumentMark[] =>
  ranges.map(({ start, end }) => ({ kind: 'target', id: '', label: 'Search match', start, end }));

/** Entities of the events, most frequent first. */
export function entitiesOf(events: readonly KnowledgeEvent[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { actors, subjects } of events)
    for (const { entity_id: id } of [...actors, ...subjects]) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([id]) => id);
}

/** Mentions of the events' entities in the document. */
export function useNameMarks(
  artifactUid: string,
  events: readonly KnowledgeEvent[],
): readonly DocumentMark[] {
  const spaceRef = useSpaceRef();
  return useQueries({
    queries: entitiesOf(events)
      .slice(0, maxEntities)
      .map((id) => readOptions(spaceRef, 'GET /api/v1/knowledge/entities/:id', { params: { id } })),
    combine: (results) => results.flatMap(({ data }) => (data ? namesIn(artifactUid, data) : [])),
  });
}

const namesIn = (artifactUid: string, entity: EntityDetail): readonly DocumentMark[] =>
  entity.mentions.flatMap(({ artifact_id: uid, start_char: start, end_char: end }) =>
    uid !== artifactUid || start === null || end === null
      ? []
      : [{ kind: 'name', id: entity.id, label: entity.canonical_name, start, end }],
  );
