// OpenAI's chat completions: requests from callers and to providers.
import type {
  AssistantPart,
  Conversation,
  Message,
  OutputFormat,
  TextPart,
  Tool,
  ToolChoice,
  ToolResultPart,
} from './conversation.ts';
import { asFunctionTool, inCallOrder, isUserPart } from './conversation.ts';
import type { Dialect, EncodeTarget } from './dialect.ts';
import { invalidField } from './dialect.ts';
import {
  decodeAssistant,
  decodeContent,
  encodeAssistant,
  encodeContent,
  encodePart,
} from './openai-chat-messages.ts';
import {
  ChatEncoder,
  ChunkDecoder,
  decodeResponse,
  encodeResponse,
  readChatChunk,
} from './openai-chat-output.ts';
import type { JsonObject } from './json.ts';
import { asObject, booleanIn, fieldsBeyond, numberIn, objectsIn, textIn, withoutUndefined } from './json.ts';

export const openAiChat: Dialect = {
  path: () => '/chat/completions',
  decodeRequest,
  unsupported: ({ nativeFeatures }) => nativeFeatures,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  createDecoder: () => new ChunkDecoder(readChatChunk),
  createEncoder: (context) => new ChatEncoder(context),
};

/* ---- requests from callers ---- */

/** Fields of the API. All others are passed on as they are when a request is translated. */
const knownFields = new Set(
  (
    'model messages stream stream_options tools tool_choice functions function_call parallel_tool_calls ' +
    'max_tokens max_completion_tokens temperature top_p top_k seed stop presence_penalty ' +
    'frequency_penalty n logprobs top_logprobs logit_bias response_format reasoning_effort reasoning ' +
    'verbosity user safety_identifier prompt_cache_key metadata prompt_cache_retention store service_tier ' +
    'modalities audio prediction web_search_options'
  ).split(' '),
);

export function messagesOf({ messages }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidField('messages', 'must be a list with at least one message');
  for (const [index, message] of (messages as readonly unknown[]).entries())
    if (!asObject(message))
      throw invalidField(`messages[${index}]`, 'must be an object with role and content');
  return messages as readonly JsonObject[];
}

function decodeRequest(json: JsonObject): Conversation {
  const native: string[] = nativeFields(json);
  const messages = messagesOf(json).flatMap((message, index) =>
    decodeMessage(message, `messages[${index}]`, native),
  );
  const reasoning = asObject(json['reasoning']);
  return withoutUndefined({
    messages,
    tools: objectsIn(json['tools']).flatMap((tool, index) => decodeTool(tool, `tools[${index}]`, native)),
    toolChoice: decodeToolChoice(json['tool_choice'], native),
    parallelToolCalls: booleanIn(json['parallel_tool_calls']),
    maxTokens: numberIn(json['max_completion_tokens']) ?? numberIn(json['max_tokens']),
    temperature: numberIn(json['temperature']),
    topP: numberIn(json['top_p']),
    topK: numberIn(json['top_k']),
    presencePenalty: numberIn(json['presence_penalty']),
    frequencyPenalty: numberIn(json['frequency_penalty']),
    seed: numberIn(json['seed']),
    stop: stopOf(json['stop']),
    reasoning: reasoningOf(textIn(json['reasoning_effort']) ?? textIn(reasoning?.['effort']), reasoning),
    format: decodeFormat(json['response_format']),
    verbosity: textIn(json['verbosity']),
    user: textIn(json['safety_identifier']) ?? textIn(json['user']),
    serviceTier: textIn(json['service_tier']),
    cacheKey: textIn(json['prompt_cache_key']),
    isStream: json['stream'] === true,
    includeUsage: asObject(json['stream_options'])?.['include_usage'] === true,
    nativeFeatures: native,
    unknownFields: fieldsBeyond(json, knownFields),
  });
}

