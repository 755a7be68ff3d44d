// OpenAI's legacy completions: a prompt instead of messages.
import { CompletionBuilder } from './completion-builder.ts';
import type { Completion, CompletionEvent, Conversation } from './conversation.ts';
import type { Dialect, ResponseContext, StreamEncoder } from './dialect.ts';
import { invalidField } from './dialect.ts';
import { stopOf } from './openai-chat.ts';
import {
  ChunkDecoder,
  encodeUsage,
  finishNames,
  finishReasonOf,
  finishReasons,
  readUsage,
} from './openai-chat-output.ts';
import type { JsonObject } from './json.ts';
import { asObject, fieldsBeyond, numberIn, objectsIn, textIn, withoutUndefined } from './json.ts';

export const openAiCompletions: Dialect = {
  path: () => '/completions',
  decodeRequest,
  // A base model continues a text: messages have no form for it.
  unsupported: ({ nativeFeatures }) => [...nativeFeatures, 'messages'],
  encodeRequest: () => {
    throw new TypeError('Requests are not translated to legacy completions.');
  },
  decodeResponse,
  encodeResponse,
  createDecoder: () => new ChunkDecoder(readChunk),
  createEncoder: (context) => new CompletionsEncoder(context),
};

/** Fields of the API. All others are passed on as they are when a request is translated. */
const knownFields = new Set(
  (
    'model prompt stream stream_options suffix max_tokens temperature top_p n logprobs echo stop presence_penalty ' +
    'frequency_penalty best_of logit_bias user seed'
  ).split(' '),
);

function decodeRequest(json: JsonObject): Conversation {
  return withoutUndefined({
    messages: [{ role: 'user' as const, parts: [{ type: 'text' as const, text: promptOf(json) }] }],
    tools: [],
    maxTokens: numberIn(json['max_tokens']),
    temperature: numberIn(json['temperature']),
    topP: numberIn(json['top_p']),
    presencePenalty: numberIn(json['presence_penalty']),
    frequencyPenalty: numberIn(json['frequency_penalty']),
    seed: numberIn(json['seed']),
    stop: stopOf(json['stop']),
    user: textIn(json['user']),
    isStream: json['stream'] === true,
    includeUsage: asObject(json['stream_options'])?.['include_usage'] === true,
    nativeFeatures: nativeFields(json),
    unknownFields: fieldsBeyond(json, knownFields),
  });
}

/** Empty for prompts that only a model with this API can read (several, or tokens). */
function promptOf({ prompt }: JsonObject): string {
  if (typeof prompt === 'string') return prompt;
  if (Array.isArray(prompt) && prompt.length > 0) return textIn(prompt[0]) ?? '';
  throw invalidField('prompt', 'must be text, or a non-empty list of texts or of tokens');
}

function nativeFields(json: JsonObject): string[] {
  const { prompt, n, best_of, logprobs, echo, suffix, logit_bias } = json;
  const native: string[] = [];
  if (Array.isArray(prompt) && (prompt.length > 1 || typeof prompt[0] !== 'string'))
    native.push('prompt (list)');
  if (typeof n === 'number' && n > 1) native.push('n');
  if (typeof best_of === 'number' && best_of > 1) native.push('best_of');
  if (typeof logprobs === 'number') native.push('logprobs');
  if (echo === true) native.push('echo');
  if (typeof suffix === 'string' && suffix !== '') native.push('suffix');
  if (Object.keys(asObject(logit_bias) ?? {}).length > 0) native.push('logit_bias');
  return native;
}

/* ---- responses of providers ---- */

function decodeResponse(json: JsonObject): Completion | undefined {
  const builder = new CompletionBuilder();
  readChunk(builder, json);
  return objectsIn(json['choices']).length > 0 ? builder.end() : undefined;
}

function readChunk(builder: CompletionBuilder, json: JsonObject): undefined {
  builder.start(json['id'], json['model']);
  const usage = readUsage(json);
  if (usage) builder.usage(usage);
  for (const choice of objectsIn(json['choices'])) {
    builder.text('text', textIn(choice['text']) ?? '');
    const reason = finishReasonOf(choice);
    if (reason !== null) builder.finish(finishReasons[reason] ?? 'stop');
  }
}

/* ---- responses to callers ---- */

function encodeResponse(
  { parts, model, finishReason, usage }: Completion,
  context: ResponseContext,
): JsonObject {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return {
    ...head(context, model),
    choices: [{ text, index: 0, logprobs: null, finish_reason: finishNames[finishReason] }],
    ...(usage && { usage: encodeUsage(usage) }),
  };
}

const head = ({ id, createdAt }: ResponseContext, model: string): JsonObject => ({
  id: `cmpl-${id}`,
  object: 'text_completion',
  created: createdAt,
  model,
});

/** Reasoning has no place in this API. */
class CompletionsEncoder implements StreamEncoder {
  readonly #context: ResponseContext;
  readonly #texts = new Set<number>();
  #model = '';

  constructor(context: ResponseContext) {
    this.#context = context;
  }

  write(event: CompletionEvent): string {
    switch (event.type) {
      case 'start':
        this.#model = event.model;
        return '';
      case 'part':
        if (event.part.type === 'text') this.#texts.add(event.index);
        return '';
      case 'delta':
        return this.#texts.has(event.index) ? this.#chunk(event.text, null) : '';
      case 'part-end':
        return '';
      case 'finish': {
        const { finishReason, usage } = event.completion;
        const { includeUsage } = this.#context.conversation;
        const total = includeUsage && usage ? this.#event({ choices: [], usage: encodeUsage(usage) }) : '';
        return `${this.#chunk('', finishNames[finishReason])}${total}data: [DONE]\n\n`;
      }
      default:
        return event satisfies never;
    }
  }

  #chunk(text: string, finishReason: string | null): string {
    return this.#event({ choices: [{ text, index: 0, logprobs: null, finish_reason: finishReason }] });
  }

  #event(fields: JsonObject): string {
    return `data: ${JSON.stringify({ ...head(this.#context, this.#model), ...fields })}\n\n`;
  }
}
