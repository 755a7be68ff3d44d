// What a model is told to make JSON of a document, and to repair it.
import type { ModelMessage } from '../ports.ts';
import type { NamedDocument } from './documents.ts';
import { dataNotOrders, documentMessage } from './documents.ts';

/** A wrong answer is shown to its maker no further than this. */
const longestShown = 50_000;

export function structurePrompt(
  schema: unknown,
  instructions: readonly string[],
  documents: readonly NamedDocument[],
): readonly ModelMessage[] {
  const orders = [
    'You take data out of documents. Answer with one JSON value that is valid against the JSON schema below, and with nothing else: no explanation, no code fence.',
    'Say only what the documents say. Where they say nothing: null if the schema allows it, else leave the field out if it is optional.',
    dataNotOrders,
    `JSON schema:\n${JSON.stringify(schema)}`,
    ...instructions.map((each) => `Instructions:\n${each}`),
  ];
  return [{ role: 'system', content: orders.join('\n\n') }, documentMessage('', documents)];
}

export function repairPrompt(
  messages: readonly ModelMessage[],
  answer: string,
  violations: readonly string[],
): readonly ModelMessage[] {
  const list = violations.map((violation) => `- ${violation}`).join('\n');
  return [
    ...messages,
    { role: 'assistant', content: answer.slice(0, longestShown) },
    {
      role: 'user',
      content: `That answer does not fit the JSON schema:\n${list}\n\nAnswer again: the corrected JSON, whole, and nothing else.`,
    },
  ];
}

/** JSON mode of models gives objects; a schema that wants something else is asked for without it. */
export function wantsObject(schema: unknown): boolean {
  const type: unknown = (schema as { readonly type?: unknown } | null)?.type;
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}
