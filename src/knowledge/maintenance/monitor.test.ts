import { expect, it } from 'vitest';
import type { GraphAvailability } from '../graph/graph.ts';
import { KnowledgeMonitor } from './monitor.ts';

function openMonitor() {
  const state = {
    graph: { state: 'available' } as GraphAvailability,
    counted: [] as string[],
    recoveries: 0,
  };
  const monitor = new KnowledgeMonitor({
    metrics: {
      counter:
        ({ name }) =>
        (amount, [outcome]) => {
          if (amount > 0) state.counted.push(`${name} ${outcome}`);
        },
      gauge: () => undefined,
    },
    graph: { backend: 'age', availability: async () => state.graph },
    needsReview: async () => 0,
    onGraphRecovered: () => (state.recoveries += 1),
  });
  return { state, monitor };
}

it('reports once that the graph is available again', async () => {
  const { state, monitor } = openMonitor();
  state.graph = { state: 'unavailable', reason: 'AGE is not installed.', remedy: 'Install it.' };
  await monitor.checkGraph();
  expect(state.recoveries).toBe(0);
  state.graph = { state: 'available' };
  await monitor.checkGraph();
  await monitor.checkGraph();
  expect(state.recoveries).toBe(1);
});

it('counts outcomes in a counter per metric', () => {
  const { monitor, state } = openMonitor();
  monitor.resolved('ok');
  monitor.confirmed('failed');
  monitor.expanded('timeout');
  expect(state.counted).toEqual([
    'headworks_knowledge_resolutions_total ok',
    'headworks_knowledge_confirmations_total failed',
    'headworks_knowledge_expansions_total timeout',
  ]);
});
