import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Semaphore } from './semaphore.ts';

describe('Semaphore', () => {
  it('lets in as many as there are places, the others in the order they came', async () => {
    const turns = new Semaphore(2);
    const entered: number[] = [];
    const leave = new Map<number, () => void>();
    const all = [1, 2, 3, 4].map(async (number) => {
      leave.set(number, await turns.acquire());
      entered.push(number);
    });
    await Promise.all(all.slice(0, 2));
    expect(entered).toEqual([1, 2]);
    leave.get(2)?.();
    await all[2];
    expect(entered).toEqual([1, 2, 3]);
    leave.get(1)?.();
    await all[3];
    expect(entered).toEqual([1, 2, 3, 4]);
  });

  it('gives a place back once, however often it is left', async () => {
    const turns = new Semaphore(1);
    const leave = await turns.acquire();
    leave();
    leave();
    await turns.acquire();
    let isIn = false;
    void turns.acquire().then(() => (isIn = true));
    await Promise.resolve();
    expect(isIn).toBe(false);
  });

  it('lets those who wait leave the line, with their reason', async () => {
    const turns = new Semaphore(1);
    const leave = await turns.acquire();
    const controller = new AbortController();
    const impatient = turns.acquire(controller.signal);
    const patient = turns.acquire();
    controller.abort(new Error('enough'));
    await expect(impatient).rejects.toThrow('enough');
    leave();
    await expect(patient).resolves.toBeTypeOf('function');
  });

  it('is idle when everybody has left, after any coming, waiting, leaving and giving up', async () => {
    const visit = fc.record({ staysFor: fc.nat(5), givesUpAfter: fc.option(fc.nat(5)) });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(visit, { maxLength: 30 }),
        async (size, visits) => {
          const turns = new Semaphore(size);
          let inside = 0;
          let most = 0;
          const steps = async (count: number) => {
            for (let step = 0; step < count; step++) await Promise.resolve();
          };
          const all = visits.map(async ({ staysFor, givesUpAfter }) => {
            const controller = new AbortController();
            if (givesUpAfter !== null)
              void steps(givesUpAfter).then(() => controller.abort(new Error('gave up')));
            const leave = await turns.acquire(controller.signal).catch(() => undefined);
            if (!leave) return;
            most = Math.max(most, ++inside);
            await steps(staysFor);
            inside--;
            leave();
          });
          await turns.onIdle();
          expect(inside).toBe(0);
          await Promise.all(all);
          expect(most).toBeLessThanOrEqual(size);
        },
      ),
    );
  });
});
