// The alerts of the founding documents, from the metrics of admission and knowledge to the rules of the server.
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/core/index.ts';
import { EventBus, Redactor } from '../../src/core/index.ts';
import type { GraphAvailability } from '../../src/knowledge/graph/graph.ts';
import { KnowledgeMonitor } from '../../src/knowledge/maintenance/monitor.ts';
import { alertEvents, AlertMonitor } from '../../src/operations/alerts/alert-monitor.ts';
import { countEvents, Metrics } from '../../src/platform/telemetry/metrics.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { admissionWorld } from '../support/tenancy/admission-world.ts';

/** Alerts of the rules whose metrics exist; all others keep their state, which is not firing. */
function openAlerts(clock: Clock) {
  const metrics = new Metrics({ redactor: new Redactor(), processMetrics: false });
  const monitor = new AlertMonitor({ clock, metrics, events: new EventBus(alertEvents) });
  const current = async () => {
    await monitor.evaluate();
    return monitor.list();
  };
  return { metrics, current };
}

describe('alerts of admission', () => {
  async function openWorld(options: Parameters<typeof admissionWorld>[0] = {}) {
    const world = await admissionWorld(options);
    const { metrics, current } = openAlerts(world.clock);
    for (const gauge of world.admission.gauges) metrics.gauge(gauge);
    countEvents(world.events, metrics);
    // As a server does: the first evaluation is at its start.
    await current();
    const alerts = async () =>
      (await current()).map(({ name, state, organizationId }) => [name, state, organizationId]);
    return { ...world, alerts };
  }

  it('fire when an organization is above 90% for five minutes, and resolve when it is not', async () => {
    const world = await openWorld({ options: { defaultLimit: 10 } });
    for (let index = 0; index < 9; index++) await world.acquire('a', `a-${index}`);
    await world.clock.advance(15_000);
    expect(await world.alerts()).toEqual([]);
    await world.acquire('a', 'a-9');
    await world.clock.advance(15_000);
    expect(await world.alerts()).toEqual([['HeadworksAdmissionOrganizationUsageHigh', 'pending', 'a']]);
    await world.clock.advance(300_000);
    expect(await world.alerts()).toEqual([['HeadworksAdmissionOrganizationUsageHigh', 'firing', 'a']]);
    await world.admission.controller.release({ organizationId: 'a', executionId: 'a-9' });
    await world.clock.advance(15_000);
    expect(await world.alerts()).toEqual([]);
    await world.admission.close();
  });

  it('fire when global usage is above 80% for five minutes', async () => {
    const world = await openWorld({ options: { globalLimit: 10, defaultLimit: 100 } });
    for (let index = 0; index < 8; index++) await world.acquire('a', `a-${index}`);
    await world.clock.advance(15_000);
    expect(await world.alerts()).toEqual([]);
    await world.acquire('b', 'b-1');
    await world.clock.advance(15_000);
    await world.alerts();
    await world.clock.advance(300_000);
    expect(await world.alerts()).toEqual([['HeadworksAdmissionGlobalUsageHigh', 'firing', null]]);
    await world.admission.close();
  });

  it('fire at a burst of rejections, not at as many over a longer time', async () => {
    const world = await openWorld({ options: { defaultLimit: 1 } });
    await world.acquire('a', '0');
    const reject = () => world.acquire('a', 'x').catch(() => undefined);
    const isBurst = async () =>
      (await world.alerts()).some(([name]) => name === 'HeadworksAdmissionRejectionBurst');
    for (let index = 0; index < 70; index++) {
      await reject();
      await world.clock.advance(1_100);
      if (index % 10 === 0) expect(await isBurst()).toBe(false);
    }
    expect(await isBurst()).toBe(false);
    for (let index = 0; index < 61; index++) await reject();
    await world.clock.advance(10_000);
    expect(await isBurst()).toBe(true);
    await world.clock.advance(60_000);
    expect(await isBurst()).toBe(false);
    await world.admission.close();
  });

  it('fire at once when an outage of Redis is confirmed', async () => {
    const world = await openWorld();
    world.faulty.state = 'down';
    await world.clock.run(world.acquire('a', '1'));
    await world.clock.advance(0);
    expect(await world.alerts()).toEqual([['HeadworksAdmissionRedisDown', 'firing', null]]);
    world.faulty.goUp();
    await world.clock.advance(3_000);
    expect(await world.alerts()).toEqual([]);
    await world.admission.close();
  });
});

