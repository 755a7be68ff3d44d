// Ends an exchange that takes too long, or whose caller leaves: connecting → waiting for the head → reading the rest.
import type { Clock, HttpRequest, HttpWait } from '../../core/index.ts';
import { HttpFailure, onAbort } from '../../core/index.ts';
import { Patience } from './patience.ts';
import type { ExchangeWatcher } from './undici-exchange.ts';

/** In milliseconds. */
export interface Timeouts {
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  /** For all of it; may be infinite. */
  readonly answerTimeoutMs: number;
}

export class ExchangeWatch implements ExchangeWatcher {
  readonly #request: HttpRequest;
  readonly #label: string;
  readonly #timeouts: Timeouts;
  readonly #clock: Clock;
  readonly #endsAt: number;
  #patience: Patience | undefined;
  #forgetSignal: (() => void) | undefined;
  /** What is waited for, and whose time runs out first: its own, or that of the whole answer. */
  #awaited: Exclude<HttpWait, 'answer'> = 'connect';
  #shortest: HttpWait = 'connect';
  #isOver = false;

  constructor(request: HttpRequest, label: string, timeouts: Timeouts, clock: Clock) {
    this.#request = request;
    this.#label = label;
    this.#timeouts = timeouts;
    this.#clock = clock;
    this.#endsAt = clock.monotonic() + timeouts.answerTimeoutMs;
  }

  /** Calls `abandon` once, if it comes to that; at once for a caller that has left already. */
  start(abandon: (failure: HttpFailure) => void): void {
    this.#patience = new Patience(this.#clock, (ms) =>
      abandon(
        new HttpFailure(
          'timeout',
          `${this.#label}: ${missing[this.#awaited]} within ${ms} ms.`,
          undefined,
          this.#shortest,
        ),
      ),
    );
    this.#allow(this.#timeouts.connectTimeoutMs);
    const forget = onAbort(this.#request.signal, (reason) =>
      abandon(new HttpFailure('aborted', `${this.#label} was stopped by its caller.`, reason)),
    );
    if (this.#isOver) forget();
    else this.#forgetSignal = forget;
  }

  onConnected(): void {
    this.#request.onSent?.();
    this.#awaited = 'headers';
    this.#allow(this.#timeouts.headersTimeoutMs);
  }

  /** From here on its reader watches for silence. */
  onHead(): void {
    this.#awaited = 'body';
    if (this.#endsAt === Number.POSITIVE_INFINITY) this.#patience?.end();
    else this.#allow(Number.POSITIVE_INFINITY);
  }

  onOver(): void {
    this.#isOver = true;
    this.#patience?.end();
    this.#forgetSignal?.();
  }

  #allow(ms: number): void {
    if (this.#isOver) return;
    const leftMs = this.#endsAt - this.#clock.monotonic();
    this.#shortest = ms <= leftMs ? this.#awaited : 'answer';
    this.#patience?.allow(Math.min(ms, leftMs));
  }
}

const missing = {
  connect: 'no connection',
  headers: 'connected, but no answer',
  body: 'the answer was not all there',
} as const;
