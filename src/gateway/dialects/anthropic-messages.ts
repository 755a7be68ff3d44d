// Anthropic's Messages: requests from callers and to providers.
import { createHash } from 'node:crypto';
import {
  decodeResponse,
  encodeResponse,
  MessagesDecoder,
  MessagesEncoder,
} from './anthropic-messages-output.ts';
import { MessagesRepair } from './anthropic-messages-repair.ts';
import type {
  AssistantPart,
  Conversation,
  MediaPart,
  Message,
  TextPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
} from './conversation.ts';
import {
  asFunctionCall,
  asFunctionTool,
  inCallOrder,
  isTranslatedSignature,
  isUserPart,
  readSignature,
  redacted,
} from './conversation.ts';
import type { Dialect, EncodeTarget } from './dialect.ts';
import { invalidField } from './dialect.ts';
import type { JsonObject } from './json.ts';
import { asObject, booleanIn, numberIn, objectsIn, parseObject, textIn, withoutUndefined } from './json.ts';

export const anthropicMessages: Dialect = {
  path: () => '/messages',
  headers: { 'anthropic-version': '2023-06-01' },
  decodeRequest,
  unsupported: ({ nativeFeatures, messages }) => [...nativeFeatures, ...audioIn(messages)],
  encodeRequest,
  withoutTranslatedReasoning,
  decodeResponse,
  encodeResponse,
  createDecoder: () => new MessagesDecoder(),
  createRepair: (...given) => new MessagesRepair(...given),
  createEncoder: (context) => new MessagesEncoder(context),
};

const audioIn = (messages: readonly Message[]): readonly string[] =>
  messages.some(({ parts }) => parts.some(({ type }) => type === 'audio')) ? ['audio input'] : [];

/* ---- requests from callers ---- */

function decodeRequest(json: JsonObject): Conversation {
  const { messages } = json;
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidField('messages', 'must be a list with at least one message');
  const native = nativeFields(json);
  const system = decodeBlocks(json['system'] ?? '', 'system', native).filter((part) => part.type === 'text');
  const choice = asObject(json['tool_choice']);
  const config = asObject(json['output_config']);
  return withoutUndefined({
    messages: [
      ...(system.length > 0 ? [{ role: 'system' as const, parts: system }] : []),
      ...(messages as readonly unknown[]).flatMap((message, index) =>
        decodeMessage(message, `messages[${index}]`, native),
      ),
    ],
    tools: objectsIn(json['tools']).flatMap((tool, index) => decodeTool(tool, `tools[${index}]`, native)),
    toolChoice: decodeToolChoice(choice),
    parallelToolCalls: choice?.['disable_parallel_tool_use'] === true ? false : undefined,
    maxTokens: numberIn(json['max_tokens']),
    temperature: numberIn(json['temperature']),
    topP: numberIn(json['top_p']),
    topK: numberIn(json['top_k']),
    stop: Array.isArray(json['stop_sequences'])
      ? json['stop_sequences'].filter((each) => typeof each === 'string')
      : undefined,
    reasoning: decodeThinking(asObject(json['thinking']), textIn(config?.['effort'])),
    format: decodeFormat(asObject(config?.['format']) ?? asObject(json['output_format'])),
    user: textIn(asObject(json['metadata'])?.['user_id']),
    serviceTier: textIn(json['service_tier']),
    isStream: json['stream'] === true,
    includeUsage: true,
    nativeFeatures: native,
    unknownFields: {},
  });
}

/** Of these the provider keeps state or calls servers; the other fields are hints. */
function nativeFields(json: JsonObject): string[] {
  const isUsed = (value: unknown) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
  return ['mcp_servers', 'container', 'thread'].filter((name) => isUsed(json[name]));
}

function decodeMessage(given: unknown, at: string, native: string[]): readonly Message[] {
  const message = asObject(given);
  if (!message) throw invalidField(at, 'must be an object with role and content');
  const { role, content } = message;
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw invalidField(`${at}.role`, 'must be user or assistant');
  const parts = decodeBlocks(content, `${at}.content`, native);
  if (role === 'assistant') return [{ role, parts: parts.filter((part) => part.type !== 'tool-result') }];
  if (role === 'system') return [{ role, parts: parts.filter((part) => part.type === 'text') }];
  const results: Message = { role: 'tool', parts: parts.filter((part) => part.type === 'tool-result') };
  const others: Message = { role: 'user', parts: parts.filter(isUserPart) };
  if (results.parts.length === 0) return [others];
  return others.parts.length === 0 ? [results] : [results, others];
}

