import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { WorkerMetrics } from './worker-metrics.ts';

describe('worker metrics', () => {
  it('count items by type and errors by worker, and return both in one snapshot with the names of the founding document', async () => {
    const clock = new VirtualClock(Date.UTC(2026, 0, 1));
    const metrics = new WorkerMetrics(['users', 'looks'], clock);
    metrics.incrementProcessed('users', 3);
    metrics.incrementProcessed('users');
    metrics.recordError('worker-1', 'died');
    metrics.recordError('worker-1', 'again');
    await clock.advance(1_500);
    expect(metrics.snapshot()).toEqual({
      total: 4,
      by_type: { users: 4 },
      errors: 2,
      worker_errors: { 'worker-1': ['died', 'again'] },
      start_time: '2026-01-01T00:00:00.000Z',
      duration: 1.5,
    });
    metrics.stop();
    await clock.advance(1_000);
    expect(metrics.snapshot().duration).toBe(1.5);
  });

  it('reject types that are not extracted and counts below 0', () => {
    const metrics = new WorkerMetrics(['users'], new VirtualClock());
    expect(() => metrics.incrementProcessed('dragons')).toThrow(RangeError);
    expect(() => metrics.incrementProcessed('users', -1)).toThrow(
      'count must be a whole number from 0, not -1',
    );
  });

  it('keep a bounded list of errors', () => {
    const metrics = new WorkerMetrics([], new VirtualClock());
    for (let count = 0; count < 1_000; count++) metrics.recordError('fetch', 'down');
    expect(metrics.snapshot().errors).toBe(1_000);
    expect(metrics.snapshot().worker_errors['fetch']).toHaveLength(100);
  });
});