describe('alerts of knowledge', () => {
  async function openWorld() {
    const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
    const state = { graph: { state: 'available' } as GraphAvailability, needsReview: 0, isStoreDown: false };
    const { metrics, current } = openAlerts(clock);
    const knowledge = new KnowledgeMonitor({
      metrics,
      graph: { backend: 'age', availability: async () => state.graph },
      needsReview: async () => {
        if (state.isStoreDown) throw new Error('down');
        return state.needsReview;
      },
      onGraphRecovered: () => undefined,
    });
    await current();
    const firing = async () => (await current()).map(({ name, severity }) => [name, severity]);
    return { clock, state, knowledge, current, firing };
  }

  it('list nothing when everything works', async () => {
    const { knowledge, firing } = await openWorld();
    for (let index = 0; index < 40; index++) knowledge.resolved('ok');
    expect(await firing()).toEqual([]);
  });

  it('warn when more than 5% of names were resolved with a fallback, not at 5%', async () => {
    const { knowledge, firing } = await openWorld();
    for (let index = 0; index < 38; index++) knowledge.resolved('ok');
    knowledge.resolved('degraded');
    knowledge.resolved('degraded');
    expect(await firing()).toEqual([]);
    knowledge.resolved('degraded');
    expect(await firing()).toEqual([['HeadworksKnowledgeResolutionErrors', 'warning']]);
  });

  it('warn when more than 10% of confirmations failed', async () => {
    const { knowledge, firing } = await openWorld();
    for (let index = 0; index < 9; index++) knowledge.confirmed('answered');
    knowledge.confirmed('failed');
    expect(await firing()).toEqual([]);
    knowledge.confirmed('failed');
    expect(await firing()).toEqual([['HeadworksKnowledgeConfirmationFailures', 'warning']]);
  });

  it('warn when more than 20% of expansions timed out, and stop after 15 minutes', async () => {
    const { knowledge, firing, clock } = await openWorld();
    for (let index = 0; index < 8; index++) knowledge.expanded('ok');
    knowledge.expanded('failed');
    knowledge.expanded('timeout');
    knowledge.expanded('timeout');
    expect(await firing()).toEqual([]);
    knowledge.expanded('timeout');
    expect(await firing()).toEqual([['HeadworksKnowledgeExpansionTimeouts', 'warning']]);
    await clock.advance(14 * 60_000);
    expect(await firing()).toHaveLength(1);
    await clock.advance(60_000);
    expect(await firing()).toEqual([]);
  });

  it('compute no rate of fewer than ten attempts', async () => {
    const { knowledge, firing } = await openWorld();
    for (let index = 0; index < 9; index++) knowledge.confirmed('failed');
    expect(await firing()).toEqual([]);
    knowledge.confirmed('failed');
    expect(await firing()).toHaveLength(1);
  });

  it('are critical while the graph is unavailable, and absent for a graph that is switched off', async () => {
    const { state, firing } = await openWorld();
    state.graph = { state: 'unavailable', reason: 'AGE is not installed.', remedy: 'Install it.' };
    expect(await firing()).toEqual([['HeadworksKnowledgeGraphUnavailable', 'critical']]);
    state.graph = { state: 'off' };
    expect(await firing()).toEqual([]);
  });

  it('inform when more than 100 entities need review, and keep their state while the store is down', async () => {
    const { state, firing, current, clock } = await openWorld();
    state.needsReview = 100;
    expect(await firing()).toEqual([]);
    state.needsReview = 101;
    expect(await firing()).toEqual([['HeadworksKnowledgeReviewBacklog', 'info']]);
    const since = (await current())[0]?.since;
    await clock.advance(60_000);
    state.isStoreDown = true;
    expect(await firing()).toHaveLength(1);
    expect((await current())[0]?.since).toEqual(since);
  });
});
