// Watches over a body while it arrives: all of it in time, and never a trickle. A slot is held meanwhile.
import type { Clock } from '../../core/index.ts';
import { DeploymentError } from '../../tenancy/index.ts';
import type { UploadLimits } from '../../tenancy/index.ts';

const windowMs = 5_000;
/** After a stall of our own, what has arrived meanwhile is counted before anybody is blamed. */
const secondLookMs = 250;

export class UploadWatch {
  /** Aborts with DEPLOYMENT_UPLOAD_TOO_SLOW. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #limits: UploadLimits;
  readonly #cancelDeadline: () => void;
  #cancelLook: () => void;
  #bytesInWindow = 0;

  constructor(clock: Clock, limits: UploadLimits) {
    this.signal = this.#controller.signal;
    this.#clock = clock;
    this.#limits = limits;
    this.#cancelDeadline = clock.after(limits.timeoutMs, () =>
      this.#giveUp(`did not arrive within ${limits.timeoutMs / 1_000} seconds`),
    );
    this.#cancelLook = clock.after(windowMs, () => this.#look());
  }

  arrived(bytes: number): void {
    this.#bytesInWindow += bytes;
  }

  end(): void {
    this.#cancelDeadline();
    this.#cancelLook();
  }

  #look(isSecond = false): void {
    const { minBytesPerSecond } = this.#limits;
    if (this.#bytesInWindow >= (minBytesPerSecond * windowMs) / 1_000) {
      this.#bytesInWindow = 0;
      this.#cancelLook = this.#clock.after(windowMs, () => this.#look());
    } else if (isSecond)
      this.#giveUp(`arrives more slowly than ${minBytesPerSecond} bytes a second, which is the least`);
    else this.#cancelLook = this.#clock.after(secondLookMs, () => this.#look(true));
  }

  #giveUp(what: string): void {
    this.end();
    this.#controller.abort(
      new DeploymentError(
        'DEPLOYMENT_UPLOAD_TOO_SLOW',
        `The request's body ${what}. Send it faster, or less.`,
        {
          isRetryable: true,
        },
      ),
    );
  }
}
