import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { Activity } from './activity.ts';

const minute = 60_000;
const start = Date.parse('2026-03-01T12:00:00Z');

function world() {
  const clock = new VirtualClock(start);
  const activity = new Activity(clock);
  const emit = (name: string, payload: Record<string, unknown> = {}) =>
    activity.take({ name, payload, spec: { level: 'debug', message: '' } });
  return { clock, activity, emit };
}

describe('activity', () => {
  it('counts by the minute, including minutes without events', async () => {
    const { clock, activity, emit } = world();
    emit('admission:request-admitted', { organizationId: 'a' });
    emit('gateway:attempt-finished', { outcome: 'success' });
    await clock.advance(2 * minute);
    emit('admission:request-rejected', { organizationId: 'a' });
    emit('gateway:attempt-finished', { outcome: 'timeout' });
    expect(
      activity
        .minutes()
        .map(({ at, admitted, rejected, modelCalls, modelFailures }) => [
          (at - start) / minute,
          admitted,
          rejected,
          modelCalls,
          modelFailures,
        ]),
    ).toEqual([
      [0, 1, 0, 1, 0],
      [1, 0, 0, 0, 0],
      [2, 0, 1, 1, 1],
    ]);
  });

  it('counts the last 60 seconds across full minutes', async () => {
    const { clock, activity, emit } = world();
    await clock.advance(50_000);
    emit('admission:request-rejected', { organizationId: 'a' });
    emit('job:completed', { name: 'knowledge.ingest' });
    emit('job:completed', { name: 'ledger.repair' });
    await clock.advance(15_000);
    emit('admission:request-rejected', { organizationId: 'a' });
    expect(activity.lastMinute()).toMatchObject({ rejected: 2, documentsRead: 1, admitted: 0 });
    expect(activity.minutes().map(({ rejected }) => rejected)).toEqual([1, 1]);
    await clock.advance(45_000);
    expect(activity.lastMinute()).toMatchObject({ rejected: 1, documentsRead: 0 });
    await clock.advance(minute);
    expect(activity.lastMinute().rejected).toBe(0);
  });

  it('drops counts after one hour', async () => {
    const { clock, activity, emit } = world();
    emit('admission:request-rejected', { organizationId: 'a' });
    await clock.advance(59 * minute);
    expect(activity.tenants()).toMatchObject([{ organizationId: 'a', rejected: 1 }]);
    await clock.advance(minute);
    emit('admission:request-admitted', { organizationId: 'b' });
    expect(activity.minutes()).toHaveLength(60);
    expect(activity.tenants().map(({ organizationId }) => organizationId)).toEqual(['b']);
  });

  it('reports how long slots of an organization were held', () => {
    const { activity, emit } = world();
    emit('deployments:execution-ended', { organizationId: 'a', durationMs: 1_000 });
    emit('deployments:execution-ended', { organizationId: 'a', durationMs: 3_000 });
    emit('admission:request-admitted', { organizationId: 'b' });
    expect(activity.tenants()).toMatchObject([
      { organizationId: 'a', ended: 2, averageHoldMs: 2_000, longestHoldMs: 3_000 },
      { organizationId: 'b', averageHoldMs: null, longestHoldMs: null },
    ]);
  });

  it('bounds the number of organizations', () => {
    const { activity, emit } = world();
    for (let index = 0; index < 3_000; index += 1)
      emit('admission:request-rejected', { organizationId: `org-${index}` });
    expect(activity.tenants().length).toBeLessThanOrEqual(1_001);
    expect(activity.minutes()[0]?.rejected).toBe(3_000);
  });

  it('samples a run less often the longer it takes, and drops the oldest runs', async () => {
    const { clock, activity, emit } = world();
    const progress = (run: string, items: number) =>
      emit('extraction:run-progress', { run, items, calls: items, rateLimitedCalls: 0, multiplier: 1 });
    for (let second = 0; second < 2_000; second += 1) {
      progress('long', second);
      await clock.advance(1_000);
    }
    const samples = activity.run('long');
    expect(samples.length).toBeGreaterThan(150);
    expect(samples.length).toBeLessThan(400);
    expect(samples[0]?.items).toBe(0);
    expect(samples.at(-1)?.items).toBeGreaterThan(1_900);
    for (let run = 0; run < 60; run += 1) progress(`run-${run}`, 1);
    expect(activity.run('long')).toEqual([]);
    expect(activity.run('run-59')).toHaveLength(1);
  });
});
