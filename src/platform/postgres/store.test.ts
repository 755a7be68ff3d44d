import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/errors.ts';
import type { Session } from './store.ts';
import { Semaphore, TransactionLease } from './store.ts';
import { sql } from './sql.ts';

describe('Semaphore', () => {
  it('admits as many as it has permits, and the others in order of arrival', async () => {
    const permits = new Semaphore(2);
    const entered: number[] = [];
    const release = new Map<number, () => void>();
    const all = [1, 2, 3, 4].map(async (number) => {
      release.set(number, await permits.acquire());
      entered.push(number);
    });
    await Promise.all(all.slice(0, 2));
    expect(entered).toEqual([1, 2]);
    release.get(2)?.();
    await all[2];
    expect(entered).toEqual([1, 2, 3]);
    release.get(1)?.();
    await all[3];
    expect(entered).toEqual([1, 2, 3, 4]);
  });

  it('releases a permit once, however often release is called', async () => {
    const permits = new Semaphore(1);
    const release = await permits.acquire();
    release();
    release();
    await permits.acquire();
    let isIn = false;
    void permits.acquire().then(() => (isIn = true));
    await Promise.resolve();
    expect(isIn).toBe(false);
  });

  it('rejects a waiter whose signal aborts, with its reason', async () => {
    const permits = new Semaphore(1);
    const release = await permits.acquire();
    const controller = new AbortController();
    const aborted = permits.acquire(controller.signal);
    const waiting = permits.acquire();
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    release();
    await expect(waiting).resolves.toBeTypeOf('function');
  });

  it('is idle after any sequence of acquiring, waiting, releasing and aborting', async () => {
    const visit = fc.record({ staysFor: fc.nat(5), givesUpAfter: fc.option(fc.nat(5)) });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(visit, { maxLength: 30 }),
        async (size, visits) => {
          const permits = new Semaphore(size);
          let inside = 0;
          let max = 0;
          const steps = async (count: number) => {
            for (let step = 0; step < count; step++) await Promise.resolve();
          };
          const all = visits.map(async ({ staysFor, givesUpAfter }) => {
            const controller = new AbortController();
            if (givesUpAfter !== null)
              void steps(givesUpAfter).then(() => controller.abort(new Error('gave up')));
            const release = await permits.acquire(controller.signal).catch(() => undefined);
            if (!release) return;
            max = Math.max(max, ++inside);
            await steps(staysFor);
            inside--;
            release();
          });
          await permits.onIdle();
          expect(inside).toBe(0);
          await Promise.all(all);
          expect(max).toBeLessThanOrEqual(size);
        },
      ),
    );
  });
});

describe('TransactionLease', () => {
  const sessionThat = (after: Pick<Session, 'isInTransaction' | 'lostBy'>): Session => ({
    run: async () => ({ rows: [], affected: 0, tag: 'SELECT' }),
    cancel: async () => undefined,
    release: async () => undefined,
    ...after,
  });

  it('reports a connection that was lost right after a reply as unavailable, which can be retried', async () => {
    const lostBy = new CoreError('STATE_UNAVAILABLE', 'restarting', { isRetryable: true });
    const lease = new TransactionLease(sessionThat({ isInTransaction: false, lostBy }));
    await expect(lease.query(sql`select 1`)).rejects.toBe(lostBy);
  });

  it('reports a script that ended its transaction', async () => {
    const lease = new TransactionLease(sessionThat({ isInTransaction: false, lostBy: undefined }));
    await expect(lease.script('commit')).rejects.toMatchObject({ code: 'INTERNAL' });
  });
});
