import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { offGraph } from '../graph/graph.ts';
import type { GraphAvailability } from '../graph/graph.ts';
import { KnowledgeAlerts, meteredGraph } from './alerts.ts';

const { signal } = new AbortController();
const minuteMs = 60_000;

function world() {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const state = {
    graph: { state: 'available' } as GraphAvailability,
    needsReview: 0,
    isStoreAway: false,
    counted: [] as string[],
    cameBack: 0,
  };
  const watch = new KnowledgeAlerts({
    clock,
    count: (metric, outcome) => state.counted.push(`${metric} ${outcome}`),
    graphState: async () => state.graph,
    needsReview: async () => {
      if (state.isStoreAway) throw new Error('away');
      return state.needsReview;
    },
    onGraphBack: () => (state.cameBack += 1),
  });
  const firing = async () => {
    await watch.evaluate();
    return watch.list().map(({ name, severity }) => [name, severity]);
  };
  return { clock, state, watch, firing };
}

describe('alerts of knowledge', () => {
  it('say nothing when nothing is wrong', async () => {
    const { watch, firing } = world();
    for (let index = 0; index < 40; index++) watch.resolved('ok');
    expect(await firing()).toEqual([]);
  });

  it('warn when more than 5% of names were resolved with a fallback, not at 5%', async () => {
    const { watch, firing } = world();
    for (let index = 0; index < 38; index++) watch.resolved('ok');
    watch.resolved('degraded');
    watch.resolved('degraded');
    expect(await firing()).toEqual([]);
    watch.resolved('degraded');
    expect(await firing()).toEqual([['HeadworksKnowledgeResolutionErrors', 'warning']]);
  });

  it('warn when more than 10% of questions to a model failed', async () => {
    const { watch, firing } = world();
    for (let index = 0; index < 9; index++) watch.asked('answered');
    watch.asked('failed');
    expect(await firing()).toEqual([]);
    watch.asked('failed');
    expect(await firing()).toEqual([['HeadworksKnowledgeConfirmationFailures', 'warning']]);
  });

  it('warn when more than 20% of expansions timed out, and forget it after a quarter of an hour', async () => {
    const { watch, firing, clock } = world();
    for (let index = 0; index < 8; index++) watch.expanded('ok');
    watch.expanded('failed');
    watch.expanded('timeout');
    watch.expanded('timeout');
    expect(await firing()).toEqual([]);
    watch.expanded('timeout');
    expect(await firing()).toEqual([['HeadworksKnowledgeExpansionTimeouts', 'warning']]);
    await clock.advance(14 * minuteMs);
    expect(await firing()).toHaveLength(1);
    await clock.advance(2 * minuteMs);
    expect(await firing()).toEqual([]);
  });

  it('do not take a few tries for a rate', async () => {
    const { watch, firing } = world();
    for (let index = 0; index < 9; index++) watch.asked('failed');
    expect(await firing()).toEqual([]);
    watch.asked('failed');
    expect(await firing()).toHaveLength(1);
  });

  it('are critical while the graph is away, and tell once when it is back', async () => {
    const { state, firing, watch } = world();
    state.graph = { state: 'unavailable', reason: 'AGE is not there.', remedy: 'Install it.' };
    expect(await firing()).toEqual([['HeadworksKnowledgeGraphUnavailable', 'critical']]);
    expect(watch.list()[0]?.message).toContain('AGE is not there. Install it.');
    expect(state.cameBack).toBe(0);
    state.graph = { state: 'available' };
    expect(await firing()).toEqual([]);
    await firing();
    expect(state.cameBack).toBe(1);
  });

  it('are silent about a graph that is switched off', async () => {
    const { state, firing } = world();
    state.graph = { state: 'off' };
    expect(await firing()).toEqual([]);
  });

  it('inform when more than 100 entities wait for a look, since when, and keep it while nobody can count', async () => {
    const { state, firing, watch, clock } = world();
    state.needsReview = 100;
    expect(await firing()).toEqual([]);
    state.needsReview = 101;
    expect(await firing()).toEqual([['HeadworksKnowledgeReviewBacklog', 'info']]);
    const since = watch.list()[0]?.since;
    await clock.advance(minuteMs);
    state.isStoreAway = true;
    expect(await firing()).toHaveLength(1);
    expect(watch.list()[0]?.since).toEqual(since);
  });
});

describe('a metered graph', () => {
  it('counts expansions by outcome and ignores aborted callers', async () => {
    const { watch, state } = world();
    const ends: (Error | null)[] = [null, new CoreError('DEADLINE_EXCEEDED', 'late'), new Error('broken')];
    const graph = meteredGraph(
      {
        ...offGraph,
        expand: async () => {
          const end = ends.shift() ?? null;
          if (end) throw end;
          return [];
        },
      },
      watch,
    );
    const request = { spaceId: 1, seedEventIds: [], budget: 1 };
    await graph.expand(request, signal);
    await expect(graph.expand(request, signal)).rejects.toThrow('late');
    await expect(graph.expand(request, signal)).rejects.toThrow('broken');
    ends.push(new Error('gone'));
    await expect(graph.expand(request, AbortSignal.abort())).rejects.toThrow('gone');
    expect(state.counted).toEqual(['expansions ok', 'expansions timeout', 'expansions failed']);
  });
});
