import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { Pacer } from './rate-limiter.ts';

async function turns(perSecond: number, count: number): Promise<readonly number[]> {
  const clock = new VirtualClock();
  const pacer = new Pacer(perSecond, clock);
  const at: number[] = [];
  const { signal } = new AbortController();
  const all = Array.from({ length: count }, async () => {
    await pacer.wait(signal);
    at.push(clock.monotonic());
  });
  await clock.run(Promise.all(all));
  return at;
}

describe('a pacer', () => {
  it('spreads the calls of a second over most of it', async () => {
    expect(await turns(10, 5)).toEqual([0, 80, 160, 240, 320]);
  });

  it('delays no call when the limit is high', async () => {
    expect(await turns(1_000, 3)).toEqual([0, 0, 0]);
  });

  it('releases callers that are interrupted', async () => {
    const pacer = new Pacer(1, new VirtualClock());
    const stop = new AbortController();
    await pacer.wait(stop.signal);
    const second = pacer.wait(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(second).rejects.toThrow('stopped');
  });
});
