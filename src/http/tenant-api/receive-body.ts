// Receives a body chunk by chunk within its limits of size, time and memory.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/index.ts';
import { CoreError, formatBytes, onAbort } from '../../core/index.ts';
import { DeploymentError } from '../../tenancy/index.ts';
import type { UploadLimits } from '../../tenancy/index.ts';

const retryAfterMs = 2_000;
/** The minimum of bytes per second applies to this time. */
const windowMs = 5_000;
/** After a stall of this process, bytes that arrived meanwhile are counted before the upload is aborted. */
const recheckMs = 250;

export type UploadShare = ReturnType<UploadMemory['open']>;

/** Bounds the memory of all bodies that are being received; each is kept until it is stored. */
export class UploadMemory {
  readonly #maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes in use. */
  get held(): number {
    return this.#held;
  }

  /**
   * The memory of one request until its disposal. For a body of this declared size; 0 when it is not declared. Nothing is
   * reserved: a request that declares much and sends little does not keep others out. Fails, as does `take`, with
   * DEPLOYMENT_UPLOADS_FULL.
   */
  open(declaredBytes: number) {
    this.#check(Math.max(declaredBytes, 1));
    let taken = 0;
    return {
      take: (bytes: number): void => {
        this.#check(bytes);
        taken += bytes;
        this.#held += bytes;
      },
      [Symbol.dispose]: (): void => {
        this.#held -= taken;
        taken = 0;
      },
    };
  }

  #check(bytes: number): void {
    if (this.#held + bytes <= this.#maxBytes) return;
    throw new DeploymentError(
      'DEPLOYMENT_UPLOADS_FULL',
      'The memory for uploads of this server is exhausted. Please try again in a few moments.',
      { isRetryable: true, retryAfterMs },
    );
  }
}

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

/**
 * Resolves when the whole body has arrived. Fails with DEPLOYMENT_UPLOAD_TOO_SLOW when it takes too long or arrives too
 * slowly: it holds a slot meanwhile. An error of `onChunk` ends it; the rest is left unread.
 */
export function receiveBody(
  request: IncomingMessage,
  { clock, limits, memory, signal }: Receiving,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const { maxBodyBytes, uploadTimeoutSeconds, minUploadBytesPerSecond } = limits;
  let received = 0;
  let bytesInWindow = 0;
  const end = (error?: unknown): void => {
    cancelDeadline();
    cancelCheck();
    stopListening();
    request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    // Without a listener a caller that disconnects now would end the process.
    request.on('error', () => undefined);
    if (error === undefined) resolve();
    else reject(error instanceof Error ? error : new CoreError('CANCELED', 'The request was aborted.'));
  };
  const onData = (chunk: Buffer) => {
    bytesInWindow += chunk.byteLength;
    received += chunk.byteLength;
    try {
      if (received > maxBodyBytes) throw tooLarge(`The request is larger than ${formatBytes(maxBodyBytes)}.`);
      memory.take(chunk.byteLength);
      onChunk(chunk);
    } catch (error) {
      end(error);
    }
  };
  const onEnd = () => end();
  const onGone = () =>
    end(new CoreError('CANCELED', 'The caller disconnected before its request was complete.'));
  const tooSlow = (what: string) =>
    end(
      new DeploymentError(
        'DEPLOYMENT_UPLOAD_TOO_SLOW',
        `The request's body ${what}. Send it faster, or less.`,
        { isRetryable: true },
      ),
    );
  const checkSpeed = (isRecheck: boolean): void => {
    if (bytesInWindow >= (minUploadBytesPerSecond * windowMs) / 1_000) {
      bytesInWindow = 0;
      cancelCheck = clock.after(windowMs, () => checkSpeed(false));
    } else if (isRecheck)
      tooSlow(`arrived more slowly than the minimum of ${minUploadBytesPerSecond} bytes per second`);
    else cancelCheck = clock.after(recheckMs, () => checkSpeed(true));
  };
  const cancelDeadline = clock.after(uploadTimeoutSeconds * 1_000, () =>
    tooSlow(`did not arrive within ${uploadTimeoutSeconds} seconds`),
  );
  let cancelCheck = clock.after(windowMs, () => checkSpeed(false));
  let stopListening: () => void = () => undefined;
  request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  stopListening = onAbort(signal, end);
  return promise;
}
