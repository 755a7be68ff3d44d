// The form that every dialect is translated through: a request as a conversation, a response as a completion, a stream as
// events that build a completion. A request to a provider of its own dialect is not translated: its bytes pass through.
import type { JsonObject } from './json.ts';
import { hasTooMuchJson, isObjectText, parseObject, textIn } from './json.ts';

/* ---- content ---- */

/**
 * Data that only the API that produced it can read, and that it needs back in the next request: Anthropic's signatures,
 * OpenAI's encrypted reasoning, Gemini's thought signatures.
 */
export interface Signature {
  readonly api: 'responses' | 'messages' | 'gemini';
  readonly data: string;
  /** The id that the data belongs to, where the API has one (Responses). */
  readonly id?: string;
  /** The data is the reasoning itself, encrypted, not a proof of its text (Anthropic's redacted thinking). */
  readonly isRedacted?: boolean;
}

/** Marks the end of a prefix that the provider may cache (Anthropic). */
interface Cacheable {
  readonly cacheControl?: JsonObject;
}

export interface TextPart extends Cacheable {
  readonly type: 'text';
  readonly text: string;
  readonly citations?: readonly Citation[];
}

export interface Citation {
  readonly url: string;
  readonly title?: string;
  /** Characters of the text that it supports. */
  readonly start?: number;
  readonly end?: number;
}

/** An image, a document or a recording: by URL, or as base64. */
export interface MediaPart extends Cacheable {
  readonly type: 'image' | 'file' | 'audio';
  readonly source: { readonly url: string } | { readonly mediaType: string; readonly data: string };
  /** Images: `low`, `high` or `auto`. */
  readonly detail?: string;
  /** Files: their name. */
  readonly name?: string;
}

export interface ReasoningPart {
  readonly type: 'reasoning';
  /** Empty when the provider does not show it. */
  readonly text: string;
  /** `text` is a summary, not the reasoning itself. */
  readonly isSummary?: boolean;
  readonly signature?: Signature;
}

export interface RefusalPart {
  readonly type: 'refusal';
  readonly text: string;
}

export interface ToolCallPart extends Cacheable {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  /** JSON of the arguments; for a custom tool its input as text. */
  readonly arguments: string;
  readonly isCustom?: boolean;
  readonly signature?: Signature;
}

export interface ToolResultPart extends Cacheable {
  readonly type: 'tool-result';
  readonly callId: string;
  readonly content: readonly (TextPart | MediaPart)[];
  readonly isError?: boolean;
  readonly isCustom?: boolean;
}

export type AssistantPart = TextPart | MediaPart | ReasoningPart | RefusalPart | ToolCallPart;

/** What users and tools send. */
export const isUserPart = (part: AssistantPart | ToolResultPart): part is TextPart | MediaPart =>
  part.type === 'text' || part.type === 'image' || part.type === 'file' || part.type === 'audio';

