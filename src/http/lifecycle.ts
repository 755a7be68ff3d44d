// Requests in flight: counted, traced, aborted when the client leaves, drained when the server stops.
import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Emitter, Listed, OpenSpan, Tracer } from '../core/index.ts';
import { CoreError, onAbort, SlotList } from '../core/index.ts';
import type { HttpEvents } from './events.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Probes are served until the end. */
    isServedWhileDraining?: boolean;
    /** See `installDeadlines`. */
    deadlineMs?: number;
  }
  interface FastifyRequest {
    openSpan: OpenSpan | null;
    /** Aborts with DEADLINE_EXCEEDED; null for streams. */
    deadline: AbortSignal | null;
  }
  interface FastifyInstance {
    traffic: Traffic;
  }
}

export interface Closable extends Listed {
  forceClose(reason: CoreError): void;
}

export class Traffic {
  /** Aborts with SHUTTING_DOWN: nothing may wait any longer. */
  readonly draining: AbortSignal;
  readonly #clock: Clock;
  readonly #drain = new AbortController();
  readonly #closable = new SlotList<Closable>();
  #inFlight = 0;
  #idle: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.draining = this.#drain.signal;
    // One listener per request.
    setMaxListeners(0, this.draining);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get isDraining(): boolean {
    return this.draining.aborted;
  }

  stopAccepting(): void {
    this.#drain.abort(shuttingDown());
  }

  /** Counts one request until `exit`. */
  enter(): void {
    this.#inFlight += 1;
  }

  exit(): void {
    this.#inFlight -= 1;
    if (this.#inFlight > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Its `forceClose` is called when requests in flight must end. */
  register(request: Closable): void {
    this.#closable.add(request);
  }

  unregister(request: Closable): void {
    this.#closable.delete(request);
  }

  /** Ends the registered requests now. */
  forceClose(): void {
    for (const request of this.#closable.values()) request.forceClose(shuttingDown());
  }

  /** Resolves when no request is in flight, but no later than after `ms`. */
  idle(ms: number): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#idle.push(() => {
        cancel();
        resolve();
      });
    });
  }
}

/** Counts and reports every request; while draining, rejects all but probes. */
export function installTraffic(server: FastifyInstance, clock: Clock, events: Emitter<HttpEvents>): void {
  const traffic = new Traffic(clock);
  const tracking = { traffic, clock, events };
  server.decorate('traffic', traffic);
  // With a callback, like the other hooks of every request: promises would cost a tenth of a request's time.
  server.addHook('onRequest', (request, reply, done) => {
    const { id, method, routeOptions } = request;
    if (!handedOver.has(request.raw)) {
      const begun = beginRequest(tracking, id, method, routeOptions.url ?? 'unmatched');
      reply.raw.on('close', () => endRequest(tracking, begun, reply.raw));
    }
    done(traffic.isDraining ? rejection(request, reply) : undefined);
  });
}

/** Requests that were served before fastify, and failed: it sends the error. They are tracked already. */
export const handedOver = new WeakMap<
  IncomingMessage,
  { readonly requestId: string; readonly error: unknown }
>();

export interface TrackingDeps {
  readonly traffic: Traffic;
  readonly clock: Clock;
  readonly events: Emitter<HttpEvents>;
}

export interface BegunRequest {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  /** Monotonic. */
  readonly startedAt: number;
}

/** Counts the request until `endRequest`, which reports it. */
export function beginRequest(
  { traffic, clock }: TrackingDeps,
  requestId: string,
  method: string,
  route: string,
): BegunRequest {
  traffic.enter();
  return { requestId, method, route, startedAt: clock.monotonic() };
}

/** On 'close' of the response: it always fires once, also when the caller has disconnected; fastify's own onResponse does not. */
export function endRequest(
  { traffic, clock, events }: TrackingDeps,
  { requestId, method, route, startedAt }: BegunRequest,
  response: ServerResponse,
): void {
  traffic.exit();
  events.emit('http:request-finished', {
    requestId,
    method,
    route,
    status: String(response.writableFinished ? response.statusCode : 499),
    durationMs: clock.monotonic() - startedAt,
  });
}

function rejection(request: FastifyRequest, reply: FastifyReply): CoreError | undefined {
  reply.header('connection', 'close');
  if (request.routeOptions.config.isServedWhileDraining) return undefined;
  return shuttingDown();
}

const shuttingDown = (): CoreError =>
  new CoreError('SHUTTING_DOWN', 'This server is stopping. Use another one, or retry in a moment.', {
    isRetryable: true,
  });

export function traceRequests(server: FastifyInstance, tracer: Tracer): void {
  server.decorateRequest('openSpan', null);
  server.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unmatched';
    const facts = {
      'http.request.method': request.method,
      'http.route': route,
      'headworks.request_id': request.id,
    };
    const span = tracer.begin(`${request.method} ${route}`, facts, request.headers);
    request.openSpan = span;
    // 'close' always fires once, also when the caller has disconnected.
    reply.raw.on('close', () => {
      const status = reply.raw.writableFinished ? reply.raw.statusCode : 499;
      span.end({ 'http.response.status_code': status }, status >= 500);
    });
    span.run(done);
  });
  // Reading a body continues in the async context of the socket: back into that of the request.
  server.addHook('preValidation', (request, _reply, done) => {
    if (request.openSpan) request.openSpan.run(done);
    else done();
  });
}

