// HTTP with undici.
import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import type {
  Clock,
  HttpFailureKind,
  HttpRequest,
  HttpResponse,
  HttpTransport,
  HttpWait,
} from '../../core/index.ts';
import { HttpFailure, IdleTimer, kindOf, onAbort, systemClock } from '../../core/index.ts';
import type { BodySource } from './response.ts';
import { SourcedResponse } from './response.ts';

export interface UndiciTransportOptions {
  /** Maximum connections to one origin; further requests wait for one. Default: 64. */
  readonly connectionsPerOrigin?: number;
  /** Timeout of a connection, and the maximum for a request's own. Default: 10 s. */
  readonly connectTimeoutMs?: number;
  /** How long an idle connection is kept. Default: 4 s. */
  readonly keepAliveMs?: number;
  /** Resolves host names. Default: as the system does. Not called for IP addresses. */
  readonly lookup?: LookupFunction;
  readonly clock?: Clock;
}

/** Timeout until the headers, and between two chunks of the body, for requests that set none. */
const defaultTimeoutMs = 120_000;

/**
 * Timeouts are kept here, not by undici: its timers have a resolution of half a second, and it has no connect timeout
 * per request. `close` aborts running requests.
 */
export function createUndiciTransport(options: UndiciTransportOptions): HttpTransport {
  const clock = options.clock ?? systemClock;
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000;
  const agentOptions: Agent.Options = {
    connections: options.connectionsPerOrigin ?? 64,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? 4_000,
    connect: { timeout: connectTimeoutMs, ...(options.lookup ? { lookup: options.lookup } : {}) },
  };
  const targets = new TargetCache();
  let agent: Agent | undefined;
  let isClosed = false;

  /** undici takes 90 ms and 20 MB to load, so it is loaded with the first request. */
  const loadAgent = async (): Promise<Agent> => {
    const undici = await import('undici');
    agent ??= new undici.Agent(agentOptions);
    if (isClosed) await agent.destroy();
    return agent;
  };

  return {
    async request(request): Promise<HttpResponse> {
      const dispatcher = agent ?? (await loadAgent());
      const target = targets.get(request.url);
      const label = requestLabel(request.method, target);
      const bodyTimeoutMs = request.bodyTimeoutMs ?? defaultTimeoutMs;
      const exchange = new Exchange(request, label, clock, {
        connectTimeoutMs: Math.min(request.connectTimeoutMs ?? connectTimeoutMs, connectTimeoutMs),
        headersTimeoutMs: request.headersTimeoutMs ?? defaultTimeoutMs,
        responseTimeoutMs: request.responseTimeoutMs ?? Number.POSITIVE_INFINITY,
      });
      exchange.start();
      if (!request.signal?.aborted) dispatch(dispatcher, target, request, exchange);
      const { status, headers } = await exchange.head;
      return new SourcedResponse({ status, headers, source: exchange, clock, bodyTimeoutMs, label });
    },
    close: async () => {
      isClosed = true;
      await agent?.destroy();
    },
  };
}

function dispatch(agent: Agent, target: Target, request: HttpRequest, exchange: Exchange): void {
  try {
    agent.dispatch(
      {
        origin: target.origin,
        path: target.pathname + target.search,
        method: request.method,
        headers: request.headers ?? null,
        body: request.body ?? null,
      },
      exchange,
    );
  } catch (error) {
    exchange.onResponseError(null, error as Error);
  }
}

export function requestLabel(method: string, { origin, pathname }: Pick<URL, 'origin' | 'pathname'>): string {
  return `${method} ${origin}${pathname}`;
}

interface Target {
  readonly origin: string;
  readonly pathname: string;
  readonly search: string;
}

const maxTargets = 256;

/** Parsed URLs. Those with a query are all different, and may have secrets: they are not kept. */
class TargetCache {
  readonly #known = new Map<string, Target>();

  get(url: string): Target {
    const known = this.#known.get(url);
    if (known) return known;
    const { origin, pathname, search } = new URL(url);
    const target = { origin, pathname, search };
    if (search === '' && this.#known.size < maxTargets) this.#known.set(url, target);
    return target;
  }
}

interface Timeouts {
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** Timeout of the whole response; may be infinite. */
  readonly responseTimeoutMs: number;
}

const missing = {
  connect: 'no connection',
  headers: 'connected, but no response',
  body: 'the response was not complete',
} as const;

/** The socket pauses while more than this is unread. */
const pauseAboveBytes = 64 * 1024;

interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

interface PendingPull {
  resolve(chunk: Uint8Array | null): void;
  reject(failure: HttpFailure): void;
}

/**
 * One request and its response: waiting for a connection → connected → `head` → chunks → end. `abandon` ends it from any
 * state: at once for the caller, and for the socket as soon as undici has one.
 */
class Exchange implements Dispatcher.DispatchHandler, BodySource {
  readonly #request: HttpRequest;
  readonly #label: string;
  readonly #clock: Clock;
  readonly #timeouts: Timeouts;
  readonly #endsAt: number;
  readonly #timer: IdleTimer;
  readonly #head = Promise.withResolvers<ResponseHead>();
  #removeAbortListener: (() => void) | undefined;
  /** The current wait, and the one whose timeout comes first: its own, or that of the whole response. */
  #wait: Exclude<HttpWait, 'response'> = 'connect';
  #firstTimeout: HttpWait = 'connect';
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #isAtEnd = false;
  #failure: HttpFailure | undefined;
  #pull: PendingPull | undefined;