export type Message =
  | { readonly role: 'system'; readonly parts: readonly TextPart[] }
  | { readonly role: 'user'; readonly parts: readonly (TextPart | MediaPart)[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  /** Results of the tool calls in the assistant's message before it. */
  | { readonly role: 'tool'; readonly parts: readonly ToolResultPart[] };

/* ---- requests ---- */

export interface Tool extends Cacheable {
  readonly name: string;
  readonly description?: string;
  /** JSON schema of the arguments; absent for a custom tool, whose input is text. */
  readonly parameters?: JsonObject;
  readonly isStrict?: boolean;
  readonly isCustom?: boolean;
  /** Custom tools: the grammar of their input. */
  readonly format?: JsonObject;
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string };

export interface Reasoning {
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`. */
  readonly effort?: string;
  readonly budgetTokens?: number;
  /** Whether and how reasoning is shown: `auto`, `concise`, `detailed`. */
  readonly summary?: string;
}

export type OutputFormat =
  | { readonly type: 'json' }
  | {
      readonly type: 'schema';
      readonly schema: JsonObject;
      readonly name?: string;
      readonly description?: string;
      readonly isStrict?: boolean;
    };

/**
 * A request for one completion. Hints that a target does not have are left out there (sampling, effort, cache keys);
 * what changes the meaning of the response is never left out: `unsupported` of the target's dialect names it.
 */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly reasoning?: Reasoning;
  readonly format?: OutputFormat;
  readonly verbosity?: string;
  readonly user?: string;
  readonly serviceTier?: string;
  readonly cacheKey?: string;
  readonly isStream: boolean;
  /** A chat stream ends with its usage only if the caller asks for it; the other APIs always report it. */
  readonly includeUsage: boolean;
  /**
   * Features of the request that only a model with the request's own API can serve, as the caller wrote them
   * (`tools[0] (web_search)`). With any of them the request is not translated.
   */
  readonly nativeFeatures: readonly string[];
  /** Fields that the request's API does not define: passed on as they are. */
  readonly unknownFields: JsonObject;
}

/* ---- responses ---- */

export type FinishReason =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'tool-calls'
  | 'content-filter'
  /** The provider stopped for a tool of its own and continues when it gets the response back (Anthropic). */
  | 'pause';

export interface Usage {
  /** All prompt tokens, those from and to the cache included. */
  readonly prompt: number;
  readonly completion: number;
  /** Of the prompt: read from the provider's cache, and written to it. */
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Of the completion. */
  readonly reasoning: number;
}

export interface Completion {
  /** The provider's id; empty without one. */
  readonly id: string;
  /** The provider's name for the model. */
  readonly model: string;
  readonly parts: readonly AssistantPart[];
  readonly finishReason: FinishReason;
  readonly stopSequence?: string;
  readonly usage?: Usage;
}

/** Parts have indices from 0 in the order of their start; between `part` and `part-end` of one there may be others'. */
export type CompletionEvent =
  | { readonly type: 'start'; readonly id: string; readonly model: string }
  /** A part begins; its text, arguments or signature follow. */
  | { readonly type: 'part'; readonly index: number; readonly part: AssistantPart }
  /** More of the text or the arguments of a part. */
  | { readonly type: 'delta'; readonly index: number; readonly text: string }
  /** The whole part. */
  | { readonly type: 'part-end'; readonly index: number; readonly part: AssistantPart }
  /** Once, at the end, after every `part-end`. */
  | { readonly type: 'finish'; readonly completion: Completion };

/* ---- signatures in the fields of another API ---- */

const signaturePrefix = 'hw1.';

/**
 * The text that stands for a signature in a response of `api`: as it is where it comes from that API, otherwise marked
 * with its origin, so that the next request can return it to the model that needs it.
 */
export function writeSignature(signature: Signature | undefined, api: Signature['api'] | 'chat'): string {
  if (signature?.api === api) return signature.data;
  return signaturePrefix + Buffer.from(JSON.stringify(signature ?? {})).toString('base64url');
}

/** The opposite; undefined for one that we made up because the field is mandatory. */
export function readSignature(text: string, api: Signature['api'], id?: string): Signature | undefined {
  if (text === '') return undefined;
  if (!text.startsWith(signaturePrefix)) return { api, data: text, ...(id !== undefined && { id }) };
  try {
    const json = JSON.parse(
      Buffer.from(text.slice(signaturePrefix.length), 'base64url').toString(),
    ) as Partial<Signature>;
    const { api: origin, data, id: ownId, isRedacted } = json;
    const isKnown = origin === 'responses' || origin === 'messages' || origin === 'gemini';
    if (!isKnown || typeof data !== 'string') return undefined;
    return {
      api: origin,
      data,
      ...(typeof ownId === 'string' && { id: ownId }),
      ...(isRedacted === true && { isRedacted }),
    };
  } catch {
    return undefined;
  }
}

/** Of another API, or made up: the field of a response has it, and no provider accepts it. */
export const isTranslatedSignature = (text: unknown): boolean =>
  typeof text === 'string' && text.startsWith(signaturePrefix);

/** Fast, and true for a few other bodies, too. */
export const mayHaveTranslatedSignature = (body: Uint8Array): boolean =>
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(`"${signaturePrefix}`);

/** As it is, if it says so already. */
export const redacted = (signature: Signature): Signature =>
  signature.api === 'messages' ? { ...signature, isRedacted: true } : signature;

/* ---- custom tools, which only Responses has: a function with one text parameter stands for them ---- */

export function asFunctionTool(tool: Tool): Tool {
  if (tool.isCustom !== true) return tool;
  const { name, description, format, cacheControl } = tool;
  const definition = format === undefined ? '' : textIn(format['definition']);
  return {
    name,
    description: [description, definition && `The input must match this grammar:\n${definition}`]
      .filter(Boolean)
      .join('\n\n'),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    },
    ...(cacheControl && { cacheControl }),
  };
}

export function asFunctionCall(call: ToolCallPart): ToolCallPart {
  return call.isCustom === true ? { ...call, arguments: JSON.stringify({ input: call.arguments }) } : call;
}

/** The input of a custom tool from the call of the function that stands for it. */
export function asCustomCall(call: ToolCallPart): ToolCallPart {
  if (call.isCustom === true) return call;
  const input = parseObject(call.arguments)?.['input'];
  return { ...call, isCustom: true, arguments: typeof input === 'string' ? input : call.arguments };
}

/** With what is too much to be translated: APIs other than OpenAI's have arguments and results of tools as objects. */
export function withJsonLimit(conversation: Conversation): Conversation {
  const { messages, nativeFeatures } = conversation;
  const texts = messages.flatMap(({ parts }) => (parts as readonly AnyPart[]).flatMap(jsonIn));
  return hasTooMuchJson(texts)
    ? {
        ...conversation,
        nativeFeatures: [...nativeFeatures, 'arguments and results of tools that are so large'],
      }
    : conversation;
}

type AnyPart = AssistantPart | ToolResultPart;

function jsonIn(part: AnyPart): readonly string[] {
  if (part.type === 'tool-call') return [part.arguments];
  if (part.type !== 'tool-result') return [];
  // As for Gemini; other text is not parsed.
  const text = textOfResult(part);
  return isObjectText(text) ? [text] : [];
}

export const textOfResult = ({ content }: ToolResultPart): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');

/* ---- order of tool results ---- */

/**
 * Puts the results of tools directly behind the message with their calls, as every API but Responses demands, and joins
 * assistant messages that follow each other. Every call has one result then: one that is missing says so, and one
 * without a call becomes text of the user.
 */
export function inCallOrder(messages: readonly Message[]): readonly Message[] {
  const resultOf = pairResults(messages);
  const paired = new Set(resultOf.values());
  const ordered: Message[] = [];
  for (const message of joinAssistantMessages(messages, paired)) {
    if (message.role === 'tool') {
      ordered.push({ role: 'user', parts: message.parts.flatMap(asUserText) });
      continue;
    }
    ordered.push(message);
    if (message.role !== 'assistant') continue;
    const calls = message.parts.filter((part) => part.type === 'tool-call');
    const parts = calls.map((call) => resultOf.get(call) ?? noResult(call));
    if (parts.length > 0) ordered.push({ role: 'tool', parts });
  }
  return ordered;
}

const noResult = ({ id }: ToolCallPart): ToolResultPart => ({
  type: 'tool-result',
  callId: id,
  content: [{ type: 'text', text: 'The tool returned no result.' }],
  isError: true,
});

const asUserText = ({ callId, content }: ToolResultPart): readonly (TextPart | MediaPart)[] => [
  { type: 'text', text: `Result of the tool call ${callId}:` },
  ...content,
];

/** Each result with the last call of its id before it: some models use the same ids in every turn. */
function pairResults(messages: readonly Message[]): ReadonlyMap<AssistantPart, ToolResultPart> {
  const open = new Map<string, AssistantPart>();
  const resultOf = new Map<AssistantPart, ToolResultPart>();
  for (const { parts } of messages)
    for (const part of parts) {
      if (part.type === 'tool-call') open.set(part.id, part);
      if (part.type !== 'tool-result') continue;
      const call = open.get(part.callId);
      if (call) resultOf.set(call, part);
      open.delete(part.callId);
    }
  return resultOf;
}

/** Without the results in `moved`; a turn that consisted of them alone still separates two assistant messages. */
function joinAssistantMessages(
  messages: readonly Message[],
  moved: ReadonlySet<ToolResultPart>,
): readonly Message[] {
  const joined: Message[] = [];
  /** The parts of the last message, if it is the assistant's. */
  let joinable: AssistantPart[] | undefined;
  for (const message of messages) {
    if (message.role === 'assistant') {
      if (joinable) for (const part of message.parts) joinable.push(part);
      else joined.push({ role: 'assistant', parts: (joinable = [...message.parts]) });
      continue;
    }
    joinable = undefined;
    if (message.role !== 'tool') joined.push(message);
    else {
      const parts = message.parts.filter((part) => !moved.has(part));
      if (parts.length > 0) joined.push({ role: 'tool', parts });
    }
  }
  return joined;
}
