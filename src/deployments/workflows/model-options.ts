// Options of every workflow that asks a model: which one, how freely, how much.
import type { FieldCheck, Fields } from './check-fields.ts';
import { number, text, whole } from './check-fields.ts';

export const modelChecks: Readonly<Record<string, FieldCheck>> = {
  model: text(2_000),
  temperature: number(0, 2),
  max_tokens: whole(1, 1_000_000),
};

export interface ModelChoice {
  readonly model?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

/** Options that were checked. */
export function modelChoice(options: Fields): ModelChoice {
  const { model, temperature, max_tokens: maxTokens } = options;
  return {
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof maxTokens === 'number' ? { maxTokens } : {}),
  };
}
