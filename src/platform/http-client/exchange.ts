// One request and its response on undici, with their timeouts.
import type { Dispatcher } from 'undici';
import type { Clock, HttpFailureKind, HttpRequest, HttpWait } from '../../core/index.ts';
import { HttpFailure, IdleTimer, kindOf, onAbort } from '../../core/index.ts';
import type { BodySource } from './response.ts';

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
  #timer: IdleTimer | undefined;
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
    this.#timer = new IdleTimer(this.#clock, (ms) =>
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
    if (this.#endsAt === Number.POSITIVE_INFINITY) this.#timer?.stop();
    else this.#allow(Number.POSITIVE_INFINITY);
  }

  onOver(): void {
    this.#isOver = true;
    this.#timer?.stop();
    this.#forgetSignal?.();
  }

  #allow(ms: number): void {
    if (this.#isOver) return;
    const leftMs = this.#endsAt - this.#clock.monotonic();
    this.#shortest = ms <= leftMs ? this.#awaited : 'answer';
    this.#timer?.start(Math.min(ms, leftMs));
  }
}

const missing = {
  connect: 'no connection',
  headers: 'connected, but no answer',
  body: 'the answer was not all there',
} as const;

/** More than this waiting to be read stops the socket. */
const pauseAboveBytes = 64 * 1024;

export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

interface Pull {
  resolve(piece: Uint8Array | null): void;
  reject(failure: HttpFailure): void;
}

export interface ExchangeWatcher {
  onConnected(): void;
  /** The status and headers are there. */
  onHead(): void;
  /** Once, when the connection is free again or gone. */
  onOver(): void;
}

/**
 * waiting for a connection → connected → `head` → pieces → end. `abandon` ends it from any state: at once for the
 * caller, and for the socket as soon as undici has one.
 */
export class UndiciExchange implements Dispatcher.DispatchHandler, BodySource {
  readonly #label: string;
  readonly #watcher: ExchangeWatcher;
  readonly #head = Promise.withResolvers<AnswerHead>();
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Uint8Array[] = [];
  #bufferedBytes = 0;
  #isAtEnd = false;
  #failure: HttpFailure | undefined;
  #pull: Pull | undefined;

  constructor(label: string, watcher: ExchangeWatcher) {
    this.#label = label;
    this.#watcher = watcher;
  }

  /** Rejects with an HttpFailure. */
  get head(): Promise<AnswerHead> {
    return this.#head.promise;
  }

  pull(): Promise<Uint8Array | null> {
    if (this.#failure) return Promise.reject(this.#failure);
    const piece = this.#pieces.shift();
    if (piece) {
      this.#bufferedBytes -= piece.byteLength;
      if (this.#controller?.paused && this.#bufferedBytes <= pauseAboveBytes) this.#controller.resume();
      return Promise.resolve(piece);
    }
    if (this.#isAtEnd) return Promise.resolve(null);
    return new Promise((resolve, reject) => (this.#pull = { resolve, reject }));
  }

  whole(): readonly Uint8Array[] | undefined {
    if (!this.#isAtEnd) return undefined;
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  abandon(failure: HttpFailure): void {
    if (this.#failure || this.#isAtEnd) return;
    this.#fail(failure);
    this.#controller?.abort(failure);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It was given up while it still waited for a connection: nothing is sent.
    if (this.#failure) controller.abort(this.#failure);
    else this.#watcher.onConnected();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    this.#watcher.onHead();
    this.#head.resolve({ status, headers: joined(headers) });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    if (this.#failure) return;
    if (this.#pull) {
      this.#takePull()?.resolve(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#bufferedBytes += piece.byteLength;
    if (this.#bufferedBytes > pauseAboveBytes) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#failure || this.#isAtEnd) return;
    this.#isAtEnd = true;
    this.#takePull()?.resolve(null);
    this.#watcher.onOver();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.#failure && !this.#isAtEnd) this.#fail(failureFrom(error, this.#label));
  }

  #fail(failure: HttpFailure): void {
    this.#failure = failure;
    this.#pieces = [];
    this.#head.reject(failure);
    this.#takePull()?.reject(failure);
    this.#watcher.onOver();
  }

  #takePull(): Pull | undefined {
    const pull = this.#pull;
    this.#pull = undefined;
    return pull;
  }
}

type ReadHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** undici gives names in lower case, and a list for what came twice, which is rare. */
function joined(headers: ReadHeaders): Readonly<Record<string, string>> {
  return isPlain(headers)
    ? headers
    : Object.fromEntries(
        Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')]),
      );
}

function isPlain(headers: ReadHeaders): headers is Readonly<Record<string, string>> {
  for (const name in headers) if (typeof headers[name] !== 'string') return false;
  return true;
}

const kinds: Readonly<Record<string, HttpFailureKind>> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
};

/** Everything that has no better name (refused, reset, cut short, TLS, not HTTP) is "network". */
export function failureFrom(error: unknown, label: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const code = kindOf(error);
  const kind = kinds[code] ?? 'network';
  return new HttpFailure(kind, `${label} failed: ${words[kind]} (${code}).`, error);
}

const words: Readonly<Record<HttpFailureKind, string>> = {
  timeout: 'no answer in time',
  network: 'no usable answer came',
  'too-large': 'the answer is too large',
  aborted: 'it was stopped on our side',
};
