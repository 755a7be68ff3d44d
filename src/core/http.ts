// The port through which we talk to other people's servers. Adapters: undici, and in memory for simulated worlds.

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Longest wait for the connection. */
  readonly connectTimeoutMs?: number;
  /** Longest wait for the answer's first byte. */
  readonly headersTimeoutMs?: number;
  /** Longest silence between two pieces of the answer. */
  readonly bodyTimeoutMs?: number;
  /** Longest wait for the whole answer, its body included, however it drips. Default: none. */
  readonly answerTimeoutMs?: number;
  /** Called once, when there is a connection and the request is being written to it. */
  readonly onSent?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; repeated headers joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, once. Leaving the loop early gives the connection back. */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * The whole body; more than `maxBytes` fails as "too-large", and what is not all there `withinMs` (default: for
   * ever) as "timeout". Both drop the connection.
   */
  bytes(maxBytes: number, withinMs?: number): Promise<Uint8Array>;
  /** Drops the answer unread. */
  discard(): Promise<void>;
}

/** Fails with an HttpFailure; an answer with any status is an answer, not a failure. */
export interface HttpTransport {
  request(request: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** The waits of a request, each with a timeout of its name. */
export type HttpWait = 'connect' | 'headers' | 'body' | 'answer';

export type HttpFailureKind = 'timeout' | 'network' | 'too-large' | 'aborted';

/** No usable answer came. `kind` says why; the classes of resilience/http-failure.ts build on it. */
export class HttpFailure extends Error {
  readonly kind: HttpFailureKind;
  /** Of a timeout of ours: which wait took too long. */
  readonly wait: HttpWait | undefined;
  override readonly name = 'HttpFailure';

  constructor(kind: HttpFailureKind, message: string, cause?: unknown, wait?: HttpWait) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.wait = wait;
  }
}
