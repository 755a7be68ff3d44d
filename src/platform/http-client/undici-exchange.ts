// One request and its answer on a connection of undici, with backpressure, and an end that always lets go.
import type { Dispatcher } from 'undici';
import type { HttpFailure } from '../../core/index.ts';
import type { BodySource } from './http-answer.ts';
import { failureFrom } from './undici-failure.ts';

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
