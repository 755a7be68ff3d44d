// What simulated models say: repeatable, and fit for what was asked (tools, JSON, images, documents to read).
import type { SimulatedModel } from './ports.ts';
import { readingOf } from './reader.ts';

export interface ChatRequest {
  readonly model?: unknown;
  readonly messages?: readonly ChatMessage[];
  readonly stream?: unknown;
  readonly stream_options?: { readonly include_usage?: unknown };
  readonly max_tokens?: unknown;
  readonly tools?: readonly {
    readonly function?: { readonly name?: string; readonly parameters?: unknown };
  }[];
  readonly tool_choice?: unknown;
  readonly response_format?: {
    readonly type?: string;
    readonly json_schema?: { readonly schema?: unknown };
  };
}

export interface ChatMessage {
  readonly role?: unknown;
  readonly content?: unknown;
}

export type Speech =
  | { readonly text: string }
  | { readonly tool: { readonly name: string; readonly arguments: string } };

/** A tool is called once: with its result among the messages, the model talks. */
export function speechOf(
  request: ChatRequest,
  { name, answer, knows }: Pick<SimulatedModel, 'name' | 'answer' | 'knows'>,
): Speech {
  const messages = request.messages ?? [];
  const tool = request.tools?.[0]?.function;
  const hasResult = messages.at(-1)?.role === 'tool';
  if (tool?.name !== undefined && !hasResult && request.tool_choice !== 'none')
    return { tool: { name: tool.name, arguments: JSON.stringify(instanceOf(tool.parameters) ?? {}) } };
  const format = request.response_format?.type;
  if (answer !== undefined) return { text: answer };
  const reading = knows && readingOf(messages, knows);
  if (reading) return { text: JSON.stringify(reading) };
  if (format === 'json_schema')
    return { text: JSON.stringify(instanceOf(request.response_format?.json_schema?.schema) ?? {}) };
  const text = plainText(messages, name);
  return { text: format === 'json_object' ? JSON.stringify({ answer: text }) : text };
}

function plainText(messages: readonly ChatMessage[], model: string): string {
  const last = messages.at(-1)?.content;
  const parts = Array.isArray(last) ? (last as readonly ({ type?: unknown; text?: unknown } | null)[]) : [];
  const images = parts.filter((part) => part?.type === 'image_url').length;
  const asked =
    typeof last === 'string'
      ? last
      : parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join(' ');
  const seen = images === 0 ? '' : ` I see ${images} ${images === 1 ? 'image' : 'images'}.`;
  return `This is ${model}. You said: ${asked.trim().slice(-500)}${seen}`;
}

/** The simplest value that a JSON schema allows, as far as it is told. */
export function instanceOf(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return null;
  const { type, properties, required, items, enum: choices } = schema as Readonly<Record<string, unknown>>;
  if (Array.isArray(choices)) return choices[0] as unknown;
  switch (Array.isArray(type) ? (type as unknown[])[0] : type) {
    case 'object': {
      const known = (properties ?? {}) as Readonly<Record<string, unknown>>;
      const names = Array.isArray(required) ? (required as string[]) : Object.keys(known);
      return Object.fromEntries(names.map((name) => [name, instanceOf(known[name])]));
    }
    case 'array':
      return items === undefined ? [] : [instanceOf(items)];
    case 'string':
      return 'text';
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    default:
      return null;
  }
}

/** Tokens by characters, four each. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4);
