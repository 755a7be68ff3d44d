// Receives a body chunk by chunk within its limits, and removes its listeners on every path.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/index.ts';
import { CoreError, formatBytes, onAbort } from '../../core/index.ts';
import { DeploymentError } from '../../tenancy/index.ts';
import type { UploadLimits } from '../../tenancy/index.ts';
import type { UploadShare } from './upload-memory.ts';

export interface Receiving {
  readonly clock: Clock;
  readonly limits: UploadLimits;
  readonly memory: UploadShare;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
}

export function tooLarge(what: string): DeploymentError {
  return new DeploymentError('DEPLOYMENT_UPLOAD_TOO_LARGE', `${what} Send less at once.`);
}

/** Resolves when the whole body has arrived. An error of `onChunk` ends it; the rest is left unread. */
export function receiveBody(
  request: IncomingMessage,
  { clock, limits, memory, signal }: Receiving,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timeouts = new UploadTimeouts(clock, limits);
  let received = 0;
  const onData = (chunk: Buffer) => {
    timeouts.arrived(chunk.byteLength);
    received += chunk.byteLength;
    try {
      if (received > limits.maxBodyBytes)
        throw tooLarge(`The request is larger than ${formatBytes(limits.maxBodyBytes)}.`);
      memory.take(chunk.byteLength);
      onChunk(chunk);
    } catch (error) {
      end(error);
    }
  };
  const onEnd = () => end();
  const onGone = () =>
    end(new CoreError('CANCELED', 'The caller disconnected before its request was complete.'));
  const undo: (() => void)[] = [];
  function end(error?: unknown): void {
    timeouts.end();
    for (const release of undo) release();
    request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    // Without a listener a caller that disconnects now would end the process.
    request.on('error', () => undefined);
    if (error === undefined) resolve();
    else reject(error instanceof Error ? error : new CoreError('CANCELED', 'The request was aborted.'));
  }
  request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  undo.push(onAbort(timeouts.signal, end));
  undo.push(onAbort(signal, end));
  return promise;
}

const windowMs = 5_000;
/** After a stall of this process, bytes that arrived meanwhile are counted before the upload is aborted. */
const recheckMs = 250;

/** Aborts an upload that takes too long, or arrives too slowly: it holds a slot meanwhile. */
class UploadTimeouts {
  /** Aborts with DEPLOYMENT_UPLOAD_TOO_SLOW. */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #limits: UploadLimits;
  readonly #cancelDeadline: () => void;
  #cancelCheck: () => void;
  #bytesInWindow = 0;

  constructor(clock: Clock, limits: UploadLimits) {
    this.signal = this.#controller.signal;
    this.#clock = clock;
    this.#limits = limits;
    this.#cancelDeadline = clock.after(limits.timeoutMs, () =>
      this.#abort(`did not arrive within ${limits.timeoutMs / 1_000} seconds`),
    );
    this.#cancelCheck = clock.after(windowMs, () => this.#check());
  }

  arrived(bytes: number): void {
    this.#bytesInWindow += bytes;
  }

  end(): void {
    this.#cancelDeadline();
    this.#cancelCheck();
  }

  #check(isRecheck = false): void {
    const { minBytesPerSecond } = this.#limits;
    if (this.#bytesInWindow >= (minBytesPerSecond * windowMs) / 1_000) {
      this.#bytesInWindow = 0;
      this.#cancelCheck = this.#clock.after(windowMs, () => this.#check());
    } else if (isRecheck)
      this.#abort(`arrived more slowly than the minimum of ${minBytesPerSecond} bytes per second`);
    else this.#cancelCheck = this.#clock.after(recheckMs, () => this.#check(true));
  }

  #abort(what: string): void {
    this.end();
    this.#controller.abort(
      new DeploymentError(
        'DEPLOYMENT_UPLOAD_TOO_SLOW',
        `The request's body ${what}. Send it faster, or less.`,
        {
          isRetryable: true,
        },
      ),
    );
  }
}