function nativeFields(json: JsonObject): string[] {
  const { n, logprobs, logit_bias, modalities, audio, web_search_options, functions } = json;
  const native: string[] = [];
  if (typeof n === 'number' && n > 1) native.push('n');
  if (logprobs === true) native.push('logprobs');
  if (Object.keys(asObject(logit_bias) ?? {}).length > 0) native.push('logit_bias');
  if (asObject(audio) || (Array.isArray(modalities) && modalities.includes('audio'))) native.push('audio');
  if (asObject(web_search_options)) native.push('web_search_options');
  if (Array.isArray(functions) && functions.length > 0) native.push('functions');
  return native;
}

export function stopOf(stop: unknown): readonly string[] | undefined {
  const list = (Array.isArray(stop) ? stop : [stop]).filter(
    (item) => typeof item === 'string' && item !== '',
  );
  return list.length > 0 ? (list as string[]) : undefined;
}

function reasoningOf(effort: string | undefined, more: JsonObject | undefined): Conversation['reasoning'] {
  const budgetTokens = numberIn(more?.['max_tokens']);
  if (effort === undefined && budgetTokens === undefined) return undefined;
  return withoutUndefined({ effort, budgetTokens });
}

function decodeMessage(message: JsonObject, at: string, native: string[]): readonly Message[] {
  switch (message['role']) {
    case 'system':
    case 'developer': {
      const parts = decodeContent(message['content'], `${at}.content`, native).filter(isText);
      return parts.length > 0 ? [{ role: 'system', parts }] : [];
    }
    case 'user': {
      const parts = decodeContent(message['content'], `${at}.content`, native).filter(isUserPart);
      return [{ role: 'user', parts }];
    }
    case 'assistant':
      return [{ role: 'assistant', parts: decodeAssistant(message, at, native) }];
    case 'tool':
      return [{ role: 'tool', parts: [decodeResult(message, at, native)] }];
    default:
      // `function`, or a role that a provider invented.
      native.push(`${at}.role`);
      return [];
  }
}

const isText = (part: AssistantPart): part is TextPart => part.type === 'text';

function decodeResult(message: JsonObject, at: string, native: string[]): ToolResultPart {
  return {
    type: 'tool-result',
    callId: textIn(message['tool_call_id']) ?? '',
    content: decodeContent(message['content'], `${at}.content`, native).filter(isUserPart),
  };
}

function decodeTool(tool: JsonObject, at: string, native: string[]): readonly Tool[] {
  const given = asObject(tool['type'] === 'custom' ? tool['custom'] : tool['function']);
  const name = textIn(given?.['name']);
  if (!given || name === undefined) {
    native.push(`${at} (${String(tool['type'])})`);
    return [];
  }
  return [
    withoutUndefined({
      name,
      description: textIn(given['description']),
      parameters: asObject(given['parameters']),
      isStrict: booleanIn(given['strict']),
      isCustom: tool['type'] === 'custom' ? true : undefined,
      format: asObject(given['format']),
      cacheControl: asObject(tool['cache_control']),
    }),
  ];
}

function decodeToolChoice(choice: unknown, native: string[]): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice };
  const given = asObject(choice);
  if (!given) return undefined;
  const name = textIn(asObject(given['function'])?.['name']) ?? textIn(asObject(given['custom'])?.['name']);
  if (name !== undefined) return { type: 'tool', name };
  native.push(`tool_choice (${String(given['type'])})`);
  return undefined;
}

function decodeFormat(format: unknown): OutputFormat | undefined {
  const given = asObject(format);
  if (given?.['type'] === 'json_object') return { type: 'json' };
  const named = given?.['type'] === 'json_schema' ? asObject(given['json_schema']) : undefined;
  return named && schemaFormat(named);
}

/** `{ name, description, schema, strict }`, as chat and Responses write it. */
export const schemaFormat = (given: JsonObject): OutputFormat =>
  withoutUndefined({
    type: 'schema' as const,
    schema: asObject(given['schema']) ?? {},
    name: textIn(given['name']),
    description: textIn(given['description']),
    isStrict: booleanIn(given['strict']),
  });

/* ---- requests to providers ---- */