type AnyPart = AssistantPart | ToolResultPart;

function decodeBlocks(content: unknown, at: string, native: string[]): readonly AnyPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw invalidField(at, 'must be text or a list of blocks');
  return (content as readonly unknown[]).flatMap((given, index) => {
    const block = asObject(given);
    if (!block) throw invalidField(`${at}[${index}]`, 'must be an object with a type');
    return decodeBlock(block, `${at}[${index}]`, native);
  });
}

function decodeBlock(block: JsonObject, at: string, native: string[]): readonly AnyPart[] {
  const { type } = block;
  const cacheControl = asObject(block['cache_control']);
  const cacheable = cacheControl && { cacheControl };
  switch (type) {
    case 'text':
      return [{ type, text: textIn(block['text']) ?? '', ...cacheable }];
    case 'image':
    case 'document': {
      const media = decodeMedia(block, type === 'image' ? 'image' : 'file');
      if (media) return [{ ...media, ...cacheable }];
      break;
    }
    case 'thinking': {
      const signature = readSignature(textIn(block['signature']) ?? '', 'messages');
      const text = textIn(block['thinking']) ?? '';
      return [{ type: 'reasoning', text, ...(signature && { signature }) }];
    }
    case 'redacted_thinking': {
      const signature = readSignature(textIn(block['data']) ?? '', 'messages');
      return signature ? [{ type: 'reasoning', text: '', signature: redacted(signature) }] : [];
    }
    case 'tool_use':
      return [
        {
          type: 'tool-call',
          id: textIn(block['id']) ?? '',
          name: textIn(block['name']) ?? '',
          arguments: JSON.stringify(block['input'] ?? {}),
          ...cacheable,
        },
      ];
    case 'tool_result':
      return [
        {
          type: 'tool-result',
          callId: textIn(block['tool_use_id']) ?? '',
          content: decodeBlocks(block['content'] ?? '', `${at}.content`, native).filter(isUserPart),
          ...(block['is_error'] === true && { isError: true }),
          ...cacheable,
        },
      ];
    default:
  }
  native.push(`${at} (${String(type)})`);
  return [];
}

/** Undefined for files that only Anthropic has (`file_id`). */
function decodeMedia(block: JsonObject, type: 'image' | 'file'): MediaPart | TextPart | undefined {
  const source = asObject(block['source']);
  const name = textIn(block['title']);
  const named = name !== undefined && { name };
  const data = textIn(source?.['data']);
  const url = textIn(source?.['url']);
  if (source?.['type'] === 'base64' && data !== undefined)
    return { type, source: { mediaType: textIn(source['media_type']) ?? '', data }, ...named };
  if (source?.['type'] === 'url' && url !== undefined) return { type, source: { url }, ...named };
  // A document of plain text, which every API has.
  if (source?.['type'] === 'text' && data !== undefined) return { type: 'text', text: data };
  return undefined;
}

function decodeTool(tool: JsonObject, at: string, native: string[]): readonly Tool[] {
  const name = textIn(tool['name']);
  const isOwn = tool['type'] === undefined || tool['type'] === null || tool['type'] === 'custom';
  if (!isOwn || name === undefined) {
    native.push(`${at} (${String(tool['type'])})`);
    return [];
  }
  return [
    withoutUndefined({
      name,
      description: textIn(tool['description']),
      parameters: asObject(tool['input_schema']),
      isStrict: booleanIn(tool['strict']),
      cacheControl: asObject(tool['cache_control']),
    }),
  ];
}

function decodeToolChoice(choice: JsonObject | undefined): ToolChoice | undefined {
  switch (choice?.['type']) {
    case 'auto':
    case 'none':
      return { type: choice['type'] };
    case 'any':
      return { type: 'required' };
    case 'tool':
      return { type: 'tool', name: textIn(choice['name']) ?? '' };
    default:
      return undefined;
  }
}

