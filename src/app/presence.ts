// Who still needs this server: a server that a command started for itself stays until nobody is attached.
import { CoreError } from '../core/index.ts';

export class Presence {
  #attached = 0;
  #closing = false;
  #alone: (() => void)[] = [];

  get attached(): number {
    return this.#attached;
  }

  /** Counts one more until the returned function is called. Refused once the server has decided to stop. */
  attach(): () => void {
    if (this.#closing)
      throw new CoreError(
        'SHUTTING_DOWN',
        'This server is stopping; another one takes over. Ask again in a moment.',
        {
          isRetryable: true,
          retryAfterMs: 100,
        },
      );
    this.#attached += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#attached -= 1;
      this.#settle();
    };
  }

  /** Resolves as soon as nobody is attached; from then on nobody can attach any more. */
  whenAlone(): Promise<void> {
    return new Promise((resolve) => {
      this.#alone.push(resolve);
      this.#settle();
    });
  }

  /** Nobody can attach from now on, whoever still is. */
  close(): void {
    this.#closing = true;
    this.#release();
  }

  #settle(): void {
    if (this.#attached > 0 || this.#alone.length === 0) return;
    this.#closing = true;
    this.#release();
  }

  #release(): void {
    const waiting = this.#alone;
    this.#alone = [];
    for (const resolve of waiting) resolve();
  }
}
