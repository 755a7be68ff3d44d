// The queue against a model: bounded, ordered, nothing lost or duplicated, also with aborts.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedQueue } from './bounded-queue.ts';

/** Settles every promise that can settle. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const counts = <T>(queue: BoundedQueue<T>) => ({
  items: queue.length,
  bytes: queue.bytes,
  puts: queue.waitingPuts,
  takes: queue.waitingTakes,
});

describe('a bounded queue', () => {
  it('hands items over in order', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 3 });
    for (const item of [1, 2, 3]) await queue.put(item);
    expect(counts(queue)).toEqual({ items: 3, bytes: 0, puts: 0, takes: 0 });
    expect(await queue.take()).toEqual({ done: false, value: 1 });
    expect(await queue.take()).toEqual({ done: false, value: 2 });
    expect(counts(queue)).toEqual({ items: 1, bytes: 0, puts: 0, takes: 0 });
  });

  it('makes producers wait when it is full in items', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 1 });
    await queue.put(1);
    const waiting = queue.put(2);
    expect(counts(queue)).toEqual({ items: 1, bytes: 0, puts: 1, takes: 0 });
    await queue.take();
    await waiting;
    expect(counts(queue)).toEqual({ items: 1, bytes: 0, puts: 0, takes: 0 });
  });

  it('makes producers wait when it is full in bytes, and keeps a small item behind a large one', async () => {
    const queue = new BoundedQueue<string>({ maxItems: 10, maxBytes: 100 });
    await queue.put('a', 60);
    const large = queue.put('b', 60);
    const small = queue.put('c', 10);
    expect(counts(queue)).toEqual({ items: 1, bytes: 60, puts: 2, takes: 0 });
    await queue.take();
    await Promise.all([large, small]);
    expect(counts(queue)).toEqual({ items: 2, bytes: 70, puts: 0, takes: 0 });
  });

  it('accepts one oversize item when it is empty', async () => {
    const queue = new BoundedQueue<string>({ maxItems: 10, maxBytes: 100 });
    await queue.put('huge', 1_000);
    const next = queue.put('next', 1);
    expect(counts(queue)).toEqual({ items: 1, bytes: 1_000, puts: 1, takes: 0 });
    await queue.take();
    await next;
    expect(counts(queue)).toEqual({ items: 1, bytes: 1, puts: 0, takes: 0 });
  });

  it('hands an item straight to a waiting consumer', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 1 });
    const taken = [queue.take(), queue.take()];
    expect(counts(queue).takes).toBe(2);
    await queue.put(1);
    await queue.put(2);
    expect(counts(queue)).toEqual({ items: 0, bytes: 0, puts: 0, takes: 0 });
    expect(await Promise.all(taken)).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
    ]);
  });

  it('drains after close, waiting producers included, and then ends', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 1 });
    await queue.put(1);
    const waiting = queue.put(2);
    queue.close();
    await expect(queue.put(3)).rejects.toMatchObject({ code: 'CONFLICT' });
    const seen: number[] = [];
    for await (const item of queue) seen.push(item);
    await waiting;
    expect(seen).toEqual([1, 2]);
    expect(await queue.take()).toEqual({ done: true, value: undefined });
  });

  it('ends waiting consumers on close', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 1 });
    const waiting = queue.take();
    queue.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it('fails every waiting call on abort and returns the accepted items', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 2 });
    await queue.put(1);
    await queue.put(2);
    const waiting = queue.put(3);
    const reason = new Error('stop');
    expect(queue.abort(reason)).toEqual([1, 2]);
    await expect(waiting).rejects.toBe(reason);
    await expect(queue.take()).rejects.toBe(reason);
    await expect(queue.put(4)).rejects.toBe(reason);
    expect(counts(queue)).toEqual({ items: 0, bytes: 0, puts: 0, takes: 0 });
    expect(queue.abort(new Error('again'))).toEqual([]);
  });

  it('leaves no trace of a put or take that was aborted before it began', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 2 });
    await expect(queue.put(1, 0, AbortSignal.abort('no'))).rejects.toBe('no');
    await expect(queue.take(AbortSignal.abort('no'))).rejects.toBe('no');
    expect(counts(queue)).toEqual({ items: 0, bytes: 0, puts: 0, takes: 0 });
  });

  it('admits the puts behind an aborted large one at once', async () => {
    const queue = new BoundedQueue<string>({ maxItems: 10, maxBytes: 100 });
    await queue.put('a', 60);
    const leaving = new AbortController();
    const large = queue.put('b', 60, leaving.signal);
    const small = queue.put('c', 10);
    leaving.abort('left');
    await expect(large).rejects.toBe('left');
    await small;
    expect(counts(queue)).toEqual({ items: 2, bytes: 70, puts: 0, takes: 0 });
  });

  it('loses nothing when a consumer leaves a loop early', async () => {
    const queue = new BoundedQueue<number>({ maxItems: 5 });
    for (const item of [1, 2, 3]) await queue.put(item);
    for await (const item of queue) if (item === 1) break;
    expect(await queue.take()).toEqual({ done: false, value: 2 });
  });

  it.each([
    [{ maxItems: 0 }, 'maxItems must be a whole number above 0, not 0'],
    [{ maxItems: 1, maxBytes: 0 }, 'maxBytes must be above 0, not 0'],
  ])('rejects %j', (options, message) => {
    expect(() => new BoundedQueue(options)).toThrow(new RangeError(message));
  });

  it('rejects invalid sizes', async () => {
    const queue = new BoundedQueue({ maxItems: 1 });
    await expect(queue.put(1, -1)).rejects.toThrow(RangeError);
    await expect(queue.put(1, Number.NaN)).rejects.toThrow(RangeError);
  });
});

/** A simple and slow implementation of the same rules. */
class Model {
  items: { id: number; bytes: number }[] = [];
  puts: { id: number; bytes: number }[] = [];
  takes: number[] = [];
  accepted: number[] = [];
  delivered: [take: number, item: number][] = [];
  readonly maxItems: number;
  readonly maxBytes: number;

