// Reads what a chat answer or one piece of a streamed one says: content, how it ended, what it cost.

type Json = Readonly<Record<string, unknown>>;

export interface TokenCounts {
  readonly prompt: number;
  readonly completion: number;
}

export interface ReadChoices {
  /** Is there anything that a caller could use: text, reasoning, a refusal, a call of a tool? */
  readonly hasContent: boolean;
  readonly characters: number;
  /** `stop`, `length`, `tool_calls`, `content_filter`, …; null when it goes on. */
  readonly finish: string | null;
  /** OpenRouter puts an upstream's failure into the choice. */
  readonly error: object | undefined;
}

const nothing: ReadChoices = { hasContent: false, characters: 0, finish: null, error: undefined };

/** Of `choices`: what all of them together say. Undefined when it is no list of choices. */
export function readChoices(choices: unknown): ReadChoices | undefined {
  if (!Array.isArray(choices)) return undefined;
  let all = nothing;
  for (const item of choices as readonly unknown[]) {
    const choice = asObject(item);
    if (!choice) return undefined;
    const part = asObject(choice['delta']) ?? asObject(choice['message']);
    const characters = part ? charactersIn(part) : 0;
    all = {
      hasContent: all.hasContent || characters > 0,
      characters: all.characters + characters,
      finish: finishOf(choice) ?? all.finish,
      error: asObject(choice['error']) ?? all.error,
    };
  }
  return all;
}

/** Why a choice ended; null when it goes on, which some providers write as an empty text. */
export function finishOf({ finish_reason: reason }: Json): string | null {
  return typeof reason === 'string' && reason !== '' ? reason : null;
}

/** Everything that counts as content, by its length; 0 is nothing. */
function charactersIn(part: Json): number {
  return (
    lengthOf(part['content']) +
    lengthOf(part['reasoning_content']) +
    lengthOf(part['reasoning']) +
    lengthOf(part['refusal']) +
    lengthOf(part['tool_calls']) +
    lengthOf(part['function_call']) +
    lengthOf(part['audio'])
  );
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Array.isArray(value) && value.length === 0 ? 0 : JSON.stringify(value).length;
}

/** Tokens as the provider counts them; Groq's streams have them under `x_groq`. */
export function readUsage(answer: Json): TokenCounts | undefined {
  const usage = asObject(answer['usage']) ?? asObject(asObject(answer['x_groq'])?.['usage']);
  const prompt = count(usage?.['prompt_tokens']) ?? count(usage?.['total_tokens']);
  return prompt === undefined ? undefined : { prompt, completion: count(usage?.['completion_tokens']) ?? 0 };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value < 1e12 ? Math.round(value) : undefined;
}

export function asObject(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}
