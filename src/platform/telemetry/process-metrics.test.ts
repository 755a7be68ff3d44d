import { expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { monitorEventLoop } from './process-metrics.ts';

it('reports a task that took more than 200 ms of CPU, and no others (B1)', async () => {
  const clock = new VirtualClock(0);
  const reported: number[] = [];
  let cpu = 5_000;
  const stop = monitorEventLoop({ clock, onBlocked: (ms) => reported.push(ms), cpuMs: () => cpu });
  const tick = async (used: number) => {
    cpu += used;
    await clock.advance(50);
  };
  for (const used of [0, 45, 100, 240, 400, 10, 1_000]) await tick(used);
  expect(reported).toEqual([400, 1_000]);
  stop();
  await tick(900);
  expect(reported).toHaveLength(2);
});

it('measures the CPU time of this thread', async () => {
  const clock = new VirtualClock(0);
  const reported: number[] = [];
  const stop = monitorEventLoop({ clock, onBlocked: (ms) => reported.push(ms) });
  const start = process.threadCpuUsage();
  while (process.threadCpuUsage(start).user < 400_000);
  await clock.advance(50);
  stop();
  expect(reported).toHaveLength(1);
  expect(reported[0]).toBeGreaterThanOrEqual(400);
});
