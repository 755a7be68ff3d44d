// Counts the clients of this server: a server that a command started for itself stays until none is attached.
import { CoreError } from '../../core/index.ts';

export class Presence {
  #attached = 0;
  #isClosing = false;
  #idleListeners: (() => void)[] = [];

  get attached(): number {
    return this.#attached;
  }

  /** Counts one client until the returned function is called. Fails with SHUTTING_DOWN once the server is stopping. */
  attach(): () => void {
    if (this.#isClosing)
      throw new CoreError(
        'SHUTTING_DOWN',
        'This server is stopping and another one takes over. Try again in a moment.',
        { isRetryable: true, retryAfterMs: 100 },
      );
    this.#attached += 1;
    let isDetached = false;
    return () => {
      if (isDetached) return;
      isDetached = true;
      this.#attached -= 1;
      this.#closeIfIdle();
    };
  }

  /** Resolves as soon as no client is attached; from then on none can attach. */
  onIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleListeners.push(resolve);
      this.#closeIfIdle();
    });
  }

  /** Accepts no further client, even while others are attached. */
  close(): void {
    this.#isClosing = true;
    const listeners = this.#idleListeners;
    this.#idleListeners = [];
    for (const resolve of listeners) resolve();
  }

  #closeIfIdle(): void {
    if (this.#attached === 0 && this.#idleListeners.length > 0) this.close();
  }
}
