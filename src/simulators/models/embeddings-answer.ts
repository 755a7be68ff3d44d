// Vectors of texts: words hashed into dimensions, so that texts with the same words are near each other.
import { mixed, textHash } from '../chance.ts';
import { tokensIn } from './speech.ts';

export interface EmbeddingsRequest {
  readonly input?: unknown;
  readonly encoding_format?: unknown;
  readonly dimensions?: unknown;
}

/** Undefined when `input` is no text and no list of texts or tokens. */
export function inputsOf({ input }: EmbeddingsRequest): readonly string[] | undefined {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (input.every((each) => typeof each === 'number')) return [input.join(' ')];
  return input.map((each) => (Array.isArray(each) ? each.join(' ') : String(each)));
}

/** Absent is good. Larger ones than any model has would cost memory, or everything. */
export function hasGoodDimensions({ dimensions }: EmbeddingsRequest): boolean {
  if (dimensions === undefined || dimensions === null) return true;
  return Number.isInteger(dimensions) && Number(dimensions) >= 1 && Number(dimensions) <= 4_096;
}

export function embeddingsOf(
  request: EmbeddingsRequest,
  inputs: readonly string[],
  model: string,
  dimensions: number,
): object {
  const tokens = inputs.reduce((sum, text) => sum + tokensIn(text), 0);
  return {
    object: 'list',
    model,
    data: inputs.map((text, index) => {
      const vector = vectorOf(text, model, dimensions);
      return {
        object: 'embedding',
        index,
        embedding:
          request.encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector],
      };
    }),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Of length 1; another model gives another vector. */
function vectorOf(text: string, model: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  const salt = textHash(model);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const hash = mixed(textHash(word), salt);
    const place = hash % dimensions;
    vector[place] = (vector[place] ?? 0) + (hash >>> 31 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
