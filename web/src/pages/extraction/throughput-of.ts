// Rates between consecutive samples of a run.
import type { RunSamples } from '../../../../src/api/extraction.ts';

type Sample = RunSamples['samples'][number];

export interface RunThroughput {
  /** Milliseconds; one fewer than samples. */
  readonly times: readonly number[];
  readonly itemsPerSecond: readonly number[];
  readonly callsPerSecond: readonly number[];
  readonly multiplier: readonly number[];
  readonly rateLimitedCalls: readonly number[];
}

export function throughputOf(samples: readonly Sample[]): RunThroughput {
  const steps = samples.slice(1).map((sample, index) => {
    const before = samples[index] ?? sample;
    const at = Date.parse(sample.at);
    const seconds = Math.max(0.001, (at - Date.parse(before.at)) / 1_000);
    // A resumed run counts its calls from 0.
    const perSecond = (now: number, then: number): number => Math.max(0, now - then) / seconds;
    return {
      at,
      items: perSecond(sample.items, before.items),
      calls: perSecond(sample.calls, before.calls),
      multiplier: sample.multiplier,
      rateLimitedCalls: sample.rate_limited_calls,
    };
  });
  return {
    times: steps.map(({ at }) => at),
    itemsPerSecond: steps.map(({ items }) => items),
    callsPerSecond: steps.map(({ calls }) => calls),
    multiplier: steps.map(({ multiplier }) => multiplier),
    rateLimitedCalls: steps.map(({ rateLimitedCalls }) => rateLimitedCalls),
  };
}
