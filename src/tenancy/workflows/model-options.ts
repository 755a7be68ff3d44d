// Options of every workflow that asks a model: which one, how freely, how much.
import type { LanguageModel } from '../ports.ts';
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

/** A model may come later: that nobody knows it is no reason not to publish. */
export async function modelWarnings(
  { unknownIn }: Pick<LanguageModel, 'unknownIn'>,
  options: Fields,
): Promise<readonly string[]> {
  const { model } = modelChoice(options);
  const unknown = model === undefined ? [] : await unknownIn(model);
  return unknown.map(
    (name) =>
      `There is no model "${name}": every request will fail until one is added ("headworks models add") or the options name another.`,
  );
}
