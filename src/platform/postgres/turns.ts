// First come, first served: a fixed number of places, and a line in front of them that one can leave.
import { onAbort } from '../../core/abort.ts';

interface Waiter {
  readonly enter: () => void;
  readonly refuse: (reason: unknown) => void;
}

export class Turns {
  #free: number;
  readonly #size: number;
  readonly #line = new Set<Waiter>();
  #idle: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
    this.#free = size;
  }

  /** Waits for a place; rejects with the signal's reason as soon as it aborts. Call the result once to leave. */
  async take(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#leave();
    };
  }

  /** Resolves when every place is free and nobody waits. */
  async whenIdle(): Promise<void> {
    if (this.#free === this.#size) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        enter: () => {
          stopListening();
          resolve();
        },
        refuse: (reason) => {
          this.#line.delete(waiter);
          reject(reason);
        },
      };
      this.#line.add(waiter);
      const stopListening = onAbort(signal, waiter.refuse);
    });
  }

  #leave(): void {
    const [next] = this.#line;
    if (next) {
      this.#line.delete(next);
      next.enter();
      return;
    }
    this.#free++;
    if (this.#free < this.#size) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
