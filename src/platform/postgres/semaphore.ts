// A fair semaphore: a fixed number of permits and a queue that a waiter can leave.
import { onAbort } from '../../core/abort.ts';

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class Semaphore {
  #free: number;
  readonly #size: number;
  readonly #waiters = new Set<Waiter>();
  #idle: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
    this.#free = size;
  }

  /** Waits for a permit; rejects with the signal's reason when it aborts. Call the result to release the permit. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#release();
    };
  }

  /** Resolves when every permit is free. */
  async onIdle(): Promise<void> {
    if (this.#free === this.#size) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        resolve: () => {
          stopListening();
          resolve();
        },
        reject: (reason) => {
          this.#waiters.delete(waiter);
          reject(reason);
        },
      };
      this.#waiters.add(waiter);
      const stopListening = onAbort(signal, waiter.reject);
    });
  }

  #release(): void {
    const [next] = this.#waiters;
    if (next) {
      this.#waiters.delete(next);
      next.resolve();
      return;
    }
    this.#free++;
    if (this.#free < this.#size) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
