// HTTP calls to one Headworks server: JSON calls, streams, downloads, and attaching to it.
import type { ApiPath, ApiTransport } from '../../api/client.ts';
import type { HttpResponse, HttpRequest, HttpTransport } from '../../core/index.ts';
import { CoreError, HeadworksError } from '../../core/index.ts';

/** Far above any response of our API; bounds what another program on the port could make this process read. */
const maxResponseBytes = 64 * 1024 * 1024;
const connectTimeoutMs = 3_000;
/** A running server sends its identity and the headers of a stream far sooner, also under load. */
const headersTimeoutMs = 5_000;
/** The server sends heartbeats on streams far more often. */
const streamTimeoutMs = 60_000;
/** A little more than x-headworks-timeout and the server's own setting allow. */
const modelTimeoutMs = 3_700_000;

export type CallMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface StreamedEvent {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamedResponse {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly data: AsyncIterable<string>;
}

export interface HeadworksClient {
  /** The address of the server. */
  readonly url: string;
  /** True when no server was running and this process became the server. */
  readonly isOwnServer: boolean;
  /** Returns the parsed JSON. An error response is thrown as the HeadworksError that it describes. */
  call<T>(method: CallMethod, path: string, options?: CallOptions): Promise<T>;
  /** Posts and streams the response: its headers, and the data of its server-sent events. */
  stream(path: ApiPath, body: unknown, signal: AbortSignal): Promise<StreamedResponse>;
  /** Posts and streams the bytes of the response. */
  download(path: ApiPath, body: unknown, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * The events of `/api/v1/live`, reconnecting when needed, until the signal aborts. Events are not replayed:
   * `onReconnect` is called when some may have been missed, as soon as new ones arrive again.
   */
  events(signal: AbortSignal, onReconnect?: () => void): AsyncIterable<StreamedEvent>;
  /** Detaches. If this process is the server, waits until no other client is attached, then stops it. */
  close(): Promise<void>;
}

export interface ServerIdentity {
  readonly version: string;
  readonly instance: string;
}

export class ServerSession implements ApiTransport {
  readonly url: string;
  readonly #token: string;
  readonly #key: string;
  readonly #transport: HttpTransport;

  /** `key` is the credential of calls; attaching needs the token. */
  constructor(url: string, token: string, transport: HttpTransport, key = token) {
    this.url = url.replace(/\/+$/, '');
    this.#token = token;
    this.#key = key;
    this.#transport = transport;
  }

  /**
   * Identifies the server; fails on a timeout, or when it is not a Headworks server. Sent without the token: the port
   * may belong to another program by now.
   */
  async identity(signal?: AbortSignal): Promise<ServerIdentity> {
    const response = await this.#call<Partial<ServerIdentity>>(
      'GET',
      '/healthz',
      { signal },
      {
        headers: { accept: 'application/json' },
        headersTimeoutMs,
      },
    );
    if (typeof response.instance !== 'string' || typeof response.version !== 'string')
      throw new CoreError('SERVER_UNREACHABLE', `The program at ${this.url} is not a Headworks server.`);
    return { version: response.version, instance: response.instance };
  }

  call<T>(method: CallMethod, path: string, options: CallOptions = {}): Promise<T> {
    return this.#call<T>(method, path, options, { headers: this.#headers(this.#key) });
  }

  async #call<T>(
    method: CallMethod,
    path: string,
    options: CallOptions,
    how: Pick<HttpRequest, 'headersTimeoutMs'> & { readonly headers: Readonly<Record<string, string>> },
  ): Promise<T> {
    const hasBody = options.body !== undefined;
    const response = await this.#transport.request({
      ...how,
      method,
      url: this.url + path + queryString(options.query),
      headers: hasBody ? { ...how.headers, 'content-type': 'application/json' } : how.headers,
      body: hasBody ? JSON.stringify(options.body) : undefined,
      signal: options.signal,
      connectTimeoutMs,
    });
    const text = Buffer.from(await response.bytes(maxResponseBytes)).toString();
    if (response.status >= 400) throw errorFrom(response, text, this.url);
    return (text === '' ? undefined : parseJson(text, this.url)) as T;
  }

  /**
   * The client counts as attached from when this resolves until the returned function is called or the connection is
   * lost.
   */
  async attach(onLost: () => void): Promise<() => void> {
    const detach = new AbortController();
    const response = await this.#open('/api/v1/attach', { signal: detach.signal });
    void drain(response).then(onLost, onLost);
    return () => detach.abort();
  }

  /** The event stream of one connection; ends or fails with it. */
  async *events(signal: AbortSignal, onOpen: () => void): AsyncGenerator<StreamedEvent> {
    const response = await this.#open('/api/v1/live', { signal });
    onOpen();
    for await (const block of blocks(response.body)) {
      const event = parseEvent(block);
      if (event) yield event;
    }
  }

  /** The server limits the time until the response starts. */
  async stream(path: ApiPath, body: unknown, signal: AbortSignal): Promise<StreamedResponse> {
    const response = await this.#post(path, body, signal, 'text/event-stream');
    return { headers: response.headers, data: dataOf(response.body) };
  }

  async download(path: ApiPath, body: unknown, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#post(path, body, signal, 'application/gzip, application/json')).body;
  }

  #post(path: ApiPath, body: unknown, signal: AbortSignal, accept: string): Promise<HttpResponse> {
    return this.#open(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify(body),
      headersTimeoutMs: modelTimeoutMs,
      bodyTimeoutMs: modelTimeoutMs,
      signal,
    });
  }

  async #open(
    path: ApiPath,
    request: Partial<HttpRequest> & { readonly signal: AbortSignal },
  ): Promise<HttpResponse> {
    const response = await this.#transport.request({
      method: 'GET',
      connectTimeoutMs,
      headersTimeoutMs,
      bodyTimeoutMs: streamTimeoutMs,
      ...request,
      url: this.url + path,
      headers: { ...this.#headers(), accept: 'text/event-stream', ...request.headers },
    });
    if (response.status >= 400)
      throw errorFrom(response, Buffer.from(await response.bytes(maxResponseBytes)).toString(), this.url);
    return response;
  }

  #headers(credential = this.#token): Record<string, string> {
    return { accept: 'application/json', authorization: `Bearer ${credential}` };
  }
}

