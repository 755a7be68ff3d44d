// Who reads: a model while one is configured and wanted, else rules.
import type { IdSource } from '../../core/index.ts';
import type { LanguageModel, Reader } from '../ports.ts';
import { createModelReader } from './model/model-reader.ts';
import { answerTokens, promptTokens } from './model/reading-prompt.ts';
import { createRulesReader } from './rules/rules-reader.ts';

export interface ReaderParts {
  readonly model: LanguageModel;
  readonly ids: IdSource;
  /** The setting: off means rules only, and that is no degradation. */
  readonly readWithModel: boolean;
}

/** `model()` is asked at every chunk: models come and go while a server runs. */
export function createReaders({ model, ids, readWithModel }: ReaderParts): {
  readonly rules: Reader;
  model(): Reader | null;
} {
  const byModel = createModelReader(model, ids);
  return {
    rules: createRulesReader(),
    model: () => (readWithModel && model.isConfigured() ? byModel : null),
  };
}

/** What reading chunks of these sizes would cost with a model: one call each, repairs not counted. */
export function estimateReading(chunkTokens: readonly number[]): {
  readonly calls: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
} {
  return {
    calls: chunkTokens.length,
    promptTokens: chunkTokens.reduce((sum, tokens) => sum + tokens + promptTokens, 0),
    answerTokens: chunkTokens.length * answerTokens.usual,
  };
}