/** Servers that are only compatible reject fields they do not define: what the caller did not send is left out. */
function encodeRequest(
  conversation: Conversation,
  { upstreamModel, supportsReasoning, maxOutputTokens }: EncodeTarget,
): JsonObject {
  const { tools, isStream, reasoning, format, stop, maxTokens } = conversation;
  return withoutUndefined({
    model: upstreamModel,
    messages: inCallOrder(conversation.messages).flatMap((message) =>
      encodeMessage(message, supportsReasoning),
    ),
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(conversation.toolChoice) : undefined,
    parallel_tool_calls: tools.length > 0 ? conversation.parallelToolCalls : undefined,
    [hasNewLimitName(upstreamModel) ? 'max_completion_tokens' : 'max_tokens']:
      maxTokens === undefined ? undefined : Math.min(maxTokens, maxOutputTokens ?? maxTokens),
    temperature: conversation.temperature,
    top_p: conversation.topP,
    top_k: conversation.topK,
    presence_penalty: conversation.presencePenalty,
    frequency_penalty: conversation.frequencyPenalty,
    seed: conversation.seed,
    stop,
    // Models without reasoning reject the field.
    reasoning_effort: supportsReasoning ? effortOf(reasoning) : undefined,
    response_format: format && encodeFormat(format),
    stream: isStream ? true : undefined,
    stream_options: isStream ? { include_usage: true } : undefined,
    ...conversation.unknownFields,
  });
}

/** OpenAI's reasoning models reject `max_tokens`; many compatible servers do not have the new name. */
const hasNewLimitName = (upstreamModel: string): boolean =>
  /^(?:openai\/)?(?:o\d|gpt-[5-9])(?:[.-]|$)/i.test(upstreamModel);

/** From the tokens that the caller allows, where it names no effort. */
export function effortOf(reasoning: Conversation['reasoning']): string | undefined {
  if (reasoning?.effort !== undefined) return reasoning.effort;
  const budget = reasoning?.budgetTokens;
  if (budget === undefined) return undefined;
  return budget <= 4_096 ? 'low' : budget <= 16_384 ? 'medium' : 'high';
}

/** Servers without reasoning reject messages that have it. */
function encodeMessage(message: Message, withReasoning: boolean): readonly JsonObject[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.parts.map(({ text }) => text).join('\n\n') }];
    case 'user':
      return [{ role: 'user', content: encodeContent(message.parts) }];
    case 'assistant':
      return [
        encodeAssistant(
          withReasoning ? message.parts : message.parts.filter(({ type }) => type !== 'reasoning'),
        ),
      ];
    case 'tool':
      return encodeResults(message.parts);
    default:
      return message satisfies never;
  }
}

/** Tool messages contain text only: media of a result follow in a message of the user. */
function encodeResults(results: readonly ToolResultPart[]): readonly JsonObject[] {
  const media = results.flatMap(({ content }) => content.filter((part) => part.type !== 'text'));
  return [
    ...results.map(({ callId, content }) => ({
      role: 'tool',
      tool_call_id: callId,
      content: content
        .map((part) => (part.type === 'text' ? part.text : `[${part.type}: see the next message]`))
        .join('\n'),
    })),
    ...(media.length > 0 ? [{ role: 'user', content: media.map(encodePart) }] : []),
  ];
}

function encodeTool(tool: Tool): JsonObject {
  const { name, description, parameters, isStrict } = asFunctionTool(tool);
  return {
    type: 'function',
    function: withoutUndefined({
      name,
      description,
      parameters: parameters ?? { type: 'object', properties: {} },
      strict: isStrict,
    }),
  };
}

function encodeToolChoice(choice: ToolChoice | undefined): unknown {
  if (!choice) return undefined;
  return choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type;
}

function encodeFormat(format: OutputFormat): JsonObject {
  if (format.type === 'json') return { type: 'json_object' };
  const { name = 'response', description, schema, isStrict } = format;
  return {
    type: 'json_schema',
    json_schema: withoutUndefined({ name, description, schema, strict: isStrict }),
  };
}
