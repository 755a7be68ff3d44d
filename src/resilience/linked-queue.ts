// A first-in-first-out line out of whose middle anyone can step in constant time.

export interface QueueNode<T> {
  readonly value: T;
}

interface Link<T> extends QueueNode<T> {
  previous: Link<T> | undefined;
  next: Link<T> | undefined;
  isQueued: boolean;
}

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

  /** Appends; keep the node to be able to remove it. */
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

  /** Takes a node out wherever it stands; one that has left already stays out. */
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