function queryString(query: CallOptions['query']): string {
  const pairs: [string, string][] = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((item) => [name, String(item)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

function parseJson(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CoreError(
      'SERVER_UNREACHABLE',
      `The program at ${url} does not return JSON: it is probably not a Headworks server.`,
      { cause: error },
    );
  }
}

interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    /** On /v1, where `code` is OpenAI's. */
    readonly headworks_code?: string;
    readonly message?: string;
    readonly retry_after_seconds?: number;
    readonly details?: Record<string, unknown>;
  };
}

/** Rebuilds the error that the server sent. */
function errorFrom(response: HttpResponse, text: string, url: string): Error {
  const error = (parseJson(text, url) as ErrorBody | null)?.error;
  const code = error?.headworks_code ?? error?.code;
  if (typeof code !== 'string' || typeof error?.message !== 'string')
    return new CoreError(
      'SERVER_UNREACHABLE',
      `The program at ${url} (status ${response.status}) is not a Headworks server.`,
    );
  return new HeadworksError(code, error.message, {
    isRetryable: response.status === 429 || response.status === 503,
    retryAfterMs: error.retry_after_seconds === undefined ? undefined : error.retry_after_seconds * 1000,
    details: error.details ?? {},
  });
}

async function drain(response: HttpResponse): Promise<void> {
  for await (const _ of response.body);
}

/** The events of a server-sent event stream, separated by empty lines. */
async function* blocks(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of body) {
    rest += decoder.decode(piece, { stream: true });
    const parts = rest.split('\n\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

async function* dataOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const block of blocks(body)) {
    const lines = block.split('\n').filter((line) => line.startsWith('data:'));
    if (lines.length > 0) yield lines.map((line) => line.slice(5).trimStart()).join('\n');
  }
}

function parseEvent(block: string): StreamedEvent | null {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()] as const;
    }),
  );
  const name = fields.get('event');
  const data = fields.get('data');
  if (name === undefined || data === undefined) return null;
  return { name, data: JSON.parse(data) as Record<string, unknown> };
}
