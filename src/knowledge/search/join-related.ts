// Puts together what several parts of an expansion found: each event once, those that share most with the results first.
import type { RelatedEvent, RelatedItem } from '../ports.ts';

export interface FoundPart {
  readonly related: readonly RelatedEvent[];
  /** What can be shown of them; one that is gone by now is not here. */
  readonly items: readonly Omit<RelatedItem, 'reason'>[];
}

interface Joined {
  readonly best: RelatedEvent;
  /** By entity that is shared: shared with two results it counts once. */
  readonly scores: Map<string, number>;
}

export function joinRelated(parts: readonly FoundPart[], budget: number): readonly RelatedItem[] {
  const items = new Map(parts.flatMap((part) => part.items.map((item) => [item.id, item] as const)));
  const joined = new Map<string, Joined>();
  for (const event of parts.flatMap(({ related }) => related)) {
    const { best, scores } = joined.get(event.eventId) ?? { best: event, scores: new Map<string, number>() };
    scores.set(event.viaEntityId, Math.max(scores.get(event.viaEntityId) ?? 0, event.score));
    joined.set(event.eventId, { best: event.score > best.score ? event : best, scores });
  }
  const sum = ({ scores }: Joined): number => [...scores.values()].reduce((all, one) => all + one, 0);
  return [...joined.values()]
    .toSorted((a, b) => sum(b) - sum(a) || (a.best.eventId < b.best.eventId ? 1 : -1))
    .flatMap(({ best: { eventId, reason } }) => {
      const item = items.get(eventId);
      return item ? [{ ...item, reason }] : [];
    })
    .slice(0, budget);
}
