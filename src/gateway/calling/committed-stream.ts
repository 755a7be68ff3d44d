// The rest of a streamed answer after its first content: passed on as it comes, watched for silence and cuts.
import type { Clock, LinkedSignal } from '../../core/index.ts';
import { CoreError, HttpFailure, onAbort } from '../../core/index.ts';
import { classifyAnswer, classifyFailure } from '../classification/index.ts';
import { GatewayError } from '../errors.ts';
import type { FailureClass } from '../failure-classes.ts';
import type { ProviderFailure, ProviderStream, Tokens } from '../ports.ts';
import { SilenceWatch } from './silence-watch.ts';
import { SpeakingTime } from './speaking-time.ts';
import type { StreamReader } from './stream-reader.ts';

export interface ProviderStreamBodyDeps {
  readonly pieces: AsyncIterator<Uint8Array>;
  readonly reader: StreamReader;
  /** Aborts the call; linked to the caller's signal. */
  readonly link: LinkedSignal;
  readonly clock: Clock;
  readonly idleMs: number;
  readonly tokens: () => Tokens;
  /** As messages name it. */
  readonly model: string;
}

/** After [DONE] the connection gets this long to end properly, so that it can be used again. */
const graceMs = 500;

/** After the last word usage and [DONE] get this long to come. */
const lastWordsMs = 1_000;

/** Comments and empty pieces are signs of life, but not for ever: without content for so many silences it has hung. */
const silencesWithoutContent = 10;

type Ended = Awaited<ProviderStream['ended']>;

/** Iterated once, one `next` at a time. */
export class ProviderStreamBody implements AsyncIterableIterator<Uint8Array> {
  readonly #parts: ProviderStreamBodyDeps;
  readonly #ended = Promise.withResolvers<Ended>();
  readonly #watch: SilenceWatch;
  readonly #speaking: SpeakingTime;
  #forgetAbort: () => void = () => undefined;
  /** How it ended: null is well, undefined not yet. */
  #outcome: FailureClass | null | undefined;
  #isSilent = false;
  /** Since when all is said; monotonic. */
  #throughAt: number | undefined;
  /** Pieces of content so far, and when the last one came, in the speaker's own time. */
  #contents = 0;
  #contentAtMs = 0;

  constructor(parts: ProviderStreamBodyDeps) {
    this.#parts = parts;
    this.#speaking = new SpeakingTime(parts.clock);
    this.#watch = new SilenceWatch(parts.clock, () => {
      this.#isSilent = true;
      parts.link.abort(new HttpFailure('timeout', `${parts.model} fell silent for ${parts.idleMs} ms.`));
    });
    // The caller may leave while nobody reads.
    this.#forgetAbort = onAbort(parts.link.signal, () =>
      this.#settle(this.#isSilent ? 'timeout' : 'canceled'),
    );
  }

  get ended(): Promise<Ended> {
    return this.#ended.promise;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { reader, pieces } = this.#parts;
    while (this.#outcome === undefined) {
      if (reader.failure) return this.#breakOffAsSpoken();
      if (reader.isDone) return this.#finish();
      let next: IteratorResult<Uint8Array>;
      try {
        this.#watch.listen(this.#patienceMs());
        this.#speaking.ask();
        next = await pieces.next();
        this.#watch.heard();
        // The end is no byte: the time goes to the last one that came in.
        if (!next.done) this.#speaking.hear();
      } catch (error) {
        return this.#interrupted(error);
      }
      const bytes = next.done ? reader.end() : reader.push(next.value);
      if (bytes) return { done: false, value: bytes };
      if (next.done && !reader.failure) return reader.isComplete ? this.#finish() : this.#breakOff('network');
    }
    return this.#outcome === null ? over : this.#breakOff(this.#outcome);
  }

  /** The reader leaves early: the provider is told at once. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#parts.link.abort(new HttpFailure('aborted', 'The reader of the stream left.'));
    this.#settle('canceled');
    return over;
  }

  /** Whoever says neither what it cost nor [DONE] is not waited for; nor is one that goes on with comments. */
  #patienceMs(): number {
    const { reader, clock, idleMs } = this.#parts;
    if (!reader.isAwaitingDone) {
      this.#throughAt = undefined;
      return Math.min(idleMs, this.#untilContentMs());
    }
    const now = clock.monotonic();
    this.#throughAt ??= now;
    return Math.max(0, Math.min(idleMs, this.#throughAt + lastWordsMs - now));
  }

  #untilContentMs(): number {
    const { reader, idleMs } = this.#parts;
    const { ms } = this.#speaking;
    if (reader.contents > this.#contents) {
      this.#contents = reader.contents;
      this.#contentAtMs = ms;
    }
    return Math.max(0, this.#contentAtMs + silencesWithoutContent * idleMs - ms);
  }

  #finish(): IteratorResult<Uint8Array, undefined> {
    const { pieces, link, clock } = this.#parts;
    this.#settle(null);
    const cancel = clock.after(graceMs, () => link.abort(new HttpFailure('aborted', 'The stream was over.')));
    drain(pieces).then(cancel, cancel);
    return over;
  }

  #interrupted(error: unknown): IteratorResult<Uint8Array, undefined> {
    // What it had to say was said.
    if (this.#parts.reader.isComplete) {
      this.#settle(null);
      return over;
    }
    if (this.#isSilent) return this.#breakOff('timeout', error);
    const failureClass = error instanceof HttpFailure ? classifyFailure(error).failureClass : 'network';
    return this.#breakOff(failureClass, error);
  }

  #breakOffAsSpoken(): never {
    const { reader, clock } = this.#parts;
    const { failure } = reader;
    if (!failure || 'failureClass' in failure)
      return this.#breakOff(failure?.failureClass ?? 'invalid-response');
    const answer = { status: 200, headers: {}, body: failure.errorBody };
    const { failureClass, hint } = classifyAnswer(answer, clock.now());
    return this.#breakOff(failureClass, undefined, hint);
  }

  #breakOff(failureClass: FailureClass, cause?: unknown, hint?: ProviderFailure['hint']): never {
    const { link, model } = this.#parts;
    const isOurDoing = isShuttingDown(link.signal.reason);
    this.#settle(failureClass, hint);
    link.abort(new HttpFailure('aborted', 'The stream broke off.'));
    const why = isOurDoing ? 'this server is stopping' : failureClass;
    throw new GatewayError(
      'GATEWAY_STREAM_INTERRUPTED',
      `The answer of ${model} broke off after it had begun (${why}). What came is not the whole; ask again.`,
      { isRetryable: isOurDoing || failureClass !== 'canceled', details: { model, failureClass }, cause },
    );
  }

  #settle(failureClass: FailureClass | null, hint?: ProviderFailure['hint']): void {
    if (this.#outcome !== undefined) return;
    const { reader, tokens, link } = this.#parts;
    this.#outcome = reader.isComplete && !reader.failure ? null : failureClass;
    this.#watch.stop();
    this.#forgetAbort();
    link.dispose();
    // Whoever fell silent is charged the silence; whoever had said all is not.
    const streamMs = this.#outcome === null ? this.#speaking.ms : this.#speaking.msSoFar;
    this.#ended.resolve({ failureClass: this.#outcome, tokens: tokens(), streamMs, hint });
  }
}

const isShuttingDown = (reason: unknown): boolean =>
  reason instanceof CoreError && reason.code === 'SHUTTING_DOWN';

const over: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

async function drain(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  for (let next = await pieces.next(); !next.done;) next = await pieces.next();
}
