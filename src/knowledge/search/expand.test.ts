import { describe, expect, it } from 'vitest';
import type { RelatedEvent } from '../graph/graph.ts';
import { mergeRelated } from './expand.ts';

const event = (eventId: string, viaEntityId: string, score: number): RelatedEvent => ({
  eventId,
  viaEntityId,
  score,
  reason: `same_actor:${viaEntityId}`,
});
const part = (...related: RelatedEvent[]) => ({
  related,
  items: related.map(({ eventId: id }) => ({
    type: 'event' as const,
    id,
    category: 'Decision',
    summary: '',
    eventTime: null,
    artifactUid: '',
    evidence: [],
  })),
});
const shown = (items: ReturnType<typeof mergeRelated>) => items.map(({ id, reason }) => `${id} ${reason}`);

describe('merged expansions', () => {
  it('are one list, ordered by what they share with the results', () => {
    const joined = mergeRelated(
      [part(event('a', 'Ann', 1), event('b', 'Bob', 0.9)), part(event('b', 'Eve', 0.8))],
      10,
    );
    expect(shown(joined)).toEqual(['b same_actor:Bob', 'a same_actor:Ann']);
  });

  it('count an entity shared by two results once', () => {
    const joined = mergeRelated(
      [part(event('a', 'Ann', 0.9)), part(event('a', 'Ann', 0.9), event('b', 'Bob', 1))],
      10,
    );
    expect(shown(joined)).toEqual(['b same_actor:Bob', 'a same_actor:Ann']);
  });

  it('respect the budget and omit deleted events', () => {
    const { related } = part(event('a', 'Ann', 3));
    expect(
      shown(mergeRelated([{ related, items: [] }, part(event('b', 'B', 2), event('c', 'C', 1))], 1)),
    ).toEqual(['b same_actor:B']);
  });
});
