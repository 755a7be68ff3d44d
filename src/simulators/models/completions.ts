// The content of simulated models: deterministic completions and embeddings that fit the request.
import { mixed, textHash } from '../chance.ts';
import { readDocument } from './document-reader.ts';
import type { SimulatedModel } from './scenario.ts';

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

export type Completion =
  | { readonly text: string }
  | { readonly tool: { readonly name: string; readonly arguments: string } };

/** A tool is called once; after its result the model responds with text. */
export function completionFor(
  request: ChatRequest,
  { name, completion, entities }: Pick<SimulatedModel, 'name' | 'completion' | 'entities'>,
): Completion {
  const messages = request.messages ?? [];
  const tool = request.tools?.[0]?.function;
  const hasResult = messages.at(-1)?.role === 'tool';
  if (tool?.name !== undefined && !hasResult && request.tool_choice !== 'none')
    return { tool: { name: tool.name, arguments: JSON.stringify(instanceOf(tool.parameters) ?? {}) } };
  const format = request.response_format?.type;
  if (completion !== undefined) return { text: completion };
  const extracted = entities && readDocument(messages, entities);
  if (extracted) return { text: JSON.stringify(extracted) };
  if (format === 'json_schema')
    return { text: JSON.stringify(instanceOf(request.response_format?.json_schema?.schema) ?? {}) };
  const text = plainText(messages, name);
  return { text: format === 'json_object' ? JSON.stringify({ answer: text }) : text };
}

function plainText(messages: readonly ChatMessage[], model: string): string {
  const last = messages.at(-1)?.content;
  const parts = Array.isArray(last) ? (last as readonly ({ type?: unknown; text?: unknown } | null)[]) : [];
  const images = parts.filter((part) => part?.type === 'image_url').length;
  const prompt =
    typeof last === 'string'
      ? last
      : parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join(' ');
  const seen = images === 0 ? '' : ` I see ${images} ${images === 1 ? 'image' : 'images'}.`;
  return `This is ${model}. You said: ${prompt.trim().slice(-500)}${seen}`;
}

/** The simplest value that a JSON schema allows. */
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

/** One token per four characters. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4);

/* ---- completions on the wire ---- */

export interface CompletionDetails {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly request: ChatRequest;
  readonly completion: Completion;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export function usageOf(request: ChatRequest, completion: Completion): Usage {
  const prompt_tokens = tokensIn(JSON.stringify(request.messages ?? []));
  const completion_tokens = tokensIn('text' in completion ? completion.text : completion.tool.arguments);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

export function completionBody(parts: CompletionDetails, finishReason?: string): object {
  const { id, created, model, request, completion } = parts;
  const message =
    'text' in completion
      ? { role: 'assistant', content: completion.text }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: `call_${id}`, type: 'function', function: completion.tool }],
        };
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      { index: 0, message, finish_reason: finishReason ?? finishReasonOf(completion), logprobs: null },
    ],
    usage: usageOf(request, completion),
  };
}

const finishReasonOf = (completion: Completion): string => ('text' in completion ? 'stop' : 'tool_calls');

const eventOf = (data: object | string): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

/** The role, the content word by word, the finish reason, the usage if requested, and [DONE]. */
export function completionEvents(parts: CompletionDetails): readonly string[] {
  const { id, created, model, request, completion } = parts;
  const chunk = (choices: readonly object[], more: object = {}) =>
    eventOf({ id, object: 'chat.completion.chunk', created, model, choices, ...more });
  const delta = (value: object, finishReason: string | null = null) =>
    chunk([{ index: 0, delta: value, finish_reason: finishReason }]);
  const includesUsage = request.stream_options?.include_usage === true;
  return [
    delta({ role: 'assistant', content: '' }),
    ...contentDeltas(id, completion).map((value) => delta(value)),
    delta({}, finishReasonOf(completion)),
    ...(includesUsage ? [chunk([], { usage: usageOf(request, completion) })] : []),
    eventOf('[DONE]'),
  ];
}

function contentDeltas(id: string, completion: Completion): readonly object[] {
  if ('text' in completion)
    return (completion.text.match(/\S+\s*|\s+/g) ?? []).map((content) => ({ content }));
  const { name, arguments: text } = completion.tool;
  const call = (more: object) => ({ tool_calls: [{ index: 0, ...more }] });
  const half = Math.ceil(text.length / 2);
  return [
    call({ id: `call_${id}`, type: 'function', function: { name, arguments: '' } }),
    call({ function: { arguments: text.slice(0, half) } }),
    call({ function: { arguments: text.slice(half) } }),
  ];
}

/* ---- embeddings ---- */

export interface EmbeddingsRequest {
  readonly input?: unknown;
  readonly encoding_format?: unknown;
  readonly dimensions?: unknown;
}

/** Undefined when `input` is neither text nor a list of texts or tokens. */
export function inputsOf({ input }: EmbeddingsRequest): readonly string[] | undefined {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (input.every((each) => typeof each === 'number')) return [input.join(' ')];
  return input.map((each) => (Array.isArray(each) ? each.join(' ') : String(each)));
}

/** Absent is valid. Values beyond any real model would exhaust memory. */
export function hasValidDimensions({ dimensions }: EmbeddingsRequest): boolean {
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

/** Words hashed into dimensions, so that texts with common words are close; normalized, different for each model. */
function vectorOf(text: string, model: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  const salt = textHash(model);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const hash = mixed(textHash(word), salt);
    const index = hash % dimensions;
    vector[index] = (vector[index] ?? 0) + (hash >>> 31 === 0 ? 1 : -1);
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
