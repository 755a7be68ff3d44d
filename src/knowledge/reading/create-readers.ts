// The readers of chunks: with a model, and by rules.
import type { IdSource } from '../../core/index.ts';
import type { TextThreads } from '../documents/text-threads.ts';
import type { LanguageModel } from '../models/structured-output.ts';
import { createModelReader } from './model-reader.ts';
import type { Reader, Readers } from './reader.ts';

interface ReaderDeps {
  readonly model: LanguageModel;
  readonly ids: IdSource;
  /** False: rules only, which is not a degradation. */
  readonly readWithModel: boolean;
  readonly texts: TextThreads;
}

/** `model()` is evaluated for every chunk: models are added and removed while a server runs. */
export function createReaders({ model, ids, readWithModel, texts }: ReaderDeps): Readers {
  const byModel = createModelReader(model, ids, texts);
  return {
    rules: createRulesReader(texts),
    model: () => (readWithModel && model.isConfigured() ? byModel : null),
  };
}

/** Fails only if the document exceeds the limits of its thread. */
export function createRulesReader(texts: TextThreads): Reader {
  return {
    method: 'rules',
    read: (task, signal) => texts.readByRules(task, { signal, group: task.caller }),
  };
}
