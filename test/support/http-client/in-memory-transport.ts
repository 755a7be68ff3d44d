// A transport in memory: a handler instead of a network.
import type {
  ChunkReceiver,
  Clock,
  HttpCall,
  HttpFlow,
  HttpReceiver,
  HttpRequest,
  HttpResponse,
  HttpTransport,
  HttpWait,
  LinkedSignal,
} from '../../../src/core/index.ts';
import { abortable, HttpFailure, linkSignals, systemClock } from '../../../src/core/index.ts';
import type { BodySource } from '../../../src/platform/http-client/response.ts';
import { SourcedResponse, rejectAfter } from '../../../src/platform/http-client/response.ts';
import { requestLabel } from '../../../src/platform/http-client/undici-transport.ts';

export interface InMemoryRequest {
  readonly method: HttpRequest['method'];
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Aborts when the caller disconnected, as the socket of a server is closed. */
  readonly signal: AbortSignal;
}

export interface InMemoryResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An iterable is sent piece by piece; if it throws, the connection is closed. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** Use `clock.sleep(ms, request.signal)` for latency; throwing means that there is no response. */
export type InMemoryHandler = (request: InMemoryRequest) => InMemoryResponse | Promise<InMemoryResponse>;

export interface InMemoryTransportOptions {
  readonly handler: InMemoryHandler;
  /** Settles when a connection to this origin is open; throws when it is refused. Default: at once. */
  readonly connect?: (origin: string, signal: AbortSignal) => Promise<void>;
  readonly clock?: Clock;
  /** For requests that set none. Default 10 s, 120 s and 120 s, as on the real transport. */
  readonly connectTimeoutMs?: number;
  readonly headersTimeoutMs?: number;
  readonly bodyTimeoutMs?: number;
}

/** Has the contract of the undici transport; one suite runs on both. */
export function createInMemoryTransport(options: InMemoryTransportOptions): Required<HttpTransport> {
  const clock = options.clock ?? systemClock;
  const closing = new AbortController();

  async function request(request: HttpRequest): Promise<HttpResponse> {
    const url = new URL(request.url);
    const label = requestLabel(request.method, url);
    const link = linkFor(request, closing.signal, clock, label);
    const step = async <T>(work: () => Promise<T> | T, ms: number, wait: HttpWait): Promise<T> => {
      try {
        if (link.signal.aborted) throw link.signal.reason;
        const what = wait === 'connect' ? 'connection' : 'response';
        const late = () =>
          new HttpFailure('timeout', `${label}: no ${what} within ${ms} ms.`, undefined, wait);
        return await rejectAfter(clock, ms, abortable(Promise.resolve(work()), link.signal), late);
      } catch (error) {
        const failure = failureOf(error, link, label);
        link.abort(failure);
        link.dispose();
        throw failure;
      }
    };
    await step(
      () => options.connect?.(url.origin, link.signal),
      request.connectTimeoutMs ?? options.connectTimeoutMs ?? 10_000,
      'connect',
    );
    if (request.onSent?.() === false)
      throw new HttpFailure('aborted', `${label} was withdrawn by its caller.`);
    const answer = await step(
      () => options.handler(inMemoryRequest(request, url, link.signal)),
      request.headersTimeoutMs ?? options.headersTimeoutMs ?? 120_000,
      'headers',
    );
    return new SourcedResponse({
      status: answer.status,
      headers: joined(answer.headers),
      source: sourceOf(request.method === 'HEAD' ? undefined : answer.body, link, label),
      clock,
      bodyTimeoutMs: request.bodyTimeoutMs ?? options.bodyTimeoutMs ?? 120_000,
      label,
    });
  }

  return {
    request,
    send: (given, receiver) => sendBy(request, clock, given, receiver),
    async close() {
      closing.abort(new HttpFailure('aborted', 'The transport was closed.'));
    },
  };
}

