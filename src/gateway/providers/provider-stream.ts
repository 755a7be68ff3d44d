// A committed stream: everything after its first content, passed on as it arrives, with idle timeouts.
import type { ChunkReceiver, Clock, HttpChunks, HttpFlow, LinkedSignal } from '../../core/index.ts';
import { CoreError, HttpFailure, IdleTimer, onAbort } from '../../core/index.ts';
import type { FailureClass } from '../errors.ts';
import { GatewayError } from '../errors.ts';
import type { ProviderFailure, StreamEnd, StreamPipe, StreamSink, TokenUsage } from '../types.ts';
import { classifyFailure, classifyResponse } from './classify-failure.ts';
import type { StreamReader } from './stream-reader.ts';

export interface ProviderStreamBodyDeps {
  readonly chunks: HttpChunks;
  readonly reader: StreamReader;
  /** Aborts the call; linked to the caller's signal. */
  readonly link: LinkedSignal;
  readonly clock: Clock;
  readonly idleMs: number;
  readonly tokens: () => TokenUsage;
  /** For messages. */
  readonly model: string;
}

/** After [DONE] the connection gets this long to end, so that it can be reused. */
const drainMs = 500;

/** After the last content, usage and [DONE] get this long to arrive. */
const usageMs = 1_000;

/** Comments and empty chunks reset the idle timeout, but only for this many idle timeouts without content. */
const idleTimeoutsWithoutContent = 10;

/** Read once: iterated, one `next` at a time, or piped. */
export class ProviderStreamBody implements AsyncIterableIterator<Uint8Array>, ChunkReceiver {
  readonly #deps: ProviderStreamBodyDeps;
  readonly #ended = Promise.withResolvers<StreamEnd>();
  readonly #idleTimer: IdleTimer;
  #removeAbortListener: () => void = () => undefined;
  /** Null: completed; undefined: not ended yet. */
  #outcome: FailureClass | null | undefined;
  #isTimedOut = false;
  /** Since when only usage and [DONE] are expected; monotonic. */
  #awaitingDoneSince: number | undefined;
  /** The provider's time up to the last chunk. */
  #streamMs = 0;
  /** Monotonic: when the last chunk arrived. */
  #arrivedAt: number;
  /** Monotonic: when the next one was requested; undefined while the consumer is processing. */
  #readAt: number | undefined;
  /** Events with content so far, and the stream time of the last one. */
  #contentEvents = 0;
  #lastContentMs = 0;
  /** Where it is piped to. */
  #sink: StreamSink | undefined;
  #flow: HttpFlow | undefined;
  #isPaused = false;
  #cancelDrain: (() => void) | undefined;

