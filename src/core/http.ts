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
  readonly body: AsyncIterable<Uint8Array>;
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
  close(): Promise<void>;
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