  constructor(maxItems: number, maxBytes: number) {
    this.maxItems = maxItems;
    this.maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.items.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  settle(): void {
    for (;;) {
      const [put] = this.puts;
      const [take] = this.takes;
      const [item] = this.items;
      const hasRoom =
        put &&
        (this.items.length === 0 ||
          (this.items.length < this.maxItems && this.bytes + put.bytes <= this.maxBytes));
      if (take !== undefined && item) {
        this.takes.shift();
        this.items.shift();
        this.delivered.push([take, item.id]);
      } else if (hasRoom) {
        this.puts.shift();
        this.items.push(put);
        this.accepted.push(put.id);
      } else return;
    }
  }
}

describe('any sequence of puts, takes and aborts', () => {
  it('agrees with the model after every step', async () => {
    // More puts than takes in one half of the runs, and the reverse in the other: both queues get long.
    const step = (puts: number, takes: number) =>
      fc.oneof(
        {
          weight: puts,
          arbitrary: fc.record({ do: fc.constant('put' as const), bytes: fc.integer({ min: 0, max: 40 }) }),
        },
        { weight: takes, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('abort put' as const), nth: fc.nat(2) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('abort take' as const), nth: fc.nat(2) }) },
      );
    const steps = fc.oneof(
      fc.array(step(5, 2), { minLength: 10, maxLength: 60 }),
      fc.array(step(2, 5), { minLength: 10, maxLength: 60 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 60 }),
        steps,
        fc.boolean(),
        async (maxItems, maxBytes, steps, endsByAbort) => {
          const queue = new BoundedQueue<number>({ maxItems, maxBytes });
          const model = new Model(maxItems, maxBytes);
          const signals = new Map<string, AbortController>();
          const accepted: number[] = [];
          const delivered: [number, number][] = [];
          let next = 0;
          for (const action of steps) {
            const id = next++;
            const controller = new AbortController();
            if (action.do === 'put') {
              signals.set(`put ${id}`, controller);
              queue.put(id, action.bytes, controller.signal).then(
                () => accepted.push(id),
                () => undefined,
              );
              model.puts.push({ id, bytes: action.bytes });
            } else if (action.do === 'take') {
              signals.set(`take ${id}`, controller);
              queue.take(controller.signal).then(
                (result) => !result.done && delivered.push([id, result.value]),
                () => undefined,
              );
              model.takes.push(id);
            } else if (action.do === 'abort put') {
              const [gone] = model.puts.splice(action.nth, 1);
              if (gone) signals.get(`put ${gone.id}`)?.abort('left');
            } else {
              const [gone] = model.takes.splice(action.nth, 1);
              if (gone !== undefined) signals.get(`take ${gone}`)?.abort('left');
            }
            model.settle();
            await settle();
            expect(counts(queue)).toEqual({
              items: model.items.length,
              bytes: model.bytes,
              puts: model.puts.length,
              takes: model.takes.length,
            });
            expect(queue.length).toBeLessThanOrEqual(maxItems);
            expect(queue.bytes <= maxBytes || queue.length === 1).toBe(true);
            expect([...accepted].sort((a, b) => a - b)).toEqual([...model.accepted].sort((a, b) => a - b));
            expect(delivered).toEqual(model.delivered);
          }
          // An abort after the end has no effect.
          for (const controller of signals.values()) if (endsByAbort) controller.abort('late');
          await settle();
          const rest = endsByAbort ? queue.abort('over') : [];
          if (!endsByAbort) queue.close();
          const drained: number[] = [];
          if (!endsByAbort) for await (const item of queue) drained.push(item);
          const out = [...delivered.map(([, item]) => item), ...drained, ...rest];
          expect(out).toEqual([...accepted].sort((a, b) => a - b));
        },
      ),
      { numRuns: 200 },
    );
  });
});
