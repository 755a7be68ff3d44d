// Receives a body piece by piece, within its limits, and lets go of it on every way out.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/index.ts';
import { CoreError, onAbort } from '../../core/index.ts';
import { DeploymentError } from '../../tenancy/index.ts';
import type { UploadLimits } from '../../tenancy/index.ts';
import { sizeText } from './size-text.ts';
import type { UploadShare } from './upload-memory.ts';
import { UploadWatch } from './upload-watch.ts';

export interface Receiving {
  readonly clock: Clock;
  readonly limits: UploadLimits;
  readonly memory: UploadShare;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
}

export function tooLarge(what: string): DeploymentError {
  return new DeploymentError('DEPLOYMENT_UPLOAD_TOO_LARGE', `${what} Send less at once.`);
}

/** `take` may fail, which ends it. Resolves when all has arrived; what has not is left to the answer. */
export function receive(
  request: IncomingMessage,
  { clock, limits, memory, signal }: Receiving,
  take: (piece: Buffer) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const watch = new UploadWatch(clock, limits);
  let received = 0;
  const onData = (piece: Buffer) => {
    watch.arrived(piece.byteLength);
    received += piece.byteLength;
    try {
      if (received > limits.maxBodyBytes)
        throw tooLarge(`The request is larger than ${sizeText(limits.maxBodyBytes)}.`);
      memory.take(piece.byteLength);
      take(piece);
    } catch (error) {
      end(error);
    }
  };
  const onEnd = () => end();
  const onGone = () =>
    end(new CoreError('CANCELED', 'The caller went away before its request was complete.'));
  const undo: (() => void)[] = [];
  function end(error?: unknown): void {
    watch.end();
    for (const release of undo) release();
    request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
    // Somebody must listen: a caller that hangs up now is no accident of ours.
    request.on('error', () => undefined);
    if (error === undefined) resolve();
    else reject(error instanceof Error ? error : new CoreError('CANCELED', 'The request was given up.'));
  }
  request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  undo.push(onAbort(watch.signal, end));
  undo.push(onAbort(signal, end));
  return promise;
}
