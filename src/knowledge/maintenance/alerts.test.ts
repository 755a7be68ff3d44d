import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import type { GraphAvailability } from '../graph/graph.ts';
import { KnowledgeAlerts } from './alerts.ts';

const minuteMs = 60_000;

function openAlerts() {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const state = {
    graph: { state: 'available' } as GraphAvailability,
    needsReview: 0,
    isStoreDown: false,
    counted: [] as string[],
    recoveries: 0,
  };
  const alerts = new KnowledgeAlerts({
    clock,
    metrics: {
      counter:
        ({ name }) =>
        (amount, [outcome]) => {
          if (amount > 0) state.counted.push(`${name} ${outcome}`);
        },
      gauge: () => undefined,
    },
    graph: { backend: 'age', availability: async () => state.graph },
    needsReview: async () => {
      if (state.isStoreDown) throw new Error('down');
      return state.needsReview;
    },
    onGraphRecovered: () => (state.recoveries += 1),
  });
  const firing = async () => {
    await alerts.evaluate();
    return alerts.list().map(({ name, severity }) => [name, severity]);
  };
  return { clock, state, alerts, firing };
}

describe('KnowledgeAlerts', () => {
  it('lists nothing when everything works', async () => {
    const { alerts, firing } = openAlerts();
    for (let index = 0; index < 40; index++) alerts.resolved('ok');
    expect(await firing()).toEqual([]);
  });

  it('warns when more than 5% of names were resolved with a fallback, not at 5%', async () => {
    const { alerts, firing } = openAlerts();
    for (let index = 0; index < 38; index++) alerts.resolved('ok');
    alerts.resolved('degraded');
    alerts.resolved('degraded');
    expect(await firing()).toEqual([]);
    alerts.resolved('degraded');
    expect(await firing()).toEqual([['HeadworksKnowledgeResolutionErrors', 'warning']]);
  });

  it('warns when more than 10% of confirmations failed', async () => {
    const { alerts, firing } = openAlerts();
    for (let index = 0; index < 9; index++) alerts.confirmed('answered');
    alerts.confirmed('failed');
    expect(await firing()).toEqual([]);
    alerts.confirmed('failed');
    expect(await firing()).toEqual([['HeadworksKnowledgeConfirmationFailures', 'warning']]);
  });

  it('warns when more than 20% of expansions timed out, and stops after 15 minutes', async () => {
    const { alerts, firing, clock } = openAlerts();
    for (let index = 0; index < 8; index++) alerts.expanded('ok');
    alerts.expanded('failed');
    alerts.expanded('timeout');
    alerts.expanded('timeout');
    expect(await firing()).toEqual([]);
    alerts.expanded('timeout');
    expect(await firing()).toEqual([['HeadworksKnowledgeExpansionTimeouts', 'warning']]);
    await clock.advance(14 * minuteMs);
    expect(await firing()).toHaveLength(1);
    await clock.advance(2 * minuteMs);
    expect(await firing()).toEqual([]);
  });

  it('computes no rate of fewer than ten attempts', async () => {
    const { alerts, firing } = openAlerts();
    for (let index = 0; index < 9; index++) alerts.confirmed('failed');
    expect(await firing()).toEqual([]);
    alerts.confirmed('failed');
    expect(await firing()).toHaveLength(1);
  });

  it('is critical while the graph is unavailable, and reports once that it is available again', async () => {
    const { state, firing, alerts } = openAlerts();
    state.graph = { state: 'unavailable', reason: 'AGE is not installed.', remedy: 'Install it.' };
    expect(await firing()).toEqual([['HeadworksKnowledgeGraphUnavailable', 'critical']]);
    expect(alerts.list()[0]?.message).toContain('AGE is not installed. Install it.');
    expect(state.recoveries).toBe(0);
    state.graph = { state: 'available' };
    expect(await firing()).toEqual([]);
    await firing();
    expect(state.recoveries).toBe(1);
  });

  it('does not fire for a graph that is switched off', async () => {
    const { state, firing } = openAlerts();
    state.graph = { state: 'off' };
    expect(await firing()).toEqual([]);
  });

  it('informs when more than 100 entities need review, and keeps its state while the store is down', async () => {
    const { state, firing, alerts, clock } = openAlerts();
    state.needsReview = 100;
    expect(await firing()).toEqual([]);
    state.needsReview = 101;
    expect(await firing()).toEqual([['HeadworksKnowledgeReviewBacklog', 'info']]);
    const since = alerts.list()[0]?.since;
    await clock.advance(minuteMs);
    state.isStoreDown = true;
    expect(await firing()).toHaveLength(1);
    expect(alerts.list()[0]?.since).toEqual(since);
  });
});

it('counts outcomes in a counter per metric', () => {
  const { alerts, state } = openAlerts();
  alerts.resolved('ok');
  alerts.confirmed('failed');
  alerts.expanded('timeout');
  expect(state.counted).toEqual([
    'headworks_knowledge_resolutions_total ok',
    'headworks_knowledge_confirmations_total failed',
    'headworks_knowledge_expansions_total timeout',
  ]);
});
