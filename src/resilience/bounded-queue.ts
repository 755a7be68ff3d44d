// A queue between producers and consumers, bounded in items and in bytes: a full queue makes the producer wait.
import { onAbort } from '../core/abort.ts';
import { CoreError } from '../core/errors.ts';
import { LinkedQueue } from './linked-queue.ts';

export interface BoundedQueueOptions {
  /** At most this many items wait. */
  readonly maxItems: number;
  /** At most this many bytes wait; one larger item is let in when nothing else waits. Default: no bound. */
  readonly maxBytes?: number;
}

interface Entry<T> {
  readonly item: T;
  readonly bytes: number;
}

interface Putter<T> extends Entry<T> {
  readonly admitted: () => void;
  readonly refused: (reason: unknown) => void;
}

interface Taker<T> {
  readonly taken: (result: IteratorResult<T, undefined>) => void;
  readonly refused: (reason: unknown) => void;
}

type State =
  | { readonly is: 'open' }
  | { readonly is: 'closed' }
  | { readonly is: 'aborted'; readonly reason: unknown };

/**
 * open ── close() ──► closed: puts are refused; what is in or already waiting to get in is still taken, then the end
 *   └──── abort() ──► aborted: everybody waiting, and everybody after, fails with the reason
 *
 * An empty queue has no waiting producers, and a queue with items has no waiting consumers.
 */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #maxItems: number;
  readonly #maxBytes: number;
  readonly #entries = new LinkedQueue<Entry<T>>();
  readonly #putters = new LinkedQueue<Putter<T>>();
  readonly #takers = new LinkedQueue<Taker<T>>();
  #bytes = 0;
  #state: State = { is: 'open' };

  /** Throws RangeError unless both bounds are above 0. */
  constructor({ maxItems, maxBytes = Number.POSITIVE_INFINITY }: BoundedQueueOptions) {
    if (!(Number.isInteger(maxItems) && maxItems > 0))
      throw new RangeError(`maxItems must be a whole number above 0, not ${maxItems}`);
    if (!(maxBytes > 0)) throw new RangeError(`maxBytes must be above 0, not ${maxBytes}`);
    this.#maxItems = maxItems;
    this.#maxBytes = maxBytes;
  }

  /** Items in the queue. */
  get length(): number {
    return this.#entries.length;
  }
  get bytes(): number {
    return this.#bytes;
  }
  get waitingPuts(): number {
    return this.#putters.length;
  }
  get waitingTakes(): number {
    return this.#takers.length;
  }

  /**
   * Resolves once the item is in the queue (or with a consumer): from then on it is taken exactly once, unless the
   * queue is aborted. Rejects, with the item not in, when the signal aborts first or the queue is closed (CONFLICT).
   */
  put(item: T, bytes = 0, signal?: AbortSignal): Promise<void> {
    if (!(bytes >= 0 && Number.isFinite(bytes)))
      return Promise.reject(new RangeError(`bytes must be 0 or more, not ${bytes}`));
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#state.is === 'aborted') return Promise.reject(this.#state.reason);
    if (this.#state.is === 'closed') return Promise.reject(closedError());
    const entry = { item, bytes };
    if (this.#putters.length === 0 && this.#fits(entry)) {
      this.#admit(entry);
      return Promise.resolve();
    }
    return this.#waitIn(this.#putters, signal, (resolve, refused) => ({
      ...entry,
      admitted: resolve,
      refused,
    }));
  }

  /**
   * The next item, or `done` when the queue is closed and empty. Rejects when the signal aborts first (nothing is
   * taken then) or the queue was aborted.
   */
  take(signal?: AbortSignal): Promise<IteratorResult<T, undefined>> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#state.is === 'aborted') return Promise.reject(this.#state.reason);
    const entry = this.#entries.shift();
    if (entry) {
      this.#bytes -= entry.bytes;
      this.#admitWaiting();
      return Promise.resolve({ done: false, value: entry.item });
    }
    if (this.#state.is === 'closed') return Promise.resolve({ done: true, value: undefined });
    return this.#waitIn(this.#takers, signal, (taken, refused) => ({ taken, refused }));
  }

  /** No more puts; what is in, and what already waits to get in, is still handed out. Safe to call twice. */
  close(): void {
    if (this.#state.is !== 'open') return;
    this.#state = { is: 'closed' };
    for (let taker = this.#takers.shift(); taker; taker = this.#takers.shift())
      taker.taken({ done: true, value: undefined });
  }

  /** Fails everybody with `reason`. Returns the items that were accepted but not taken, so that none is forgotten. */
  abort(reason: unknown): readonly T[] {
    if (this.#state.is === 'aborted') return [];
    this.#state = { is: 'aborted', reason };
    const left: T[] = [];
    for (let entry = this.#entries.shift(); entry; entry = this.#entries.shift()) left.push(entry.item);
    this.#bytes = 0;
    for (let putter = this.#putters.shift(); putter; putter = this.#putters.shift()) putter.refused(reason);
    for (let taker = this.#takers.shift(); taker; taker = this.#takers.shift()) taker.refused(reason);
    return left;
  }

  /** Takes until the end. Several loops may share one queue; leaving a loop early loses nothing. */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return { next: () => this.take() };
  }

  #fits({ bytes }: Entry<T>): boolean {
    if (this.#entries.length === 0) return true;
    return this.#entries.length < this.#maxItems && this.#bytes + bytes <= this.#maxBytes;
  }

  #admit(entry: Entry<T>): void {
    const taker = this.#takers.shift();
    if (taker) return taker.taken({ done: false, value: entry.item });
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
  }

  #admitWaiting(): void {
    for (let next = this.#putters.peek(); next && this.#fits(next); next = this.#putters.peek()) {
      this.#putters.shift();
      this.#admit({ item: next.item, bytes: next.bytes });
      next.admitted();
    }
  }

  /** Stands in `line` until called, refused or aborted; stepping out may let the next in line through. */
  #waitIn<R, W>(
    line: LinkedQueue<W>,
    signal: AbortSignal | undefined,
    enter: (resolve: (result: R) => void, refused: (reason: unknown) => void) => W,
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      let release: () => void = () => undefined;
      const settled =
        <A>(settle: (value: A) => void) =>
        (value: A) => {
          release();
          settle(value);
        };
      const node = line.push(enter(settled(resolve), settled(reject)));
      release = onAbort(signal, (reason) => {
        line.remove(node);
        reject(reason);
        this.#admitWaiting();
      });
    });
  }
}

function closedError(): CoreError {
  return new CoreError('CONFLICT', 'The queue is closed: nothing more can be put in. Put before close().');
}
