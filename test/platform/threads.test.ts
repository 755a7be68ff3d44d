// Threads for work that may not end: the effect on the process.
import { availableParallelism } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { ThreadPool } from '../../src/platform/threads/thread-pool.ts';
import type { ThreadPoolOptions } from '../../src/platform/threads/thread-pool.ts';
import type { OddFunctions } from '../support/odd-thread.ts';

function pool(options: Partial<ThreadPoolOptions> = {}): ThreadPool<OddFunctions> {
  const made = new ThreadPool<OddFunctions>({
    entry: new URL('../support/odd-thread.ts', import.meta.url),
    clock: systemClock,
    memoryMb: 200,
    ...options,
  });
  onTestFinished(() => made.close());
  return made;
}

const minute = { timeoutMs: 60_000 } as const;

describe('a pool of threads', () => {
  it('returns what the function returns, and rejects with what it throws', async () => {
    const threads = pool();
    expect(await threads.run('echo', { bytes: new Uint8Array([1]), text: 'é' }, minute)).toEqual({
      bytes: new Uint8Array([1]),
      text: 'é',
    });
    await expect(threads.run('throwing', 'no', minute)).rejects.toMatchObject({
      name: 'ThreadThrew',
      errorName: 'RangeError',
      message: 'no',
    });
    await expect(threads.run('unclonable', undefined, minute)).rejects.toMatchObject({ name: 'ThreadThrew' });
    expect(await threads.run('echo', 'still there', minute)).toBe('still there');
  });

  it('reuses a thread while it is healthy, without an environment', async () => {
    const threads = pool({ size: 1 });
    for (const call of [1, 2, 3]) expect(await threads.run('count', undefined, minute)).toBe(call);
    expect(await threads.run('environment', undefined, minute)).toBe(0);
    expect(threads.threads).toBe(1);
  });

  it('starts no more threads than allowed, and serves waiting calls in order', async () => {
    const threads = pool({ size: 64 });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => threads.run('echo', index, minute)),
    );
    expect(results).toEqual(Array.from({ length: 20 }, (_, index) => index));
    expect(threads.threads).toBeLessThanOrEqual(Math.max(2, availableParallelism()));
  });

  it('leaves a thread to other groups, however much work one of them has (B3)', async () => {
    const threads = pool({ size: 2 });
    const stop = new AbortController();
    const held = Array.from({ length: 3 }, () =>
      threads.run('spin', undefined, { ...minute, signal: stop.signal, group: 'a' }),
    );
    expect(await threads.run('echo', 1, { ...minute, group: 'b' })).toBe(1);
    stop.abort();
    for (const { status } of await Promise.allSettled(held)) expect(status).toBe('rejected');
    expect(await threads.run('echo', 2, { ...minute, group: 'a' })).toBe(2);
  });

  it('serves waiting groups in turn (B3)', async () => {
    const threads = pool({ size: 1 });
    const served: unknown[] = [];
    const run = async (group: string) => served.push(await threads.run('echo', group, { ...minute, group }));
    await Promise.all(['first', 'a', 'a', 'a', 'b', 'c', 'b'].map(run));
    expect(served).toEqual(['first', 'a', 'b', 'c', 'a', 'b', 'a']);
  });

  it.each(['spin', 'backtrack'] as const)(
    'terminates a function that does not end (%s) without blocking the event loop',
    async (name) => {
      const threads = pool({ size: 1 });
      await threads.run('echo', 0, minute);
      let ticks = 0;
      const ticking = setInterval(() => (ticks += 1), 10);
      const work = threads.run(name, undefined, { timeoutMs: 400 });
      await expect(work).rejects.toMatchObject({ name: 'ThreadStopped', reason: 'time' });
      clearInterval(ticking);
      expect(ticks).toBeGreaterThan(5);
      expect(await threads.run('count', undefined, minute)).toBe(1);
    },
  );

  it.each(['objects', 'buffers', 'arrays'] as const)(
    'ends a function that takes too much memory (%s), and nothing else',
    async (name) => {
      const threads = pool({ size: 1 });
      await expect(threads.run(name, undefined, minute)).rejects.toMatchObject({
        name: 'ThreadStopped',
        reason: 'memory',
      });
      expect(await threads.run('count', undefined, minute)).toBe(1);
    },
  );

  it('replaces a thread that ended by itself', async () => {
    const threads = pool({ size: 1 });
    await expect(threads.run('exit', undefined, minute)).rejects.toMatchObject({ reason: 'died' });
    expect(await threads.run('count', undefined, minute)).toBe(1);
  });

  it('stops with the signal: before it began, while it waits, while it runs', async () => {
    const threads = pool({ size: 1 });
    const gone = new Error('gone');
    await expect(threads.run('echo', 0, { ...minute, signal: AbortSignal.abort(gone) })).rejects.toBe(gone);
    expect(threads.threads).toBe(0);

    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = threads.run('spin', undefined, { ...minute, signal: running.signal });
    const second = threads.run('echo', 2, { ...minute, signal: waiting.signal });
    const third = threads.run('echo', 3, minute);
    waiting.abort(gone);
    await expect(second).rejects.toBe(gone);
    running.abort(gone);
    await expect(first).rejects.toBe(gone);
    expect(await third).toBe(3);
  });

  it('ends idle threads', async () => {
    const threads = pool({ size: 1, idleMs: 20 });
    await threads.run('echo', 0, minute);
    await expect.poll(() => threads.threads).toBe(0);
    expect(await threads.run('count', undefined, minute)).toBe(1);
  });

  it('rejects running, waiting and later calls when it is closed', async () => {
    const threads = pool({ size: 1 });
    const work = [threads.run('spin', undefined, minute), threads.run('echo', 1, minute)];
    const ended = Promise.allSettled(work);
    await threads.close();
    for (const result of await ended)
      expect(result).toMatchObject({ reason: { code: 'SHUTTING_DOWN', isRetryable: true } });
    await expect(threads.run('echo', 1, minute)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(threads.threads).toBe(0);
  });

  it('reports a pool error, not a task error, when a thread cannot start', async () => {
    const threads = pool({ entry: new URL('./there-is-no-such-module.ts', import.meta.url) });
    await expect(threads.run('echo', 1, minute)).rejects.toMatchObject({
      code: 'INTERNAL',
      isRetryable: true,
    });
  });
});
