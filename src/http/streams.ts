// Responses that stay open: server-sent events with heartbeats, an end when the server drains, bounded memory.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, EmittedEvent, Emitter, Redactor } from '../core/index.ts';
import { plainValue, snakeCaseKeys, withoutContent } from '../core/index.ts';
import { HttpError } from './errors.ts';
import type { HttpEvents } from './events.ts';

declare module 'fastify' {
  interface FastifyInstance {
    openStreams: OpenStreams;
  }
}

/** How long a finished stream may take to be read to its end. */
const lingerMs = 5_000;

export interface StreamLimits {
  /** Time between two heartbeats of a stream. */
  readonly heartbeatMs: number;
  /** Unread bytes at which a stream's reader counts as too slow. */
  readonly streamBufferBytes: number;
  /** Streams open at once. */
  readonly maxStreams: number;
}

interface StreamDeps {
  readonly clock: Clock;
  readonly events: Emitter<HttpEvents>;
  readonly limits: StreamLimits;
}

/** One server-sent event. Data has no line breaks: it is JSON. */
export function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** One event of the live stream, without content and secrets. */
export function liveEventText(emitted: EmittedEvent, atMs: number, redactor: Redactor): string {
  const payload = plainValue(withoutContent(emitted), { text: (raw) => redactor.text(raw) });
  const at = new Date(atMs).toISOString();
  return eventText(emitted.name, { name: emitted.name, at, payload: snakeCaseKeys(payload) });
}

/** open → (finish: the rest is read) → closed. What is written after `finish` is dropped. */
class OpenStream extends Readable {
  readonly #deps: StreamDeps;
  readonly #label: { readonly requestId: string; readonly route: string };
  #isFinishing = false;
  #cancelTimer: () => void;

  constructor(deps: StreamDeps, label: { readonly requestId: string; readonly route: string }) {
    super();
    this.#deps = deps;
    this.#label = label;
    this.#cancelTimer = this.#armHeartbeat();
    // The first bytes carry the headers; `retry` sets the reconnection delay of browsers.
    this.push('retry: 2000\n\n');
  }

  /** Queues the text; a reader that is too far behind is disconnected with a reason. */
  write(text: string): void {
    if (this.#isFinishing || this.destroyed) return;
    const bufferedBytes = this.readableLength;
    if (bufferedBytes + Buffer.byteLength(text) <= this.#deps.limits.streamBufferBytes) {
      this.push(text);
      return;
    }
    this.#deps.events.emit('http:stream-dropped', { ...this.#label, bufferedBytes });
    this.finish('too-slow', 'Events were dropped because they were read too slowly. Connect again.');
  }

  finish(reason: 'draining' | 'too-slow', message: string): void {
    if (this.#isFinishing || this.destroyed) return;
    this.#isFinishing = true;
    this.#cancelTimer();
    this.#cancelTimer = this.#deps.clock.after(lingerMs, () => this.destroy());
    this.push(eventText('stream:closing', { reason, message }));
    this.push(null);
  }

  override _read(): void {
    // Everything is pushed as it happens.
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#cancelTimer();
    done(error);
  }

  #armHeartbeat(): () => void {
    return this.#deps.clock.after(this.#deps.limits.heartbeatMs, () => {
      this.write(': alive\n\n');
      if (!this.#isFinishing) this.#cancelTimer = this.#armHeartbeat();
    });
  }
}

export class OpenStreams {
  readonly #deps: StreamDeps;
  readonly #streams = new Set<OpenStream>();

  constructor(deps: StreamDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** A stream for this request. Fails with HTTP_TOO_MANY_STREAMS; `onClose` is called once, however it ends. */
  open(request: FastifyRequest, onClose: () => void): OpenStream {
    if (this.#streams.size >= this.#deps.limits.maxStreams)
      throw new HttpError(
        'HTTP_TOO_MANY_STREAMS',
        `${this.#streams.size} streams are open, the maximum of this server. Close one, or try again later.`,
        { isRetryable: true },
      );
    const stream = new OpenStream(this.#deps, {
      requestId: request.id,
      route: request.routeOptions.url ?? '',
    });
    this.#streams.add(stream);
    stream.once('close', () => {
      this.#streams.delete(stream);
      onClose();
    });
    return stream;
  }

  finishAll(): void {
    for (const stream of this.#streams) stream.finish('draining', 'The server is stopping. Connect again.');
  }
}

/** Sends the stream as the response. */
export function sendStream(reply: FastifyReply, stream: OpenStream): FastifyReply {
  return reply
    .headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      // Proxies like nginx would buffer events.
      'x-accel-buffering': 'no',
    })
    .send(stream);
}
