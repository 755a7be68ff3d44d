// The interface of outgoing HTTP calls. Implemented on undici, and in memory for tests and simulations.

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  readonly connectTimeoutMs?: number;
  /** From the connection to the first byte of the response. */
  readonly headersTimeoutMs?: number;
  /** Between two chunks of the response. */
  readonly bodyTimeoutMs?: number;
  /** For the whole response, its body included. Default: none. */
  readonly responseTimeoutMs?: number;
  /** Called once, when there is a connection and the request is being written to it. */
  readonly onSent?: () => boolean | void;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; repeated headers joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, once. Leaving the loop early releases the connection. */
  readonly body: { [Symbol.asyncIterator](): HttpChunks };
  /**
   * The whole body. Fails as "too-large" when it has more than `maxBytes`, and as "timeout" when it is not complete within
   * `timeoutMs` (default: no limit). Both drop the connection.
   */
  bytes(maxBytes: number, timeoutMs?: number): Promise<Uint8Array>;
  /** Drops the response unread. */
  discard(): Promise<void>;
}

/** Fails with an HttpFailure when there is no usable response; a response of any status is not a failure. */
export interface HttpTransport {
  request(request: HttpRequest): Promise<HttpResponse>;
  /**
   * The same with callbacks, which save a promise per step and chunk; `onFailure` may be called before it returns. Never
   * throws. `request.signal` is ignored. Absent from doubles.
   */
  send?(request: HttpRequest, receiver: HttpReceiver): HttpCall;
  close(): Promise<void>;
}

/** One response: `onHead`, chunks, then `onEnd` or `onFailure`, after which nothing is called any more. */
export interface HttpReceiver {
  /** Names in lower case; repeated headers joined with ", ". */
  onHead(status: number, headers: Readonly<Record<string, string>>): void;
  onChunk(chunk: Uint8Array): void;
  onEnd(): void;
  /** Also before `onHead`. */
  onFailure(failure: HttpFailure): void;
}

export type ChunkReceiver = Omit<HttpReceiver, 'onHead'>;

export interface HttpFlow {
  /** Until `resume`, no more is read from the connection. */
  pause(): void;
  resume(): void;
}

export interface HttpCall extends HttpFlow {
  /** Ends the call from any state; unless it has ended, `onFailure` is called with this failure. */
  abort(failure: HttpFailure): void;
  /** From now on, no more than this until the end of the response. */
  limit(ms: number): void;
}

/** Chunks that are pulled, one at a time. */
export interface HttpChunks extends AsyncIterator<Uint8Array> {
  /**
   * From now on they are passed on as they arrive, without a timeout between them; chunks that are waiting are passed on
   * before it returns. Undefined: they must be pulled.
   */
  flowTo?(receiver: ChunkReceiver): HttpFlow | undefined;
}

/** The waits of a request, each with a timeout of its name. */
export type HttpWait = 'connect' | 'headers' | 'body' | 'response';

export type HttpFailureKind = 'timeout' | 'network' | 'too-large' | 'aborted';

/** There was no usable response. The classes of resilience/http-failure.ts build on it. */
export class HttpFailure extends Error {
  readonly kind: HttpFailureKind;
  /** For a timeout of ours: the wait that took too long. */
  readonly wait: HttpWait | undefined;
  override readonly name = 'HttpFailure';

  constructor(kind: HttpFailureKind, message: string, cause?: unknown, wait?: HttpWait) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.wait = wait;
  }
}
