import { describe, expect, it } from 'vitest';
import { EventBus, seededIds, seededRandom } from '../../../src/core/index.ts';
import { VirtualClock } from '../core/virtual-clock.ts';
import { jobEventSpecs } from '../../../src/platform/jobs/events.ts';
import { contractSecret, describeJobQueueContract } from './job-queue.contract.ts';
import { createMemoryJobQueue } from './memory-job-queue.ts';

function open(startAtMs?: number) {
  const clock = new VirtualClock(startAtMs);
  const random = seededRandom(7);
  const bus = new EventBus(jobEventSpecs);
  const events: { name: string; payload: Readonly<Record<string, unknown>> }[] = [];
  bus.listen((event) => events.push(event));
  const ids = seededIds(random, () => clock.now());
  const redact = (text: string) => text.replaceAll(contractSecret, '[redacted]');
  const queue = createMemoryJobQueue({ clock, random, ids, events: bus, redact, abortGraceMs: 100 });
  return { queue, events, clock };
}

describeJobQueueContract('memory', async () => {
  const { queue, events, clock } = open();
  return {
    queue,
    events,
    passTime: (ms) => clock.advance(ms),
    close: () => clock.run(queue.stop(0)),
  };
});

const hourly = {
  name: 'test.hourly',
  description: 'A scheduled job.',
  parse: (payload: unknown) => payload,
  retries: 4,
  retryDelayMs: 1_000,
  retryBackoff: true,
  retryDelayMaxMs: 5_000,
  concurrency: 1,
  timeoutMs: 86_400_000,
};

describe('memory job queue on a virtual clock', () => {
  it('adds scheduled jobs at their minute, and none while the previous one runs', async () => {
    const { queue, clock } = open(Date.UTC(2026, 0, 1, 0, 30));
    const startedAt: string[] = [];
    let runsForMs = 1_000;
    await queue.define([hourly]);
    await queue.work(hourly, async () => {
      startedAt.push(new Date(clock.now()).toISOString().slice(11, 16));
      await clock.sleep(runsForMs);
      return undefined;
    });
    await queue.schedule(hourly, '0 * * * *', { from: 'first' });
    await queue.schedule(hourly, '15 * * * *', { from: 'second' });
    await clock.advance(3 * 3_600_000);
    expect(startedAt).toEqual(['01:15', '02:15', '03:15']);
    runsForMs = 100 * 60_000;
    await clock.advance(3 * 3_600_000);
    expect(startedAt.slice(3)).toEqual(['04:15', '06:15']);
    await queue.unschedule(hourly);
    await clock.advance(5 * 3_600_000);
    expect(startedAt).toHaveLength(5);
  });

  it('doubles the delay between attempts up to the limit', async () => {
    const { queue, clock, events } = open();
    await queue.define([hourly]);
    await queue.work(hourly, async () => {
      throw new Error('still down');
    });
    await queue.enqueue(hourly, {});
    await clock.advance(60_000);
    const delays = events
      .filter((event) => event.name === 'job:retried')
      .map((event) => Number(event.payload['retryInMs']));
    expect(delays).toHaveLength(4);
    for (const [index, atLeast] of [1_000, 2_000, 4_000, 5_000].entries()) {
      expect(delays[index]).toBeGreaterThanOrEqual(atLeast);
      expect(delays[index]).toBeLessThanOrEqual(Math.min(atLeast * 1.25, 5_000));
    }
  });

  it('is deterministic under the same seed', async () => {
    const run = async () => {
      const { queue, clock, events } = open();
      await queue.define([hourly]);
      await queue.work(hourly, async () => {
        throw new Error('no');
      });
      for (let n = 0; n < 5; n += 1) await queue.enqueue(hourly, { n });
      await clock.advance(60_000);
      return JSON.stringify(events.map((event) => [event.name, event.payload]));
    };
    expect(await run()).toBe(await run());
  });
});
