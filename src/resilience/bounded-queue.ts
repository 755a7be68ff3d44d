// A queue between producers and consumers, bounded in items and bytes: producers wait while it is full.
import { onAbort } from '../core/abort.ts';
import { CoreError } from '../core/errors.ts';

export interface BoundedQueueOptions {
  /** Most items in the queue. */
  readonly maxItems: number;
  /** Most bytes in the queue; a larger item is accepted when the queue is empty. Default: no limit. */
  readonly maxBytes?: number;
}

interface Entry<T> {
  readonly item: T;
  readonly bytes: number;
}

interface Producer<T> extends Entry<T> {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

interface Consumer<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

type State =
  | { readonly is: 'open' }
  | { readonly is: 'closed' }
  | { readonly is: 'aborted'; readonly reason: unknown };

/**
 * open ── close() ──► closed: puts are rejected; items in the queue and of waiting puts are still taken, then the end
 *   └──── abort() ──► aborted: every waiting and every later call fails with the reason
 *
 * An empty queue has no waiting producers, and a queue with items has no waiting consumers.
 *
 * @example
 * const queue = new BoundedQueue<string>({ maxItems: 100, maxBytes: 1_000_000 });
 * await queue.put('page', 4); // waits while the queue is full
 * queue.close();
 * for await (const page of queue) console.log(page);
 */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #maxItems: number;
  readonly #maxBytes: number;
  readonly #entries = new LinkedQueue<Entry<T>>();
  readonly #producers = new LinkedQueue<Producer<T>>();
  readonly #consumers = new LinkedQueue<Consumer<T>>();
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
    return this.#producers.length;
  }
  get waitingTakes(): number {
    return this.#consumers.length;
  }

  /**
   * Resolves once the item is in the queue (or with a consumer): it is then taken exactly once, unless the queue is
   * aborted. Rejects, without adding the item, when the signal aborts first or the queue is closed (CONFLICT).
   */
  put(item: T, bytes = 0, signal?: AbortSignal): Promise<void> {
    if (!(bytes >= 0 && Number.isFinite(bytes)))
      return Promise.reject(new RangeError(`bytes must be 0 or more, not ${bytes}`));
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#state.is === 'aborted') return Promise.reject(this.#state.reason);
    if (this.#state.is === 'closed') return Promise.reject(closedError());
    const entry = { item, bytes };
    if (this.#producers.length === 0 && this.#fits(entry)) {
      this.#accept(entry);
      return Promise.resolve();
    }
    return this.#waitIn(this.#producers, signal, (resolve, reject) => ({
      ...entry,
      resolve,
      reject,
    }));
  }

  /**
   * The next item, or `done` when the queue is closed and empty. Rejects when the signal aborts first (no item is
   * taken then) or the queue was aborted.
   */
  take(signal?: AbortSignal): Promise<IteratorResult<T, undefined>> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#state.is === 'aborted') return Promise.reject(this.#state.reason);
    const entry = this.#entries.shift();
    if (entry) {
      this.#bytes -= entry.bytes;
      this.#acceptWaiting();
      return Promise.resolve({ done: false, value: entry.item });
    }
    if (this.#state.is === 'closed') return Promise.resolve({ done: true, value: undefined });
    return this.#waitIn(this.#consumers, signal, (resolve, reject) => ({ resolve, reject }));
  }

  /** Rejects further puts; items in the queue and of waiting puts are still delivered. Idempotent. */
  close(): void {
    if (this.#state.is !== 'open') return;
    this.#state = { is: 'closed' };
    for (let consumer = this.#consumers.shift(); consumer; consumer = this.#consumers.shift())
      consumer.resolve({ done: true, value: undefined });
  }

  /** Fails every waiting call with `reason`. Returns the items that were accepted but not taken. */
  abort(reason: unknown): readonly T[] {
    if (this.#state.is === 'aborted') return [];
    this.#state = { is: 'aborted', reason };
    const left: T[] = [];
    for (let entry = this.#entries.shift(); entry; entry = this.#entries.shift()) left.push(entry.item);
    this.#bytes = 0;
    for (let producer = this.#producers.shift(); producer; producer = this.#producers.shift())
      producer.reject(reason);
    for (let consumer = this.#consumers.shift(); consumer; consumer = this.#consumers.shift())
      consumer.reject(reason);
    return left;
  }

  /** Takes until the end. Several loops may share one queue; breaking out of a loop loses no item. */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return { next: () => this.take() };
  }

  #fits({ bytes }: Entry<T>): boolean {
    if (this.#entries.length === 0) return true;
    return this.#entries.length < this.#maxItems && this.#bytes + bytes <= this.#maxBytes;
  }

  #accept(entry: Entry<T>): void {
    const consumer = this.#consumers.shift();
    if (consumer) return consumer.resolve({ done: false, value: entry.item });
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
  }

  #acceptWaiting(): void {
    for (let next = this.#producers.peek(); next && this.#fits(next); next = this.#producers.peek()) {
      this.#producers.shift();
      this.#accept({ item: next.item, bytes: next.bytes });
      next.resolve();
    }
  }

  /** Waits in `line` until served, rejected or aborted; an abort may unblock the next in line. */
  #waitIn<R, W>(
    line: LinkedQueue<W>,
    signal: AbortSignal | undefined,
    enqueue: (resolve: (result: R) => void, reject: (reason: unknown) => void) => W,
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      let release: () => void = () => undefined;
      const settled =
        <A>(settle: (value: A) => void) =>
        (value: A) => {
          release();
          settle(value);
        };
      const node = line.push(enqueue(settled(resolve), settled(reject)));
      release = onAbort(signal, (reason) => {
        line.remove(node);
        reject(reason);
        this.#acceptWaiting();
      });
    });
  }
}

function closedError(): CoreError {
  return new CoreError(
    'CONFLICT',
    'The queue is closed and accepts no more items. Call put() before close().',
  );
}

export interface QueueNode<T> {
  readonly value: T;
}

interface Link<T> extends QueueNode<T> {
  previous: Link<T> | undefined;
  next: Link<T> | undefined;
  isQueued: boolean;
}

/** A FIFO queue with removal from any position in constant time. */
export class LinkedQueue<T> {
  #head: Link<T> | undefined;
  #tail: Link<T> | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The value at the front, or undefined when empty. */
  peek(): T | undefined {
    return this.#head?.value;
  }

  /** Appends; the returned node can be passed to `remove`. */
  push(value: T): QueueNode<T> {
    const link: Link<T> = { value, previous: this.#tail, next: undefined, isQueued: true };
    if (this.#tail) this.#tail.next = link;
    else this.#head = link;
    this.#tail = link;
    this.#length++;
    return link;
  }

  /** Takes the front value, or undefined when empty. */
  shift(): T | undefined {
    const head = this.#head;
    if (head) this.remove(head);
    return head?.value;
  }

  /** Removes a node from any position; does nothing when it was removed before. */
  remove(node: QueueNode<T>): void {
    const link = node as Link<T>;
    if (!link.isQueued) return;
    link.isQueued = false;
    if (link.previous) link.previous.next = link.next;
    else this.#head = link.next;
    if (link.next) link.next.previous = link.previous;
    else this.#tail = link.previous;
    link.previous = link.next = undefined;
    this.#length--;
  }
}
