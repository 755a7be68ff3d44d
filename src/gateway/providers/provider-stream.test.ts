// Time of a stream without pauses of its consumer.
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import { StreamTime } from './provider-stream.ts';

describe('StreamTime', () => {
  async function spent(steps: readonly (readonly [readerMs: number, providerMs: number])[]): Promise<number> {
    const clock = new VirtualClock();
    const speaking = new StreamTime(clock);
    for (const [readerMs, providerMs] of steps) {
      await clock.advance(readerMs);
      speaking.startRead();
      await clock.advance(providerMs);
      speaking.endRead();
    }
    return speaking.ms;
  }

  it.each([
    [
      'all of it, when the reader is quick',
      [
        [0, 300],
        [0, 200],
      ],
      500,
    ],
    [
      'not that of a reader who takes long while the next piece lies there',
      [
        [5_000, 0],
        [7_000, 0],
      ],
      0,
    ],
    ['all of it, when even a slow reader has to wait', [[5_000, 100]], 5_100],
    [
      'not that of the reader, when a busy machine takes a moment to hand over what lay there',
      [[5_000, 20]],
      20,
    ],
    [
      'what came after a slow reader had caught up',
      [
        [5_000, 0],
        [0, 400],
        [3_000, 0],
      ],
      400,
    ],
    [
      'all of it, when many pieces come in a millisecond',
      [
        [0.25, 0.25],
        [0.25, 0.25],
      ],
      1,
    ],
  ] as const)('is %s', async (_what, steps, ms) => {
    expect(await spent(steps)).toBe(ms);
  });

  it('ends at the last chunk; msSoFar continues during a read and pauses while the consumer processes', async () => {
    const clock = new VirtualClock();
    const speaking = new StreamTime(clock);
    speaking.startRead();
    await clock.advance(250);
    expect([speaking.ms, speaking.msSoFar]).toEqual([0, 250]);
    speaking.endRead();
    await clock.advance(9_000);
    expect([speaking.ms, speaking.msSoFar]).toEqual([250, 250]);
  });
});