function decodeThinking(
  thinking: JsonObject | undefined,
  effort: string | undefined,
): Conversation['reasoning'] {
  const budgetTokens = numberIn(thinking?.['budget_tokens']);
  if (thinking?.['type'] === 'disabled') return { effort: 'none' };
  if (thinking?.['type'] === 'enabled' && budgetTokens !== undefined)
    return { budgetTokens, ...(effort !== undefined && { effort }) };
  // Without a budget the model decides how much it thinks.
  if (thinking) return { effort: effort ?? 'medium' };
  return effort === undefined ? undefined : { effort };
}

function decodeFormat(format: JsonObject | undefined): Conversation['format'] {
  const schema = asObject(format?.['schema']);
  return format?.['type'] === 'json_schema' && schema ? { type: 'schema', schema } : undefined;
}

/* ---- requests to providers ---- */

/** Long enough for any answer; the API demands a limit. */
const defaultMaxTokens = 8_192;
/** The least that the API accepts. */
const minBudgetTokens = 1_024;

function encodeRequest(conversation: Conversation, target: EncodeTarget): JsonObject {
  const { tools, format, user, isStream, stop } = conversation;
  const { system, rest } = splitSystem(conversation.messages);
  if (format?.type === 'json') system.push({ type: 'text', text: 'Respond with one JSON object only.' });
  const messages = encodeMessages(rest);
  const limit = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const maxTokens = Math.min(
    conversation.maxTokens ?? Math.min(limit, Math.max(defaultMaxTokens, target.maxOutputTokens ?? 0)),
    limit,
  );
  const thinking = encodeThinking(conversation, target, maxTokens);
  const sequences = stop?.filter((each) => each.trim() !== '');
  return withoutUndefined({
    model: target.upstreamModel,
    max_tokens: maxTokens,
    system: system.length > 0 ? system.map(encodeText) : undefined,
    messages,
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(conversation) : undefined,
    thinking: thinking.thinking,
    output_config: outputConfig(format, thinking.effort),
    ...encodeSampling(conversation, thinking.thinking),
    stop_sequences: sequences && sequences.length > 0 ? sequences : undefined,
    metadata: user === undefined ? undefined : { user_id: user },
    stream: isStream ? true : undefined,
  });
}

/** System messages at the start; later ones stay where they are, as text of the user. */
function splitSystem(messages: readonly Message[]): { system: TextPart[]; rest: readonly Message[] } {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const leading = messages.slice(0, first < 0 ? messages.length : first);
  const system = leading.flatMap(({ parts }) => parts as readonly TextPart[]);
  // The API demands a message of the user.
  if (first < 0) return { system: [], rest: [{ role: 'user', parts: system }] };
  const rest = messages.slice(first).map((message): Message =>
    message.role === 'system'
      ? {
          role: 'user',
          parts: message.parts.map((part) => ({ ...part, text: `<system>\n${part.text}\n</system>` })),
        }
      : message,
  );
  return { system: system.filter(({ text }) => text.trim() !== ''), rest };
}

interface EncodedMessage {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/** Messages of the user that follow each other are joined: results of tools must stand directly behind their calls. */
function encodeMessages(messages: readonly Message[]): readonly EncodedMessage[] {
  const encoded: EncodedMessage[] = [];
  const ids = new CallIds();
  for (const message of inCallOrder(messages)) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content =
      message.role === 'assistant'
        ? encodeAssistant(message.parts, ids)
        : message.parts.flatMap((part) =>
            part.type === 'tool-result' ? [encodeResult(part, ids)] : encodePart(part),
          );
    if (content.length === 0) continue;
    const last = encoded.at(-1);
    if (last?.role === role) last.content.push(...content);
    else encoded.push({ role, content });
  }
  if (encoded[0]?.role !== 'user') encoded.unshift({ role: 'user', content: [{ type: 'text', text: '…' }] });
  trimLast(encoded.at(-1));
  return encoded;
}

/** The API rejects a last message of the assistant that ends in blanks. */
function trimLast(message: EncodedMessage | undefined): void {
  const block = message?.role === 'assistant' ? message.content.at(-1) : undefined;
  if (message && block?.['type'] === 'text')
    message.content[message.content.length - 1] = { ...block, text: String(block['text']).trimEnd() };
}

