// Worker threads that die: which page is recorded as the cause, and which callers are notified.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RawPage } from '../../src/extraction/index.ts';
import { singlePage } from '../support/extraction/pages.ts';
import { WorkerPool } from '../../src/extraction/pipeline/worker-pool.ts';
import { WorkerDiedError } from '../../src/extraction/pipeline/worker-pool.ts';

async function threads(count: number): Promise<WorkerPool> {
  const entry = new URL('./page-threads-thread.ts', import.meta.url);
  const started = new WorkerPool(entry, {} as never, { count, onDeath: () => undefined });
  onTestFinished(() => started.terminate());
  await started.ready();
  return started;
}

const page = (text: string): RawPage => ({
  request: { ...singlePage('users'), key: text },
  bytes: Buffer.from(text),
  total: null,
  nextLink: null,
});

/** Each is assigned to a thread or queued before the next one arrives. */
async function give(
  to: WorkerPool,
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
  it('is reported with the page that it was processing, not with those assigned to it', async () => {
    const [at, behind] = reasons(await give(await threads(1), ['die', 'innocent']));
    expect(at).toBeInstanceOf(WorkerDiedError);
    expect(at).toMatchObject({ wasProcessing: true, thread: 'worker-1', message: 'It died of its page.' });
    expect(behind).toBeInstanceOf(WorkerDiedError);
    expect(behind).toMatchObject({ wasProcessing: false });
  });

  it('is replaced, and the waiting pages are processed', async () => {
    const pool = await threads(1);
    const settled = reasons(await give(pool, ['die', 'behind', 'waiting', 'too']));
    expect(settled.slice(2)).toMatchObject([{ message: 'waiting' }, { message: 'too' }]);
    expect(pool.alive).toBe(1);
  });

  it('does not stop other threads from processing the waiting pages', async () => {
    const pool = await threads(2);
    const texts = ['die', 'one', 'two', 'three', 'four', 'five'];
    const settled = reasons(await give(pool, texts));
    expect(settled[0]).toMatchObject({ wasProcessing: true });
    const answered = settled.filter((one) => !(one instanceof WorkerDiedError));
    expect(answered.length).toBeGreaterThanOrEqual(4);
  });

  it('of every page is replaced ten times: then waiting pages fail', async () => {
    const pool = await threads(1);
    // One page with a thread and one behind it per death.
    const settled = reasons(
      await give(
        pool,
        Array.from({ length: 24 }, () => 'die'),
      ),
    );
    const noneLeft = {
      code: 'INTERNAL',
      message: expect.stringMatching(/^Every worker thread died, .*It died of its page/),
    };
    expect(settled.slice(20)).toMatchObject([noneLeft, noneLeft, noneLeft, noneLeft]);
    expect(pool.alive).toBe(0);
    await expect(pool.process('session', page('later'))).rejects.toMatchObject(noneLeft);
  });

  it('when it starts is not replaced', async () => {
    const pool = new WorkerPool(new URL('data:text/javascript,throw new Error("No start.")'), {} as never, {
      count: 2,
      onDeath: () => undefined,
    });
    await expect(pool.ready()).rejects.toMatchObject({ message: expect.stringContaining('No start.') });
  });
});