  constructor(request: HttpRequest, label: string, clock: Clock, timeouts: Timeouts) {
    this.#request = request;
    this.#label = label;
    this.#clock = clock;
    this.#timeouts = timeouts;
    this.#endsAt = clock.monotonic() + timeouts.responseTimeoutMs;
    this.#timer = new IdleTimer(clock, (ms) => this.#timeOut(ms));
  }

  /** Starts the timeouts; fails at once for a signal that has aborted. */
  start(): void {
    this.#allow(this.#timeouts.connectTimeoutMs);
    const removeListener = onAbort(this.#request.signal, (reason) =>
      this.abandon(new HttpFailure('aborted', `${this.#label} was stopped by its caller.`, reason)),
    );
    if (this.#isOver) removeListener();
    else this.#removeAbortListener = removeListener;
  }

  /** Rejects with an HttpFailure. */
  get head(): Promise<ResponseHead> {
    return this.#head.promise;
  }

  pull(): Promise<Uint8Array | null> {
    if (this.#failure) return Promise.reject(this.#failure);
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#bufferedBytes -= chunk.byteLength;
      if (this.#controller?.paused && this.#bufferedBytes <= pauseAboveBytes) this.#controller.resume();
      return Promise.resolve(chunk);
    }
    if (this.#isAtEnd) return Promise.resolve(null);
    return new Promise((resolve, reject) => (this.#pull = { resolve, reject }));
  }

  rest(): readonly Uint8Array[] | undefined {
    if (!this.#isAtEnd) return undefined;
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  abandon(failure: HttpFailure): void {
    if (this.#isOver) return;
    this.#fail(failure);
    this.#controller?.abort(failure);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Abandoned while it still waited for a connection: nothing is sent.
    if (this.#failure) return controller.abort(this.#failure);
    if (this.#request.onSent?.() === false)
      return this.abandon(new HttpFailure('aborted', `${this.#label} was not sent: its caller withdrew it.`));
    this.#wait = 'headers';
    this.#allow(this.#timeouts.headersTimeoutMs);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ReceivedHeaders,
  ): void {
    if (status < 200) return;
    // The reader of the body has its own timeout.
    this.#wait = 'body';
    if (this.#endsAt === Number.POSITIVE_INFINITY) this.#timer.stop();
    else this.#allow(Number.POSITIVE_INFINITY);
    this.#head.resolve({ status, headers: joinRepeated(headers) });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#failure) return;
    if (this.#pull) {
      this.#takePull()?.resolve(chunk);
      return;
    }
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.byteLength;
    if (this.#bufferedBytes > pauseAboveBytes) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isAtEnd = true;
    this.#takePull()?.resolve(null);
    this.#stopWaiting();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.#isOver) this.#fail(failureFrom(error, this.#label));
  }

  get #isOver(): boolean {
    return this.#failure !== undefined || this.#isAtEnd;
  }

  #fail(failure: HttpFailure): void {
    this.#failure = failure;
    this.#chunks = [];
    this.#head.reject(failure);
    this.#takePull()?.reject(failure);
    this.#stopWaiting();
  }

  #allow(ms: number): void {
    if (this.#isOver) return;
    const remainingMs = this.#endsAt - this.#clock.monotonic();
    this.#firstTimeout = ms <= remainingMs ? this.#wait : 'response';
    this.#timer.start(Math.min(ms, remainingMs));
  }

  #timeOut(ms: number): void {
    const message = `${this.#label}: ${missing[this.#wait]} within ${ms} ms.`;
    this.abandon(new HttpFailure('timeout', message, undefined, this.#firstTimeout));
  }

  #stopWaiting(): void {
    this.#timer.stop();
    this.#removeAbortListener?.();
  }

  #takePull(): PendingPull | undefined {
    const pull = this.#pull;
    this.#pull = undefined;
    return pull;
  }
}

type ReceivedHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** undici returns names in lower case, and an array for a repeated header, which is rare. */
function joinRepeated(headers: ReceivedHeaders): Readonly<Record<string, string>> {
  return hasNoRepeated(headers)
    ? headers
    : Object.fromEntries(
        Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')]),
      );
}

function hasNoRepeated(headers: ReceivedHeaders): headers is Readonly<Record<string, string>> {
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

const explanations: Readonly<Record<HttpFailureKind, string>> = {
  timeout: 'no response in time',
  network: 'no usable response',
  'too-large': 'the response is too large',
  aborted: 'it was stopped by this process',
};

/** Every other failure (refused, reset, truncated, TLS, not HTTP) is "network". */
function failureFrom(error: unknown, label: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const code = kindOf(error);
  const kind = kinds[code] ?? 'network';
  return new HttpFailure(kind, `${label} failed: ${explanations[kind]} (${code}).`, error);
}
