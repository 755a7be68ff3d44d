// HTTP with undici.
import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import type {
  ChunkReceiver,
  Clock,
  HttpCall,
  HttpFailureKind,
  HttpFlow,
  HttpReceiver,
  HttpRequest,
  HttpResponse,
  HttpTransport,
  HttpWait,
} from '../../core/index.ts';
import { HttpFailure, kindOf, onAbort, SlotList, systemClock } from '../../core/index.ts';
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
export function createUndiciTransport(options: UndiciTransportOptions): Required<HttpTransport> {
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
  const timeouts = new TimeoutList(clock);
  let agent: Agent | undefined;
  let isClosed = false;

  /** undici takes 90 ms and 20 MB to load, so it is loaded with the first request. */
  const loadAgent = async (): Promise<Agent> => {
    const undici = await import('undici');
    agent ??= new undici.Agent(agentOptions);
    if (isClosed) await agent.destroy();
    return agent;
  };

  const start = (request: HttpRequest, receiver: HttpReceiver, bodyMs: number): Call => {
    const target = targets.get(request.url);
    const call = new Call(request, target, receiver, timeouts, {
      connectMs: Math.min(request.connectTimeoutMs ?? connectTimeoutMs, connectTimeoutMs),
      headersMs: request.headersTimeoutMs ?? defaultTimeoutMs,
      bodyMs,
      responseMs: request.responseTimeoutMs ?? Number.POSITIVE_INFINITY,
    });
    if (agent) dispatch(agent, target, request, call);
    else
      loadAgent().then(
        (loaded) => dispatch(loaded, target, request, call),
        (error: Error) => call.onResponseError(null, error),
      );
    return call;
  };

  return {
    send: (request, receiver) => start(request, receiver, request.bodyTimeoutMs ?? defaultTimeoutMs),
    async request(request): Promise<HttpResponse> {
      const { signal } = request;
      if (signal?.aborted)
        throw stoppedByCaller(requestLabel(request.method, targets.get(request.url)), signal.reason);
      const source = new PulledBody();
      // The reader of the body has its own timeout.
      const call = start(request, source, Number.POSITIVE_INFINITY);
      source.start(call, signal);
      const { status, headers } = await source.head;
      const bodyTimeoutMs = request.bodyTimeoutMs ?? defaultTimeoutMs;
      return new SourcedResponse({ status, headers, source, clock, bodyTimeoutMs, label: call.label });
    },
    close: async () => {
      isClosed = true;
      await agent?.destroy();
    },
  };
}

