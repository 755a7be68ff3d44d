// Scheduled probes on a virtual clock.
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { MemoryAttemptStore, MemoryProbeSchedule } from '../../../test/support/gateway/memory-stores.ts';
import type { ProbeSchedule } from '../stores.ts';
import { exampleAttempt, moment } from '../../../test/support/gateway/examples.ts';
import { modelOf } from '../../../test/support/gateway/routing-world.ts';
import type { Attempt } from '../types.ts';
import { idleModels, startHealthChecks } from './health-check.ts';

const hourMs = 3_600_000;

function worker(
  clock: VirtualClock,
  schedule: ProbeSchedule,
  {
    intervalMs = hourMs,
    probeIdle,
  }: { intervalMs?: number; probeIdle?: (signal: AbortSignal) => Promise<unknown> } = {},
) {
  const startedAt: number[] = [];
  const failures: string[] = [];
  const stop = startHealthChecks({
    clock,
    schedule,
    intervalMs,
    probeIdle: async (signal) => {
      startedAt.push(clock.monotonic());
      return probeIdle?.(signal);
    },
    onFailure: (cause) => void failures.push(cause),
  });
  return { startedAt, failures, stop };
}

describe('scheduled probes', () => {
  it('run once per interval in one of several processes, first after one interval', async () => {
    const clock = new VirtualClock();
    const schedule = new MemoryProbeSchedule();
    const workers = [worker(clock, schedule), worker(clock, schedule), worker(clock, schedule)];
    await clock.advance(hourMs - 1);
    expect(schedule.claims).toBe(0);
    await clock.advance(5 * hourMs);
    const all = workers.flatMap(({ startedAt }) => startedAt).sort((a, b) => a - b);
    expect(all).toHaveLength(5);
    for (const [index, at] of all.entries())
      expect(at - (all[index - 1] ?? 0)).toBeGreaterThanOrEqual(hourMs);
    await Promise.all(workers.map(({ stop }) => stop()));
    expect(clock.pending).toBe(0);
  });

  it('respect a short interval', async () => {
    const clock = new VirtualClock();
    const { startedAt, stop } = worker(clock, new MemoryProbeSchedule(), { intervalMs: 2_000 });
    await clock.advance(10_500);
    expect(startedAt).toEqual([2_000, 4_000, 6_000, 8_000, 10_000]);
    await stop();
  });

  it('never overlap, however long they take', async () => {
    const clock = new VirtualClock();
    let running = 0;
    let max = 0;
    const { startedAt, stop } = worker(clock, new MemoryProbeSchedule(), {
      intervalMs: 1_000,
      probeIdle: async () => {
        max = Math.max(max, ++running);
        await clock.sleep(3_500);
        running -= 1;
      },
    });
    await clock.advance(12_000);
    expect(startedAt.length).toBeGreaterThan(1);
    expect(max).toBe(1);
    await clock.run(stop());
  });

  it('continue after a failure and after a store outage', async () => {
    const clock = new VirtualClock();
    const schedule = new MemoryProbeSchedule();
    let claims = 0;
    const flaky: ProbeSchedule = {
      claim: (now, intervalMs) => {
        claims += 1;
        return claims === 2
          ? Promise.reject(new CoreError('STATE_UNAVAILABLE', 'away'))
          : schedule.claim(now, intervalMs);
      },
    };
    const { startedAt, failures, stop } = worker(clock, flaky, {
      intervalMs: 1_000,
      probeIdle: () => Promise.reject(new TypeError('broken')),
    });
    await clock.advance(3_000);
    expect(startedAt.length).toBeGreaterThan(1);
    expect(failures.slice(0, 2)).toEqual(['STATE_UNAVAILABLE', 'TypeError']);
    await stop();
  });
});

describe('idle models', () => {
  it('are those without requests of callers in the last interval', async () => {
    const names = ['busy', 'probed', 'idle', 'failing', 'limited'];
    const models = names.map((name, index) => modelOf({ name }, index + 1));
    const store = new MemoryAttemptStore();
    const call = (name: string, change: Partial<Attempt> = {}) => {
      const modelId = names.indexOf(name) + 1;
      return exampleAttempt({ modelId, at: moment(0), caller: 'key:1', ...change });
    };
    await store.append([
      call('idle', { at: moment(-1) }),
      call('busy'),
      call('probed', { caller: 'probe' }),
      call('failing', { outcome: 'timeout' }),
      call('limited', { outcome: 'rate-limit' }),
    ]);
    const idle = await idleModels(store, models, new Date(moment(0)));
    expect(idle.map(({ name }) => name)).toEqual(['probed', 'idle', 'limited']);
  });
});

describe('stopping', () => {
  it('cancels running probes without reporting a failure', async () => {
    const clock = new VirtualClock();
    const { startedAt, failures, stop } = worker(clock, new MemoryProbeSchedule(), {
      intervalMs: 1_000,
      probeIdle: (signal) => clock.sleep(hourMs, signal),
    });
    await clock.advance(1_000);
    expect(startedAt).toHaveLength(1);
    await stop();
    await clock.advance(hourMs);
    expect({ startedAt: startedAt.length, failures, pending: clock.pending }).toEqual({
      startedAt: 1,
      failures: [],
      pending: 0,
    });
  });

  it('during a claim starts no probes', async () => {
    const clock = new VirtualClock();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { startedAt, stop } = worker(clock, { claim: () => promise });
    await clock.advance(1);
    const stopped = stop();
    resolve(true);
    await stopped;
    expect(startedAt).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