/**
 * Ends a request with 504 `deadlineMs` after its body was received, or after its headers where the handler reads the body;
 * streams have no deadline. fastify's `handlerTimeout` cannot: it stops when the body has been read.
 */
export function installDeadlines(server: FastifyInstance, clock: Clock, defaultMs: number): void {
  server.decorateRequest('deadline', null);
  server.addHook('preValidation', (request, reply, done) => {
    const { isStream, deadlineMs = defaultMs } = request.routeOptions.config;
    if (!isStream) startDeadline(request, reply, clock, deadlineMs);
    done();
  });
}

function startDeadline(request: FastifyRequest, reply: FastifyReply, clock: Clock, ms: number): void {
  const deadline = new AbortController();
  request.deadline = deadline.signal;
  const cancel = clock.after(ms, () => {
    if (reply.sent) return;
    const error = new CoreError(
      'DEADLINE_EXCEEDED',
      `The request was aborted: it took longer than ${ms / 1_000} s. Try again later.`,
      { isRetryable: true },
    );
    deadline.abort(error);
    // A listener of the signal may have sent a response.
    if (reply.sent) return;
    if (reply.raw.headersSent) reply.raw.destroy(error);
    else void reply.send(error);
  });
  reply.raw.once('close', cancel);
}

/** A FastifyReply, or one that is sent without fastify. */
interface AbortableReply {
  readonly raw: ServerResponse;
  readonly request: Pick<FastifyRequest, 'deadline'>;
}

/**
 * Aborts with CANCELED once the client disconnects before the response is sent; at once if it has already. At the
 * request's deadline it aborts with DEADLINE_EXCEEDED. With
 * `traffic` also with SHUTTING_DOWN, when a stopping server waits no longer: the client still gets a response.
 */
export function clientAbortSignal(
  { raw, request: { deadline } }: AbortableReply,
  traffic?: Pick<Traffic, 'register' | 'unregister'>,
): AbortSignal {
  const leaving = new AbortController();
  const removeListener = onAbort(deadline ?? undefined, (reason) => leaving.abort(reason));
  const closable: Closable = { slot: undefined, forceClose: (reason) => leaving.abort(reason) };
  traffic?.register(closable);
  const left = () => {
    traffic?.unregister(closable);
    removeListener();
    if (!raw.writableFinished) leaving.abort(clientDisconnected());
  };
  if (raw.destroyed) left();
  else raw.once('close', left);
  return leaving.signal;
}

export const clientDisconnected = (): CoreError =>
  new CoreError('CANCELED', 'The client disconnected before the response.');

export interface DrainReport {
  /** Requests still in flight after the grace period, which were aborted. */
  readonly forciblyClosed: number;
}

/** Time for aborted requests to send their error. */
const errorGraceMs = 500;

/**
 * New requests get 503 at once, streams are ended, requests in flight may finish for `graceMs`; then those that can are
 * aborted with an error, and everything is closed. Safe to call twice.
 */
export async function drain(server: FastifyInstance, graceMs: number): Promise<DrainReport> {
  const { traffic, openStreams } = server;
  traffic.stopAccepting();
  openStreams.finishAll();
  server.server.closeIdleConnections();
  await traffic.idle(graceMs);
  const forciblyClosed = traffic.inFlight;
  traffic.forceClose();
  await traffic.idle(errorGraceMs);
  await server.close();
  return { forciblyClosed };
}

/** Long enough for a caller to read the response; one that continues to send is disconnected. */
const lingerMs = 5_000;

/** Whether a part of the body has not arrived; then the connection cannot be reused. */
const isUnread = ({ complete, readableEnded, headers }: IncomingMessage): boolean =>
  !complete &&
  !readableEnded &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** Sends a response whose status and other headers are set. A caller that still sends its body has time to read it. */
export function sendLingering(
  text: string,
  request: IncomingMessage,
  reply: FastifyReply,
  clock: Clock,
): void {
  const send = () => {
    if (!isUnread(request)) void reply.send(text);
    else
      void reply
        .headers({ connection: 'close', 'content-length': Buffer.byteLength(text) })
        .send(lingeringResponse(text, request, clock));
  };
  // A body that came together with the headers is complete one event-loop turn later.
  if (isUnread(request)) setImmediate(send);
  else send();
}

/**
 * Ends when the rest of the body has arrived or took too long. Many clients miss a response when the connection closes at
 * once: their next write fails before they read.
 */
function lingeringResponse(text: string, request: IncomingMessage, clock: Clock): Readable {
  async function* response(): AsyncGenerator<string> {
    yield text;
    await discardRest(request, clock);
  }
  return Readable.from(response(), { objectMode: false });
}

/** Resolves when the rest of the body has arrived, or took too long. */
export function discardRest(request: IncomingMessage, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(lingerMs, resolve);
  for (const event of ['end', 'close', 'error']) request.once(event, () => resolve());
  if (request.complete || request.destroyed) resolve();
  request.resume();
  return promise.finally(cancel);
}
