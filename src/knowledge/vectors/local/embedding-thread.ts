// The thread in which the offline model works: it is loaded at the first text.
import { serveThread } from '../../../platform/threads/index.ts';
import { loadOfflineModel } from './offline-model.ts';

let model: ReturnType<typeof loadOfflineModel> | undefined;

const functions = {
  embed: async (texts: readonly string[]): Promise<readonly Float32Array[]> => {
    const loaded = await (model ??= loadOfflineModel());
    return (await loaded.embed([...texts])).map((vector) => Float32Array.from(vector));
  },
};

export type EmbeddingThread = typeof functions;

serveThread(functions);
