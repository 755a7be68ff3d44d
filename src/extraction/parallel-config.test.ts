import { describe, expect, it } from 'vitest';
import { extractionOptions } from './options.ts';
import { defaultQueueSize, defaultWorkers, parallelDefaults, rulesBetween } from './parallel-config.ts';

const { fields } = extractionOptions;

describe('the parallel configuration', () => {
  it('has the defaults of the document', () => {
    expect(parallelDefaults).toEqual({
      workers: defaultWorkers,
      batchSize: 100,
      rateLimitPerMinute: 100,
      rateLimitPerSecond: 10,
      adaptiveRateLimiting: true,
    });
    expect(defaultWorkers).toBeLessThanOrEqual(8);
    expect(defaultQueueSize(50)).toBe(5_000);
  });

  it.each<[keyof typeof fields, readonly number[], readonly number[]]>([
    ['workers', [1, 50], [0, 51, 1.5]],
    ['batchSize', [10, 1_000], [9, 1_001]],
    ['queueSize', [10, 1_000_000], [9]],
    ['rateLimitPerMinute', [1, 1_000_000], [0, -1]],
    ['rateLimitPerSecond', [1, 1_000_000], [0]],
  ])('accepts the bounds of %s and rejects values outside, naming the range', (name, valid, invalid) => {
    for (const value of valid) expect(fields[name].parse(value)).toEqual({ value });
    const problem = expect.stringMatching(/^must be a whole number from \d+ to \d+$/) as string;
    for (const value of invalid) expect(fields[name].parse(value)).toEqual({ problem });
  });

  it('requires a queue of ten per worker, and no more calls per second than per minute', () => {
    expect(rulesBetween({ workers: 8, queueSize: 80, rateLimitPerMinute: 5, rateLimitPerSecond: 5 })).toEqual(
      [],
    );
    expect(
      rulesBetween({ workers: 8, queueSize: 79, rateLimitPerMinute: 5, rateLimitPerSecond: 6 }),
    ).toMatchObject([
      { field: 'queueSize', problem: expect.stringContaining('must be at least 80') as string },
      { field: 'rateLimitPerSecond', problem: 'must not be above the 5 per minute' },
    ]);
  });

  it('skips rules between options when a value is missing', () => {
    expect(rulesBetween({ workers: 50 })).toEqual([]);
    expect(rulesBetween({})).toEqual([]);
  });
});
