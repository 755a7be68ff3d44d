// The write-behind loop: no buffered row is lost, and reads can pause it.
import { describe, expect, it } from 'vitest';
import { stateWorld } from '../../test/support/gateway/state-world.ts';
import { WriteBehind } from './store-sync.ts';

function setUp() {
  const { clock, parts } = stateWorld();
  const waiting: string[] = [];
  const written: string[] = [];
  const source = {
    delayMs: 10,
    onFailure: () => undefined,
    waiting: () => waiting.length,
    write: async () => {
      const item = waiting.shift();
      await clock.sleep(5);
      if (item !== undefined) written.push(item);
    },
  };
  return { clock, parts, waiting, written, source };
}

describe('WriteBehind', () => {
  it('writes what arrives between its last check and its end', async () => {
    const { clock, parts, waiting, written, source } = setUp();
    let isLate = true;
    const loop = new WriteBehind(parts, {
      ...source,
      waiting: () => {
        if (waiting.length === 0 && isLate) {
          isLate = false;
          queueMicrotask(() => {
            waiting.push('late');
            loop.wake();
          });
        }
        return waiting.length;
      },
    });
    waiting.push('first');
    loop.wake();
    await clock.advance(100);
    expect(written).toEqual(['first', 'late']);
  });

  it('writes everything before a paused read and nothing during it', async () => {
    const { clock, parts, waiting, written, source } = setUp();
    const loop = new WriteBehind(parts, source);
    waiting.push('a');
    const read = loop.withWritesPaused(async () => {
      waiting.push('b');
      loop.wake();
      const before = [...written];
      await clock.sleep(50);
      return [before, [...written], [...waiting]];
    });
    await clock.advance(60);
    expect(await read).toEqual([['a'], ['a'], ['b']]);
    await clock.advance(60);
    expect(written).toEqual(['a', 'b']);
  });

  it('collects again when little waits, and writes everything on flush', async () => {
    const { clock, parts, waiting, written, source } = setUp();
    const loop = new WriteBehind(parts, { ...source, batchSize: () => 2 });
    waiting.push('a', 'b', 'c', 'd');
    loop.wake();
    // 10 ms to collect, 5 ms per write: the first three at once, the last one collects again.
    await clock.advance(26);
    expect(written).toEqual(['a', 'b', 'c']);
    await clock.advance(15);
    expect(written).toEqual(['a', 'b', 'c', 'd']);
    waiting.push('e', 'f', 'g');
    expect(await clock.run(loop.flush())).toBe(true);
    expect(written).toHaveLength(7);
  });
});
