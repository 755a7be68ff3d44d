import { describe, expect, it } from 'vitest';
import { defaultWorkers, parallelConfig, rulesBetween } from './parallel-config.ts';

describe('the parallel configuration', () => {
  it('has the defaults of the document', () => {
    expect(parallelConfig()).toEqual({
      workers: defaultWorkers,
      queueSize: defaultWorkers * 100,
      batchSize: 100,
      rateLimitPerMinute: 100,
      rateLimitPerSecond: 10,
      adaptiveRateLimiting: true,
    });
    expect(defaultWorkers).toBeLessThanOrEqual(8);
    expect(parallelConfig({ workers: 50 }).queueSize).toBe(5_000);
  });

  it('accepts the bounds of every range and rejects values outside', () => {
    expect(parallelConfig({ workers: 1, batchSize: 10, queueSize: 10 })).toMatchObject({ workers: 1 });
    expect(parallelConfig({ workers: 50, batchSize: 1_000, queueSize: 500 })).toMatchObject({ workers: 50 });
    for (const wrong of [
      { workers: 0 },
      { workers: 51 },
      { batchSize: 9 },
      { batchSize: 1_001 },
      { workers: 1.5 },
    ])
      expect(() => parallelConfig(wrong)).toThrow(RangeError);
  });

  it('names every problem at once, with value and range', () => {
    expect(() => parallelConfig({ workers: 51, batchSize: 5, rateLimitPerMinute: 0 })).toThrow(
      'workers must be a whole number from 1 to 50, not 51; batchSize must be a whole number from 10 to 1000, not 5; ' +
        'rateLimitPerMinute must be a whole number from 1 to 1000000, not 0',
    );
  });

  it('requires a queue of ten per worker, and no more calls per second than per minute', () => {
    expect(() => parallelConfig({ workers: 8, queueSize: 79 })).toThrow('queueSize must be at least 80');
    expect(() => parallelConfig({ rateLimitPerMinute: 5 })).toThrow(
      'rateLimitPerSecond must not be above the 5',
    );
  });

  it('skips rules between options when a value is missing', () => {
    expect(rulesBetween({ workers: 50 })).toEqual([]);
    expect(rulesBetween({})).toEqual([]);
  });
});