/** Empty text is rejected. */
function encodePart(part: TextPart | MediaPart): JsonObject[] {
  if (part.type !== 'text') return [encodeMedia(part)];
  return part.text.trim() === '' ? [] : [encodeText(part)];
}

const encodeText = ({ text, cacheControl }: TextPart): JsonObject => ({
  type: 'text',
  text,
  ...(cacheControl && { cache_control: cacheControl }),
});

function encodeMedia({ type, source, name, cacheControl }: MediaPart): JsonObject {
  return {
    type: type === 'image' ? 'image' : 'document',
    source:
      'url' in source
        ? { type: 'url', url: source.url }
        : { type: 'base64', media_type: source.mediaType, data: source.data },
    ...(type === 'file' && name !== undefined && { title: name }),
    ...(cacheControl && { cache_control: cacheControl }),
  };
}

/** Reasoning of other APIs is left out: the signature would not be accepted. */
function encodeAssistant(parts: readonly AssistantPart[], ids: CallIds): JsonObject[] {
  return parts.flatMap((part): JsonObject[] => {
    switch (part.type) {
      case 'text':
        return encodePart(part);
      case 'refusal':
        return encodePart({ type: 'text', text: part.text });
      case 'tool-call':
        return [encodeCall(part, ids)];
      case 'reasoning': {
        const { text, signature } = part;
        if (signature?.api !== 'messages') return [];
        return signature.isRedacted === true
          ? [{ type: 'redacted_thinking', data: signature.data }]
          : [{ type: 'thinking', thinking: text, signature: signature.data }];
      }
      default:
        // Images that a model generated: the API has them in messages of the user only.
        return [{ type: 'text', text: '[image]' }];
    }
  });
}

function encodeCall(part: ToolCallPart, ids: CallIds): JsonObject {
  const { id, name, arguments: given, cacheControl } = asFunctionCall(part);
  return {
    type: 'tool_use',
    id: ids.begin(id),
    name,
    input: parseObject(given === '' ? '{}' : given) ?? { input: given },
    ...(cacheControl && { cache_control: cacheControl }),
  };
}

function encodeResult({ callId, content, isError, cacheControl }: ToolResultPart, ids: CallIds): JsonObject {
  return {
    type: 'tool_result',
    tool_use_id: ids.of(callId),
    content: content.flatMap(encodePart),
    ...(isError === true && { is_error: true }),
    ...(cacheControl && { cache_control: cacheControl }),
  };
}

/** The API accepts each id once; some models use the same ones in every turn. A result follows its call. */
class CallIds {
  readonly #calls = new Map<string, number>();

  begin(id: string): string {
    this.#calls.set(id, (this.#calls.get(id) ?? 0) + 1);
    return this.of(id);
  }

  /** Of the last call with this id. */
  of(id: string): string {
    const count = this.#calls.get(id) ?? 1;
    return encodeId(count === 1 ? id : `${id} ${count}`);
  }
}

/** The API accepts letters, digits, _ and - only; models of others make up ids like `functions.read:0`. */
function encodeId(id: string): string {
  if (/^[\w-]{1,64}$/.test(id)) return id;
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 12);
  return `${id.slice(0, 40).replace(/[^\w-]/g, '_')}_${hash}`;
}

function encodeTool(tool: Tool): JsonObject {
  const { name, description, parameters, isStrict, cacheControl } = asFunctionTool(tool);
  return withoutUndefined({
    name,
    description,
    input_schema: { type: 'object', ...parameters },
    strict: isStrict === true ? true : undefined,
    cache_control: cacheControl,
  });
}

function encodeToolChoice({ toolChoice, parallelToolCalls }: Conversation): JsonObject | undefined {
  const single = parallelToolCalls === false && { disable_parallel_tool_use: true };
  switch (toolChoice?.type) {
    case undefined:
      return single ? { type: 'auto', ...single } : undefined;
    case 'required':
      return { type: 'any', ...single };
    case 'tool':
      return { type: 'tool', name: toolChoice.name, ...single };
    case 'none':
      return { type: 'none' };
    default:
      return { type: 'auto', ...single };
  }
}

