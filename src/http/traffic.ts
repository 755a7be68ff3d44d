// Which requests are under way, and whether new ones are still taken.
import { setMaxListeners } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Emitter } from '../core/index.ts';
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