function dispatch(agent: Agent, target: Target, request: HttpRequest, call: Call): void {
  if (call.isOver) return;
  try {
    agent.dispatch(
      {
        origin: target.origin,
        path: target.pathname + target.search,
        method: request.method,
        headers: request.headers ?? null,
        body: request.body ?? null,
      },
      call,
    );
  } catch (error) {
    call.onResponseError(null, error as Error);
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
  readonly connectMs: number;
  readonly headersMs: number;
  /** Between two chunks; may be infinite. */
  readonly bodyMs: number;
  /** Of the whole response; may be infinite. */
  readonly responseMs: number;
}

const missing = {
  connect: 'no connection',
  headers: 'connected, but no response',
  body: 'the response was not complete',
} as const;

/**
 * One request and its response: waiting for a connection → connected → head → chunks → end. `abort` ends it from any
 * state: at once for the receiver, and for the socket as soon as undici has one.
 */
class Call implements Dispatcher.DispatchHandler, HttpCall {
  readonly #request: HttpRequest;
  readonly #target: Target;
  readonly #receiver: HttpReceiver;
  readonly #list: TimeoutList;
  readonly #timeouts: Timeouts;
  #responseMs: number;
  #endsAt: number;
  /** The current wait, and the one whose timeout comes first: its own, or that of the whole response. */
  #wait: Exclude<HttpWait, 'response'> = 'connect';
  #firstTimeout: HttpWait = 'connect';
  #waitMs = 0;
  /** Monotonic. */
  #dueAt = Number.POSITIVE_INFINITY;
  slot: number | undefined;
  /** A part of the response has arrived since the list was last looked through. */
  #hasProgressed = false;
  #controller: Dispatcher.DispatchController | undefined;
  #failure: HttpFailure | undefined;
  isOver = false;

  constructor(
    request: HttpRequest,
    target: Target,
    receiver: HttpReceiver,
    list: TimeoutList,
    timeouts: Timeouts,
  ) {
    this.#request = request;
    this.#target = target;
    this.#receiver = receiver;
    this.#list = list;
    this.#timeouts = timeouts;
    const now = list.now();
    this.#responseMs = timeouts.responseMs;
    this.#endsAt = now + timeouts.responseMs;
    this.#allow(timeouts.connectMs, now);
    list.add(this);
  }

  /** Of the request, for error messages. */
  get label(): string {
    return requestLabel(this.#request.method, this.#target);
  }

  abort(failure: HttpFailure): void {
    if (this.isOver) return;
    this.#fail(failure);
    this.#controller?.abort(failure);
  }

  limit(ms: number): void {
    const endsAt = this.#list.now() + ms;
    if (endsAt >= this.#endsAt) return;
    this.#endsAt = endsAt;
    this.#responseMs = ms;
    this.#dueAt = Math.min(this.#dueAt, endsAt);
    if (this.#dueAt === endsAt) this.#firstTimeout = 'response';
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    if (this.#controller?.paused) this.#controller.resume();
  }

  /** Reading the clock for each part would take as long as reading the part: the next one is due from now on. */
  check(now: number): void {
    if (this.#hasProgressed) this.#allow(this.#timeouts.bodyMs, now);
    this.#hasProgressed = false;
    if (this.#dueAt <= now) this.#timeOut();
  }

  #timeOut(): void {
    const ms = this.#firstTimeout === 'response' ? this.#responseMs : this.#waitMs;
    const message = `${this.label}: ${missing[this.#wait]} within ${ms} ms.`;
    this.abort(new HttpFailure('timeout', message, undefined, this.#firstTimeout));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Aborted while it still waited for a connection: nothing is sent.
    if (this.#failure) return controller.abort(this.#failure);
    if (this.#request.onSent?.() === false)
      return this.abort(new HttpFailure('aborted', `${this.label} was not sent: its caller withdrew it.`));
    this.#wait = 'headers';
    this.#allow(this.#timeouts.headersMs, this.#list.now());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ReceivedHeaders,
  ): void {
    if (status < 200 || this.isOver) return;
    this.#wait = 'body';
    this.#hasProgressed = true;
    this.#receiver.onHead(status, joinRepeated(headers));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.isOver) return;
    this.#hasProgressed = true;
    this.#receiver.onChunk(chunk);
  }

  onResponseEnd(): void {
    if (this.isOver) return;
    this.#end();
    this.#receiver.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (!this.isOver) this.#fail(failureFrom(error, this.label));
  }

  #fail(failure: HttpFailure): void {
    this.#failure = failure;
    this.#end();
    this.#receiver.onFailure(failure);
  }

  #end(): void {
    this.isOver = true;
    this.#list.delete(this);
  }

  #allow(ms: number, now: number): void {
    const endsAt = now + ms;
    this.#waitMs = ms;
    this.#firstTimeout = endsAt <= this.#endsAt ? this.#wait : 'response';
    this.#dueAt = Math.min(endsAt, this.#endsAt);
  }
}

const sweepMs = 25;

/**
 * Ends the calls whose time is over, up to 50 ms late. One timer for all calls: one for each takes 2 µs, as much as
 * reading a small response.
 */
class TimeoutList {
  readonly #clock: Clock;
  readonly #calls = new SlotList<Call>();
  #isScheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Monotonic. */
  now(): number {
    return this.#clock.monotonic();
  }

  add(call: Call): void {
    this.#calls.add(call);
    if (!this.#isScheduled) this.#schedule();
  }

  delete(call: Call): void {
    this.#calls.delete(call);
  }

  #schedule(): void {
    this.#isScheduled = true;
    this.#clock.after(sweepMs, () => {
      const now = this.now();
      for (const call of this.#calls.values()) call.check(now);
      this.#isScheduled = false;
      if (this.#calls.size > 0) this.#schedule();
    });
  }
}

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

/** A response that is pulled: its chunks wait here. */
class PulledBody implements HttpReceiver, BodySource {
  readonly #head = Promise.withResolvers<ResponseHead>();
  #call: Call | undefined;
  #removeAbortListener: (() => void) | undefined;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  #isAtEnd = false;
  #failure: HttpFailure | undefined;
  #pull: PendingPull | undefined;
  /** Gets the chunks as they arrive, once it is set. */
  #flow: ChunkReceiver | undefined;

  /** Rejects with an HttpFailure. */
  get head(): Promise<ResponseHead> {
    return this.#head.promise;
  }

  /** Fails the body when the signal aborts. */
  start(call: Call, signal: AbortSignal | undefined): void {
    this.#call = call;
    if (!this.#isOver)
      this.#removeAbortListener = onAbort(signal, (reason) =>
        this.abandon(stoppedByCaller(call.label, reason)),
      );
  }

  pull(): Promise<Uint8Array | null> {
    if (this.#failure) return Promise.reject(this.#failure);
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#bufferedBytes -= chunk.byteLength;
      if (this.#bufferedBytes <= pauseAboveBytes) this.#call?.resume();
      return Promise.resolve(chunk);
    }
    if (this.#isAtEnd) return Promise.resolve(null);
    return new Promise((resolve, reject) => (this.#pull = { resolve, reject }));
  }

  rest(): readonly Uint8Array[] | undefined {
    return this.#isAtEnd ? this.#takeChunks() : undefined;
  }

  abandon(failure: HttpFailure): void {
    this.#call?.abort(failure);
  }

  flowTo(receiver: ChunkReceiver): HttpFlow | undefined {
    const call = this.#call;
    if (!call || this.#isOver) return undefined;
    this.#flow = receiver;
    for (const chunk of this.#takeChunks()) receiver.onChunk(chunk);
    call.resume();
    return call;
  }

  onHead(status: number, headers: ResponseHead['headers']): void {
    this.#head.resolve({ status, headers });
  }

  onChunk(chunk: Uint8Array): void {
    if (this.#flow) return this.#flow.onChunk(chunk);
    if (this.#pull) return this.#takePull()?.resolve(chunk);
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.byteLength;
    if (this.#bufferedBytes > pauseAboveBytes) this.#call?.pause();
  }

  onEnd(): void {
    this.#isAtEnd = true;
    this.#takePull()?.resolve(null);
    this.#removeAbortListener?.();
    this.#flow?.onEnd();
  }

  onFailure(failure: HttpFailure): void {
    this.#failure = failure;
    this.#chunks = [];
    this.#head.reject(failure);
    this.#takePull()?.reject(failure);
    this.#removeAbortListener?.();
    this.#flow?.onFailure(failure);
  }

  get #isOver(): boolean {
    return this.#failure !== undefined || this.#isAtEnd;
  }

  #takeChunks(): readonly Uint8Array[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#bufferedBytes = 0;
    return chunks;
  }

  #takePull(): PendingPull | undefined {
    const pull = this.#pull;
    this.#pull = undefined;
    return pull;
  }
}

const stoppedByCaller = (label: string, reason: unknown): HttpFailure =>
  new HttpFailure('aborted', `${label} was stopped by its caller.`, reason);

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
