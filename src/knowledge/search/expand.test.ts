import { describe, expect, it } from 'vitest';
import type { RelatedEvent } from '../graph/graph.ts';
import { CoreError, silentLog } from '../../core/index.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { expandByGraph, mergeRelated } from './expand.ts';

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

describe('expandByGraph', () => {
  const expand = async (results: readonly (Error | null)[], signal = new AbortController().signal) => {
    const counted: string[] = [];
    const left = [...results];
    const deps = {
      graph: {
        backend: 'sql' as const,
        isSeparateStore: false,
        missing: async () => 0,
        expand: async () => {
          const error = left.shift() ?? null;
          if (error) throw error;
          return [];
        },
      },
      store: {
        eventIdsOf: async (_spaceId: number, chunkId: number) => [`e${chunkId}`],
        events: async () => [],
        countWaitingForGraph: async () => 0,
      },
      watch: { expanded: (outcome: string) => void counted.push(outcome) },
      ledger: { record: async () => undefined },
      clock: new VirtualClock(),
      log: silentLog,
      options: { expansionTimeoutMs: 500, chunkLookupTimeoutMs: 2_000 },
    };
    const hits = results.map((_, index) => ({ chunkId: index + 1, score: 1 }));
    const request = { graphBudget: 5, graphSeedLimit: 5, graphFilters: [] };
    await expandByGraph(deps, { spaceId: 1, hits, request }, new Set<string>(), signal).catch(
      () => undefined,
    );
    return counted;
  };

  it('counts each expansion by outcome', async () => {
    const errors = [null, new CoreError('DEADLINE_EXCEEDED', 'late'), new Error('broken')];
    expect(await expand(errors)).toEqual(['ok', 'timeout', 'failed']);
  });

  it('counts nothing when the caller aborted', async () => {
    expect(await expand([new Error('gone')], AbortSignal.abort())).toEqual([]);
  });
});
