// Worker threads that die: who is blamed, and who is told.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FetchedPage } from '../../src/extraction/index.ts';
import { PageThreads } from '../../src/extraction/index.ts';
import { ThreadDied } from '../../src/extraction/pipeline/page-threads.ts';

async function threads(count: number): Promise<PageThreads> {
  const entry = new URL('./page-threads-thread.ts', import.meta.url);
  const started = new PageThreads(entry, {} as never, { count, onDeath: () => undefined });
  onTestFinished(() => started.terminate());
  await started.ready();
  return started;
}

const page = (text: string): FetchedPage => ({
  request: { type: 'users', key: text, kind: 'whole' },
  bytes: Buffer.from(text),
  total: null,
  nextLink: null,
});

/** Each has its place with a thread, or in the row, before the next one comes. */
async function give(
  to: PageThreads,
  texts: readonly string[],
): Promise<readonly PromiseSettledResult<unknown>[]> {
  const given: Promise<unknown>[] = [];
  for (const text of texts) {
    given.push(to.process('session', page(text)));
    await Promise.resolve();
    await Promise.resolve();
  }
  return Promise.allSettled(given);
}

const reasons = (settled: readonly PromiseSettledResult<unknown>[]): readonly unknown[] =>
  settled.map((one) => (one.status === 'rejected' ? one.reason : one.value));

describe('a worker thread that dies', () => {
  it('is told to have died of the page that it was at, not of those that waited for it', async () => {
    const [at, behind] = reasons(await give(await threads(1), ['die', 'innocent']));
    expect(at).toBeInstanceOf(ThreadDied);
    expect(at).toMatchObject({ wasAtIt: true, thread: 'worker-1', message: 'It died of its page.' });
    expect(behind).toBeInstanceOf(ThreadDied);
    expect(behind).toMatchObject({ wasAtIt: false });
  });

  it('lets nobody wait for ever when it was the last', async () => {
    const pool = await threads(1);
    const settled = reasons(await give(pool, ['die', 'behind', 'in the row', 'too']));
    const noneLeft = {
      code: 'INTERNAL',
      message: expect.stringMatching(/^Every worker thread died, .*It died of its page/),
    };
    expect(settled.slice(2)).toMatchObject([noneLeft, noneLeft]);
    expect(pool.alive).toBe(0);
    await expect(pool.process('session', page('later'))).rejects.toMatchObject(noneLeft);
  });

  it('leaves the others to those who wait', async () => {
    const pool = await threads(2);
    const texts = ['die', 'one', 'two', 'three', 'four', 'five'];
    const settled = reasons(await give(pool, texts));
    expect(settled[0]).toMatchObject({ wasAtIt: true });
    const answered = settled.filter((one) => !(one instanceof ThreadDied));
    expect(answered.length).toBeGreaterThanOrEqual(4);
    expect(pool.alive).toBe(1);
  });
});