  constructor(deps: ProviderStreamBodyDeps) {
    this.#deps = deps;
    this.#arrivedAt = deps.clock.monotonic();
    this.#idleTimer = new IdleTimer(deps.clock, () => {
      this.#isTimedOut = true;
      deps.link.abort(new HttpFailure('timeout', `${deps.model} sent nothing for ${deps.idleMs} ms.`));
    });
    // The caller may abort without reading.
    this.#removeAbortListener = onAbort(deps.link.signal, () =>
      this.#settle(this.#isTimedOut ? 'timeout' : 'canceled'),
    );
  }

  get ended(): Promise<StreamEnd> {
    return this.#ended.promise;
  }

  /* ---- iterated ---- */

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { reader, chunks } = this.#deps;
    while (this.#outcome === undefined) {
      if (reader.failure) throw this.#eventError();
      if (reader.isDone) return this.#finishPulled();
      let next: IteratorResult<Uint8Array>;
      try {
        this.#read();
        next = await chunks.next();
        this.#idleTimer.pause();
        // The end is not data: the time counts up to the last byte.
        if (!next.done) this.#arrived();
      } catch (error) {
        const last = this.#interrupted(error);
        if (last instanceof Error) throw last;
        return last ? { done: false, value: last } : finished;
      }
      const bytes = next.done ? reader.end() : reader.push(next.value);
      if (bytes) return { done: false, value: bytes };
      if (!next.done || reader.failure) continue;
      if (reader.isComplete) return this.#finishPulled();
      throw this.#error('network');
    }
    if (this.#outcome === null) return finished;
    throw this.#error(this.#outcome);
  }

  /** The consumer stops early: the provider call is aborted. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.stop();
    return finished;
  }

  #finishPulled(): IteratorResult<Uint8Array, undefined> {
    const cancel = this.#startDrain();
    drain(this.#deps.chunks).then(cancel, cancel);
    return finished;
  }

  /* ---- piped ---- */

  pipeTo(sink: StreamSink): StreamPipe | undefined {
    const { reader, chunks } = this.#deps;
    // The first chunk may have the end.
    if (this.#outcome !== undefined || reader.failure || reader.isDone) return undefined;
    this.#sink = sink;
    this.#flow = chunks.flowTo?.(this);
    if (!this.#flow) {
      this.#sink = undefined;
      return undefined;
    }
    if (this.#isPaused) this.#flow.pause();
    else if (this.#outcome === undefined) this.#read();
    return this;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#outcome !== undefined) return;
    this.#read();
    this.#flow?.resume();
  }

  stop(): void {
    this.#deps.link.abort(new HttpFailure('aborted', 'The stream was abandoned by its consumer.'));
    this.#settle('canceled');
  }

  onChunk(chunk: Uint8Array): void {
    if (this.#outcome !== undefined) return;
    const { reader } = this.#deps;
    this.#arrived();
    this.#write(reader.push(chunk));
    if (reader.failure) return this.#endSink(this.#eventError());
    if (reader.isDone) {
      this.#startDrain();
      return this.#endSink();
    }
    if (this.#isPaused) this.#idleTimer.pause();
    else this.#read();
  }

  onEnd(): void {
    this.#cancelDrain?.();
    if (this.#outcome !== undefined)
      return this.#endSink(this.#outcome === null ? undefined : this.#error(this.#outcome));
    const { reader } = this.#deps;
    this.#write(reader.end());
    if (reader.failure) return this.#endSink(this.#eventError());
    if (!reader.isComplete) return this.#endSink(this.#error('network'));
    this.#settle(null);
    this.#endSink();
  }

  onFailure(error: HttpFailure): void {
    this.#cancelDrain?.();
    const last = this.#interrupted(error);
    if (last instanceof Error) return this.#endSink(last);
    if (last) this.#sink?.write(last);
    this.#endSink();
  }

  /** Once; whatever ends the stream first. */
  #endSink(error?: GatewayError): void {
    const sink = this.#sink;
    this.#sink = undefined;
    if (error) sink?.fail(error);
    else sink?.end();
  }

  #write(bytes: Uint8Array | undefined): void {
    if (!bytes || this.#sink?.write(bytes) !== false || this.#isPaused) return;
    this.#isPaused = true;
    this.#flow?.pause();
  }

  /* ---- time ---- */

  /** Waits for the next chunk. */
  #read(): void {
    this.#idleTimer.start(this.#timeoutMs());
    this.#readAt = this.#deps.clock.monotonic();
  }

  /** Short while only usage and [DONE] are missing, even if comments keep coming. */
  #timeoutMs(): number {
    const { reader, clock, idleMs } = this.#deps;
    if (!reader.isAwaitingDone) {
      this.#awaitingDoneSince = undefined;
      return Math.min(idleMs, this.#untilContentMs());
    }
    const now = clock.monotonic();
    this.#awaitingDoneSince ??= now;
    return Math.max(0, Math.min(idleMs, this.#awaitingDoneSince + usageMs - now));
  }

  #untilContentMs(): number {
    const { reader, idleMs } = this.#deps;
    if (reader.contentEvents > this.#contentEvents) {
      this.#contentEvents = reader.contentEvents;
      this.#lastContentMs = this.#streamMs;
    }
    return Math.max(0, this.#lastContentMs + idleTimeoutsWithoutContent * idleMs - this.#streamMs);
  }

  #arrived(): void {
    this.#streamMs = this.#msSoFar();
    this.#arrivedAt = this.#deps.clock.monotonic();
    this.#readAt = undefined;
  }

  /** Up to now while a read is pending, otherwise up to the last chunk. */
  #msSoFar(): number {
    if (this.#readAt === undefined) return this.#streamMs;
    const waitedMs = this.#deps.clock.monotonic() - this.#readAt;
    return this.#streamMs + providerMs(this.#readAt - this.#arrivedAt, waitedMs);
  }

  /* ---- the end ---- */

  /** The rest of the response is ignored. */
  #startDrain(): () => void {
    const { link, clock } = this.#deps;
    this.#settle(null);
    const cancel = clock.after(drainMs, () =>
      link.abort(new HttpFailure('aborted', 'The stream has ended.')),
    );
    this.#cancelDrain = cancel;
    return cancel;
  }

  /**
   * A connection that breaks after completion is not a failure: then the last bytes, which a translated stream still
   * needs.
   */
  #interrupted(cause: unknown): GatewayError | Uint8Array | undefined {
    const { reader } = this.#deps;
    if (reader.isComplete) {
      const last = reader.finish();
      this.#settle(null);
      return last;
    }
    if (this.#isTimedOut) return this.#error('timeout', cause);
    const failureClass = cause instanceof HttpFailure ? classifyFailure(cause).failureClass : 'network';
    return this.#error(failureClass, cause);
  }

  #eventError(): GatewayError {
    const { reader, clock } = this.#deps;
    const { failure } = reader;
    if (!failure || 'failureClass' in failure)
      return this.#error(failure?.failureClass ?? 'invalid-response');
    const response = { status: 200, headers: {}, body: failure.errorBody };
    const { failureClass, retryHint } = classifyResponse(response, clock.now());
    return this.#error(failureClass, undefined, retryHint);
  }

  /** Ends the stream and the call. */
  #error(
    failureClass: FailureClass,
    cause?: unknown,
    retryHint?: ProviderFailure['retryHint'],
  ): GatewayError {
    const { link, model } = this.#deps;
    const isStopping = isShuttingDown(link.signal.reason);
    this.#settle(failureClass, retryHint);
    link.abort(new HttpFailure('aborted', 'The stream failed.'));
    const why = isStopping ? 'this server is stopping' : failureClass;
    return new GatewayError(
      'GATEWAY_STREAM_INTERRUPTED',
      `The response of ${model} was interrupted (${why}). What was received is incomplete; send the request again.`,
      { isRetryable: isStopping || failureClass !== 'canceled', details: { model, failureClass }, cause },
    );
  }

  #settle(failureClass: FailureClass | null, retryHint?: ProviderFailure['retryHint']): void {
    if (this.#outcome !== undefined) return;
    const { reader, tokens, link } = this.#deps;
    this.#outcome = reader.isComplete && !reader.failure ? null : failureClass;
    this.#idleTimer.stop();
    this.#removeAbortListener();
    link.dispose();
    // A stream that stalled is charged the wait; one that was complete is not.
    const streamMs = this.#outcome === null ? this.#streamMs : this.#msSoFar();
    this.#ended.resolve({ failureClass: this.#outcome, tokens: tokens(), streamMs, retryHint });
  }
}

const isShuttingDown = (reason: unknown): boolean =>
  reason instanceof CoreError && reason.code === 'SHUTTING_DOWN';

const finished: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

async function drain(chunks: AsyncIterator<Uint8Array>): Promise<void> {
  for (let next = await chunks.next(); !next.done;) next = await chunks.next();
}

/**
 * A chunk that is there this soon after it was read had arrived before. After a long pause of the consumer a busy
 * machine may take longer to deliver it: a hundredth of the pause.
 */
const immediateMs = 1;
const immediateShare = 0.01;

/**
 * The provider's share of the time between two chunks: first the consumer processes one, then it waits for the next. If
 * the next one is there at once, only the wait is the provider's; if not, the provider was working during all of it.
 */
export function providerMs(consumerMs: number, waitedMs: number): number {
  const isImmediate = waitedMs < Math.max(immediateMs, consumerMs * immediateShare);
  return isImmediate && consumerMs >= immediateMs ? waitedMs : waitedMs + consumerMs;
}
