// The contract of every graph backend: finds what shares an entity with a seed, within its space, and stays in sync.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Graph, GraphBatch, RebuildBatch } from '../../../src/knowledge/graph/graph.ts';

export interface NewEvent {
  readonly actors?: readonly string[];
  readonly subjects?: readonly string[];
  readonly category?: string;
}

/** A graph backed by tables, which are written first, as ingest does. */
export interface GraphSubject {
  readonly graph: Graph;
  space(): Promise<number>;
  /** Entities by name, created if new; returns the event ids in order. Everything is upserted too. */
  addEvents(spaceId: number, events: readonly NewEvent[]): Promise<readonly string[]>;
  /** The last batch that was upserted. */
  lastPart(): GraphBatch;
  entityId(spaceId: number, name: string): Promise<string>;
  supersede(eventIds: readonly string[]): Promise<void>;
  deleteRows(eventIds: readonly string[]): Promise<void>;
  removeSpace(spaceId: number): Promise<void>;
  all(after: string | null): AsyncIterable<RebuildBatch>;
}

export function graphContract(name: string, subjectOf: () => GraphSubject): void {
  describe(`graph contract: ${name}`, () => {
    const { signal } = new AbortController();
    let subject: GraphSubject;
    let spaceId: number;

    beforeEach(async () => {
      subject = subjectOf();
      spaceId = await subject.space();
    });

    const expand = (
      seeds: readonly string[],
      more: { budget?: number; categories?: readonly string[] } = {},
    ) => subject.graph.expand({ spaceId, seedEventIds: seeds, budget: 10, ...more }, signal);
    const idsOf = async (...request: Parameters<typeof expand>) =>
      (await expand(...request)).map(({ eventId }) => eventId);

    it('is available', async () => {
      expect(await subject.graph.availability(signal)).toEqual({ state: 'available' });
    });

    it('finds events that share an actor with a seed and names the actor', async () => {
      const [seed = '', other = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann', 'Bob'] },
        { actors: ['Ann'] },
        { actors: ['Eve'] },
      ]);
      expect(await expand([seed])).toMatchObject([
        { eventId: other, reason: 'same_actor:Ann', viaEntityId: await subject.entityId(spaceId, 'Ann') },
      ]);
    });

    it('finds events that share a subject with a seed and names the subject', async () => {
      const [seed = '', other = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann'], subjects: ['Atlas'] },
        { actors: ['Bob'], subjects: ['Atlas'] },
      ]);
      expect(await expand([seed])).toMatchObject([{ eventId: other, reason: 'same_subject:Atlas' }]);
    });

    it('ranks events that share more first, and events that share an entity of many events last', async () => {
      const [seed = '', both = '', rare = '', ...common] = await subject.addEvents(spaceId, [
        { actors: ['Ann'], subjects: ['Atlas'] },
        { actors: ['Ann'], subjects: ['Atlas'] },
        { actors: ['Bob'], subjects: ['Atlas'] },
        ...Array.from({ length: 8 }, () => ({ actors: ['Ann'] })),
      ]);
      const found = await expand([seed], { budget: 50 });
      // Ids of one millisecond have no order in time.
      expect(found.map(({ eventId }) => eventId)).toEqual([both, rare, ...common.toSorted().toReversed()]);
      expect(found[0]?.score).toBeGreaterThan(found[1]?.score ?? 0);
      expect(found[1]?.score).toBeGreaterThan(found[2]?.score ?? 0);
    });

    it('counts half an entity that is actor in one event and subject of the other', async () => {
      const [seed = '', straight = '', crossed = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann'], subjects: ['Atlas'] },
        { actors: ['Ann'] },
        { subjects: ['Ann'] },
      ]);
      expect(await expand([seed])).toMatchObject([
        { eventId: straight, reason: 'same_actor:Ann' },
        { eventId: crossed, reason: 'same_subject:Ann' },
      ]);
    });

    it('respects budget and categories and returns no seed', async () => {
      const added = await subject.addEvents(spaceId, [
        { actors: ['Ann'] },
        { actors: ['Ann'], category: 'Commitment' },
        { actors: ['Ann'], category: 'Feedback' },
        { actors: ['Ann'], category: 'Feedback' },
      ]);
      const [seed = '', commitment = ''] = added;
      expect(await idsOf([seed], { budget: 2 })).toHaveLength(2);
      expect(await idsOf([seed], { categories: ['Commitment'] })).toEqual([commitment]);
      expect(await idsOf(added)).toEqual([]);
      expect(await idsOf([seed], { budget: 0 })).toEqual([]);
      expect(await idsOf([])).toEqual([]);
    });

    it('ignores other spaces', async () => {
      const [seed = ''] = await subject.addEvents(spaceId, [{ actors: ['Ann'] }]);
      const elsewhere = await subject.space();
      const [otherEvent = ''] = await subject.addEvents(elsewhere, [
        { actors: ['Ann'] },
        { actors: ['Ann'] },
      ]);
      expect(await idsOf([seed])).toEqual([]);
      expect(await idsOf([otherEvent])).toEqual([]);
    });

    it('omits superseded events', async () => {
      const [seed = '', other = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann'] },
        { actors: ['Ann'] },
      ]);
      await subject.supersede([other]);
      expect(await idsOf([seed])).toEqual([]);
    });

    it.each([
      `x' }) DETACH DELETE n //`,
      `"}) RETURN 1 $$, '{}') as (a agtype); drop table entity; --`,
      '$items $$ \\" \' ` {} \\u0000',
      '<script>alert(1)</script>\n\u{1F600}\u200B',
    ])('treats the name %j as a value', async (name) => {
      const [seed = '', other = ''] = await subject.addEvents(spaceId, [
        { actors: [name] },
        { actors: [name] },
      ]);
      expect(await expand([seed])).toMatchObject([{ eventId: other, reason: `same_actor:${name}` }]);
    });

    it('counts events that are missing in the graph', async () => {
      const added = await subject.addEvents(spaceId, [{ actors: ['Ann'] }, { actors: ['Bob'] }]);
      expect(await subject.graph.missing(spaceId, added, signal)).toBe(0);
      await subject.graph.remove(spaceId, { eventIds: added.slice(1), entityIds: [] }, signal);
      expect(await subject.graph.missing(spaceId, added, signal)).toBe(subject.graph.isSeparateStore ? 1 : 0);
    });

    it('is idempotent', async () => {
      const [seed = '', other = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann'], subjects: ['Atlas'] },
        { actors: ['Ann'], subjects: ['Atlas'] },
      ]);
      const before = await expand([seed]);
      expect(await subject.graph.upsert(subject.lastPart(), signal)).toEqual([]);
      expect(await expand([seed])).toEqual(before);
      expect(before.map(({ eventId }) => eventId)).toEqual([other]);
    });

    it('removes nodes with their edges', async () => {
      const [seed = '', other = '', third = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann'] },
        { actors: ['Ann'] },
        { actors: ['Ann'] },
      ]);
      await subject.deleteRows([other]);
      await subject.graph.remove(spaceId, { entityIds: [], eventIds: [other] }, signal);
      expect(await idsOf([seed])).toEqual([third]);
    });

    it('prunes what the tables no longer have, and everything of a deleted space', async () => {
      const [seed = '', other = '', third = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann'] },
        { actors: ['Ann'] },
        { actors: ['Ann'] },
      ]);
      await subject.deleteRows([other]);
      await subject.graph.prune(spaceId, signal);
      expect(await idsOf([seed])).toEqual([third]);
      await subject.removeSpace(spaceId);
      await subject.graph.prune(spaceId, signal);
      expect(await idsOf([seed])).toEqual([]);
    });

    it('serves during a rebuild and returns the same afterwards', async () => {
      const [seed = '', other = ''] = await subject.addEvents(spaceId, [
        { actors: ['Ann'], subjects: ['Atlas'] },
        { actors: ['Ann'] },
      ]);
      const meanwhile: Promise<readonly string[]>[] = [];
      const { events } = await subject.graph.rebuild(
        (after) => subject.all(after),
        () => meanwhile.push(idsOf([seed])),
        signal,
      );
      expect(events).toBeGreaterThanOrEqual(2);
      expect(meanwhile.length).toBeGreaterThan(0);
      for (const answer of await Promise.all(meanwhile)) expect(answer).toEqual([other]);
      expect(await idsOf([seed])).toEqual([other]);
    });

    it('stops with the signal', async () => {
      const [seed = ''] = await subject.addEvents(spaceId, [{ actors: ['Ann'] }, { actors: ['Ann'] }]);
      const late = AbortSignal.abort(new Error('too late'));
      const request = { spaceId, seedEventIds: [seed], budget: 10 };
      await expect(subject.graph.expand(request, late)).rejects.toThrow('too late');
    });
  });
}