function sendBy(
  request: HttpTransport['request'],
  clock: Clock,
  { signal: _ignored, ...given }: HttpRequest,
  receiver: HttpReceiver,
): HttpCall {
  const link = linkSignals();
  let isOver = false;
  let cancelLimit: () => void = () => undefined;
  const end = (report: () => void) => {
    if (isOver) return;
    isOver = true;
    cancelLimit();
    report();
  };
  const read = async () => {
    const response = await request({ ...given, signal: link.signal });
    if (!isOver) receiver.onHead(response.status, response.headers);
    for await (const chunk of response.body) if (!isOver) receiver.onChunk(chunk);
  };
  read().then(
    () => end(() => receiver.onEnd()),
    (failure: HttpFailure) => end(() => receiver.onFailure(failure)),
  );
  const abort = (failure: HttpFailure) =>
    end(() => {
      link.abort(failure);
      receiver.onFailure(failure);
    });
  return {
    abort,
    limit: (ms) => {
      const late = () =>
        abort(new HttpFailure('timeout', 'The response took too long.', undefined, 'response'));
      cancelLimit = clock.after(ms, late);
    },
    pause: () => undefined,
    resume: () => undefined,
  };
}

/** Aborts with its caller, with the transport, and when the whole response takes too long. */
function linkFor(request: HttpRequest, closing: AbortSignal, clock: Clock, label: string): LinkedSignal {
  const link = linkSignals(request.signal, closing);
  const { responseTimeoutMs = Number.POSITIVE_INFINITY } = request;
  if (responseTimeoutMs === Number.POSITIVE_INFINITY) return link;
  const stopTimer = clock.after(responseTimeoutMs, () =>
    link.abort(
      new HttpFailure(
        'timeout',
        `${label}: the answer was not all there within ${responseTimeoutMs} ms.`,
        undefined,
        'response',
      ),
    ),
  );
  return {
    ...link,
    dispose() {
      stopTimer();
      link.dispose();
    },
  };
}

function inMemoryRequest(request: HttpRequest, url: URL, signal: AbortSignal): InMemoryRequest {
  return {
    method: request.method,
    url,
    headers: joined(request.headers),
    body: Buffer.from(request.body ?? ''),
    signal,
  };
}

function sourceOf(body: InMemoryResponse['body'], link: LinkedSignal, label: string): BodySource {
  const pieces = piecesOf(body)[Symbol.asyncIterator]();
  let isOver = false;
  const over = () => {
    isOver = true;
    link.dispose();
  };
  const pull = async (): Promise<Uint8Array | null> => {
    if (isOver) return null;
    try {
      if (link.signal.aborted) throw link.signal.reason;
      const next = await abortable(pieces.next(), link.signal);
      if (!next.done) return next.value;
      over();
      return null;
    } catch (error) {
      const failure = failureOf(error, link, label);
      link.abort(failure);
      link.dispose();
      throw failure;
    }
  };
  return {
    pull,
    flowTo: (receiver) => flowFrom(pull, receiver, link.signal),
    abandon(failure) {
      if (isOver) return;
      link.abort(failure);
      over();
      // Runs the `finally` of a generator, as a server handles a closed socket.
      pieces.return(undefined).catch(() => undefined);
    },
  };
}

function flowFrom(pull: BodySource['pull'], receiver: ChunkReceiver, signal: AbortSignal): HttpFlow {
  let paused: PromiseWithResolvers<void> | undefined;
  const flow = async () => {
    for (;;) {
      if (paused) await abortable(paused.promise, signal).catch(() => undefined);
      const chunk = await pull();
      if (chunk === null) return;
      receiver.onChunk(chunk);
    }
  };
  flow().then(
    () => receiver.onEnd(),
    (failure: HttpFailure) => receiver.onFailure(failure),
  );
  return {
    pause: () => (paused ??= Promise.withResolvers()),
    resume() {
      paused?.resolve();
      paused = undefined;
    },
  };
}

async function* piecesOf(body: InMemoryResponse['body']): AsyncGenerator<Uint8Array> {
  if (body === undefined) return;
  if (typeof body === 'string') yield Buffer.from(body);
  else if (body instanceof Uint8Array) yield body;
  else yield* body;
}

function failureOf(error: unknown, link: LinkedSignal, label: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (link.signal.aborted) return new HttpFailure('aborted', `${label} was stopped by its caller.`, error);
  return new HttpFailure('network', `${label} failed: no usable answer came.`, error);
}

function joined(headers: InMemoryResponse['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]),
  );
}