/** Efforts of the API, by those of others. */
const efforts: Readonly<Record<string, string>> = { minimal: 'low' };

/** Models before Claude 4.6 have no adaptive thinking and no effort, and reject both. */
const hasBudgetsOnly = (upstreamModel: string): boolean =>
  /claude-(?:[123]\b|(?:opus|sonnet|haiku)-4(?:[-.][015])?(?:[-@:]\d{8}|[^\d.-]|$))/i.test(upstreamModel);

/** Efforts as tokens. */
const budgets: Readonly<Record<string, number>> = {
  minimal: minBudgetTokens,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
};
const maxBudgetTokens = 32_000;

interface EncodedThinking {
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

function encodeThinking(
  { reasoning, messages, toolChoice }: Conversation,
  { supportsReasoning, upstreamModel }: EncodeTarget,
  maxTokens: number,
): EncodedThinking {
  // The API does not think where a tool is forced.
  const isForced = toolChoice?.type === 'required' || toolChoice?.type === 'tool';
  if (!reasoning || !supportsReasoning || isForced) return {};
  const { effort, budgetTokens } = reasoning;
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  if (budgetTokens === undefined && effort === undefined) return {};
  if (budgetTokens === undefined && effort !== undefined && !hasBudgetsOnly(upstreamModel))
    return { thinking: { type: 'adaptive' }, effort: efforts[effort] ?? effort };
  // Of an effort, half of the tokens at most: the answer needs the rest.
  const budget =
    budgetTokens === undefined
      ? Math.min(budgets[effort ?? ''] ?? maxBudgetTokens, Math.floor(maxTokens / 2))
      : Math.min(budgetTokens, maxTokens - 1);
  return budget < minBudgetTokens || hasUnsignedCalls(messages)
    ? {}
    : { thinking: { type: 'enabled', budget_tokens: budget } };
}

/**
 * Whether the last turn of the assistant has calls without thinking that Anthropic signed, because another model made
 * them: with a budget the API demands that calls stand behind their thinking.
 */
function hasUnsignedCalls(messages: readonly Message[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  const parts = (last?.parts ?? []) as readonly AssistantPart[];
  return (
    parts.some(({ type }) => type === 'tool-call') &&
    !parts.some((part) => part.type === 'reasoning' && part.signature?.api === 'messages')
  );
}

/** With thinking the API accepts its defaults only, and never both of temperature and top_p. */
function encodeSampling({ temperature, topP, topK }: Conversation, thinking?: JsonObject): JsonObject {
  if (thinking && thinking['type'] !== 'disabled') return {};
  return withoutUndefined({
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    top_p: temperature === undefined ? topP : undefined,
    top_k: topK,
  });
}

function withoutTranslatedReasoning({ thinking, messages, ...rest }: JsonObject): JsonObject {
  const left = objectsIn(messages).flatMap((message) => {
    if (!Array.isArray(message['content'])) return [message];
    const content = message['content'].filter((block) => !isTranslatedThinking(block));
    return content.length === 0 && message['content'].length > 0 ? [] : [{ ...message, content }];
  });
  const lastTurn = objectsIn(left.findLast(({ role }) => role === 'assistant')?.['content']);
  const types = new Set(lastTurn.map(({ type }) => type));
  const hasUnsigned = types.has('tool_use') && !types.has('thinking') && !types.has('redacted_thinking');
  const mayThink = asObject(thinking)?.['type'] !== 'enabled' || !hasUnsigned;
  return { ...rest, messages: left, ...(thinking !== undefined && mayThink && { thinking }) };
}

function isTranslatedThinking(block: unknown): boolean {
  const { type, signature, data } = asObject(block) ?? {};
  return (
    (type === 'thinking' && isTranslatedSignature(signature)) ||
    (type === 'redacted_thinking' && isTranslatedSignature(data))
  );
}

function outputConfig(format: Conversation['format'], effort: string | undefined): JsonObject | undefined {
  if (format?.type !== 'schema' && effort === undefined) return undefined;
  return withoutUndefined({
    effort,
    format: format?.type === 'schema' ? { type: 'json_schema', schema: format.schema } : undefined,
  });
}
