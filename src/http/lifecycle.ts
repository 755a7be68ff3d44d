// Requests in flight: counted, traced, aborted when the client leaves, drained when the server stops.
import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Emitter, OpenSpan, Tracer } from '../core/index.ts';
import { CoreError } from '../core/index.ts';
import type { HttpEvents } from './events.ts';

export class Traffic {
  /** Aborts with SHUTTING_DOWN: whoever waits for something may wait no longer. */
  readonly draining: AbortSignal;
  readonly #clock: Clock;
  readonly #drain = new AbortController();
  readonly #cutOff = new Set<(reason: CoreError) => void>();
  #underWay = 0;
  #idle: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.draining = this.#drain.signal;
    // As many as there are requests.
    setMaxListeners(0, this.draining);
  }

  get underWay(): number {
    return this.#underWay;
  }

  get isDraining(): boolean {
    return this.draining.aborted;
  }

  stopTaking(): void {
    this.#drain.abort(shuttingDown());
  }

  /** Counts one request until it leaves. */
  enter(): void {
    this.#underWay += 1;
  }

  leave(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Calls `run` when requests under way may go on no longer; the returned function takes that back. */
  onCutOff(run: (reason: CoreError) => void): () => void {
    this.#cutOff.add(run);
    return () => this.#cutOff.delete(run);
  }

  /** Tells those that listen to come to an end now. */
  cutOff(): void {
    for (const run of this.#cutOff) run(shuttingDown());
  }

  /** Resolves when no request is under way, but no later than after `ms`. */
  idle(ms: number): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#idle.push(() => {
        cancel();
        resolve();
      });
    });
  }
}

/** Counts and reports every request; while draining, refuses all but probes. */
export function installTraffic(server: FastifyInstance, clock: Clock, events: Emitter<HttpEvents>): void {
  const traffic = new Traffic(clock);
  server.decorate('traffic', traffic);
  // With a callback, as the other hooks of every request: a promise each would cost a tenth of a request's time.
  server.addHook('onRequest', (request, reply, done) => {
    const startedAt = clock.monotonic();
    traffic.enter();
    // 'close' comes always, once, also when the caller has left; fastify's own onResponse does not.
    reply.raw.on('close', () => {
      traffic.leave();
      events.emit('http:request-finished', {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'unmatched',
        status: String(reply.raw.writableFinished ? reply.raw.statusCode : 499),
        durationMs: clock.monotonic() - startedAt,
      });
    });
    done(traffic.isDraining ? refusal(request, reply) : undefined);
  });
}

function refusal(request: FastifyRequest, reply: FastifyReply): CoreError | undefined {
  reply.header('connection', 'close');
  if (request.routeOptions.config.isServedWhileDraining) return undefined;
  return shuttingDown();
}

const shuttingDown = (): CoreError =>
  new CoreError('SHUTTING_DOWN', 'This server is stopping. Ask another one, or again in a moment.', {
    isRetryable: true,
  });

declare module 'fastify' {
  interface FastifyRequest {
    openSpan: OpenSpan | null;
  }
}

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
    // 'close' comes always, once, also when the caller has left.
    reply.raw.on('close', () => {
      const status = reply.raw.writableFinished ? reply.raw.statusCode : 499;
      span.end({ 'http.response.status_code': status }, status >= 500);
    });
    span.run(done);
  });
  // Reading a body goes on in whatever the socket runs in: back into the request's own.
  server.addHook('preValidation', (request, _reply, done) => {
    if (request.openSpan) request.openSpan.run(done);
    else done();
  });
}

/**
 * Aborts with CANCELED once the caller leaves before its answer is sent; at once for one that has left already. With
 * `traffic` also with SHUTTING_DOWN, when a server that stops waits no longer: the caller is still there and can be told.
 */
export function clientAbortSignal(raw: ServerResponse, traffic?: Pick<Traffic, 'onCutOff'>): AbortSignal {
  const leaving = new AbortController();
  const forget = traffic?.onCutOff((reason) => leaving.abort(reason));
  const left = () => {
    forget?.();
    if (!raw.writableFinished)
      leaving.abort(new CoreError('CANCELED', 'The caller went away before the answer.'));
  };
  if (raw.destroyed) left();
  else raw.once('close', left);
  return leaving.signal;
}

export interface DrainReport {
  /** Requests that were still under way when the grace was over, and were cut off. */
  readonly cutOff: number;
}

/** What is cut off gets this long to say so. */
const lastWordsMs = 500;

/**
 * New requests get 503 at once, streams are ended, requests under way may finish for `graceMs`; then those that can are
 * ended with an error, and everything is closed. Safe to call twice.
 */
export async function drain(server: FastifyInstance, graceMs: number): Promise<DrainReport> {
  const { traffic, openStreams } = server;
  traffic.stopTaking();
  openStreams.finishAll();
  server.server.closeIdleConnections();
  await traffic.idle(graceMs);
  const cutOff = traffic.underWay;
  traffic.cutOff();
  await traffic.idle(lastWordsMs);
  await server.close();
  return { cutOff };
}
