// An embedder as the others may trust it: unit vectors, one for each text, all of one length; and one that failed is left
// alone for a while, so that not every search waits for it.
import type { Clock, HeadworksErrorOptions } from '../../core/index.ts';
import { HeadworksError, messageOf } from '../../core/index.ts';
import { KnowledgeError } from '../errors.ts';
import type { Embedder } from '../ports.ts';

export interface CarefulEmbedderParts {
  readonly clock: Clock;
  /** How long it is left alone after it failed. */
  readonly cooldownMs: number;
  /** It failed before, and answers again. */
  readonly onBack?: () => void;
}

export interface CarefulEmbedder extends Embedder {
  /** Somebody has a reason to think that it is back: the next text is put to it, however lately it failed. */
  askAgain(): void;
}

/** Every failure but the caller's own abort becomes KNOWLEDGE_EMBEDDING_FAILED. */
export function carefulEmbedder(
  embedder: Embedder,
  { clock, cooldownMs, onBack = () => undefined }: CarefulEmbedderParts,
): CarefulEmbedder {
  let failed: { readonly at: number; readonly message: string } | null = null;
  let isAway = false;
  return {
    ...embedder,
    askAgain: () => {
      failed = null;
    },
    embed: async (texts, signal) => {
      if (texts.length === 0) return [];
      const restsMs = failed === null ? 0 : failed.at + cooldownMs - clock.monotonic();
      if (failed !== null && restsMs > 0)
        throw embeddingFailed(`${failed.message} It is asked again in ${Math.ceil(restsMs / 1000)} s.`, {
          isRetryable: true,
          retryAfterMs: restsMs,
        });
      try {
        const vectors = (await embedder.embed(texts, signal)).map(unitVector);
        if (vectors.length !== texts.length)
          throw new TypeError(`It gave ${vectors.length} vectors for ${texts.length} texts.`);
        if (new Set(vectors.map(({ length }) => length)).size > 1)
          throw new TypeError('It gave vectors of different lengths.');
        failed = null;
        if (isAway) onBack();
        isAway = false;
        return vectors;
      } catch (error) {
        if (signal.aborted && !isTimeout(signal.reason)) throw error;
        // What fails then fails because of the deadline, whatever it says of its caller.
        const message = signal.aborted
          ? `The embedder ${embedder.model} did not answer in time.`
          : `The embedder ${embedder.model} failed: ${messageOf(error)}`;
        // What it refuses for good is the text's fault, not a sign that it is away.
        const isRefusal = error instanceof HeadworksError && !error.isRetryable && !signal.aborted;
        if (!isRefusal) {
          failed = { at: clock.monotonic(), message };
          isAway = true;
        }
        throw embeddingFailed(message, { isRetryable: !isRefusal, cause: error });
      }
    },
  };
}

/** Fails with a TypeError when it has no direction. */
export function unitVector(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  if (!(length > 0) || !Number.isFinite(length)) throw new TypeError('It gave a vector without a direction.');
  return vector.map((value) => value / length);
}

const isTimeout = (reason: unknown): boolean =>
  reason instanceof HeadworksError && reason.code === 'DEADLINE_EXCEEDED';

function embeddingFailed(message: string, options: HeadworksErrorOptions): KnowledgeError {
  return new KnowledgeError('KNOWLEDGE_EMBEDDING_FAILED', message, options);
}
