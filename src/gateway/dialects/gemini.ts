// Google's Gemini: requests to providers and their responses. Callers do not use it.
import { CoreError } from '../../core/index.ts';
import { CompletionBuilder } from './completion-builder.ts';
import type {
  AssistantPart,
  Conversation,
  FinishReason,
  MediaPart,
  Message,
  Signature,
  TextPart,
  Tool,
  ToolChoice,
  ToolResultPart,
  Usage,
} from './conversation.ts';
import { asFunctionCall, asFunctionTool, inCallOrder, textOfResult } from './conversation.ts';
import type { Dialect, EncodeTarget, StreamDecoder } from './dialect.ts';
import { isErrorBody, parseEvent, tokenCount } from './dialect.ts';
import type { JsonObject } from './json.ts';
import type { SseEvent } from './wire.ts';
import { asObject, objectsIn, parseObject, textIn, withoutUndefined } from './json.ts';

const notForCallers = (): never => {
  throw new CoreError('INTERNAL', 'The Gemini API is one of providers, not of callers.');
};

export const gemini: Dialect = {
  path: (upstreamModel, isStream) =>
    `/models/${encodeURIComponent(upstreamModel)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  decodeRequest: notForCallers,
  unsupported: ({ nativeFeatures, messages }) => [
    ...nativeFeatures,
    ...(messages.some(hasUrl) ? ['media by URL'] : []),
  ],
  encodeRequest,
  decodeResponse: (json) => {
    const decoder = new GeminiDecoder();
    if (!decoder.readResponse(json)) return undefined;
    return decoder.builder.end();
  },
  encodeResponse: notForCallers,
  createDecoder: () => new GeminiDecoder(),
  createEncoder: notForCallers,
};

/** The API reads files of its own and inline data only. */
const hasUrl = ({ parts }: Message): boolean =>
  parts.some((part) => 'source' in part && 'url' in part.source);

/* ---- requests ---- */

function encodeRequest(
  conversation: Conversation,
  { supportsReasoning, maxOutputTokens, upstreamModel }: EncodeTarget,
): JsonObject {
  const { tools, format, reasoning, maxTokens, stop } = conversation;
  const first = conversation.messages.findIndex(({ role }) => role !== 'system');
  const leading = conversation.messages.slice(0, first < 0 ? 0 : first);
  const system = leading.flatMap(({ parts }) => parts as readonly TextPart[]);
  return withoutUndefined({
    contents: encodeContents(conversation.messages.slice(leading.length)),
    systemInstruction: system.length > 0 ? { parts: system.map(({ text }) => ({ text })) } : undefined,
    tools: tools.length > 0 ? [{ functionDeclarations: tools.map(encodeTool) }] : undefined,
    toolConfig: tools.length > 0 ? encodeToolChoice(conversation.toolChoice) : undefined,
    generationConfig: withoutUndefined({
      maxOutputTokens:
        maxTokens === undefined ? undefined : Math.min(maxTokens, maxOutputTokens ?? maxTokens),
      temperature: conversation.temperature,
      topP: conversation.topP,
      topK: conversation.topK,
      presencePenalty: conversation.presencePenalty,
      frequencyPenalty: conversation.frequencyPenalty,
      seed: conversation.seed,
      stopSequences: stop,
      responseMimeType: format ? 'application/json' : undefined,
      responseJsonSchema: format?.type === 'schema' ? format.schema : undefined,
      thinkingConfig: supportsReasoning && reasoning ? encodeThinking(reasoning, upstreamModel) : undefined,
    }),
  });
}

/** Efforts as tokens; the API has both, but not every model has levels. */
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 512,
  low: 1_024,
  medium: 8_192,
};
/** More than this is rejected by Flash, and less than 128 by Pro, which always thinks. */
const maxBudgetTokens = 24_576;
const minProBudgetTokens = 128;

function encodeThinking(
  { effort, budgetTokens }: NonNullable<Conversation['reasoning']>,
  upstreamModel: string,
): JsonObject {
  const requested = budgetTokens ?? (effort === undefined ? undefined : (budgets[effort] ?? maxBudgetTokens));
  if (requested === undefined) return { includeThoughts: true };
  const least = /\bpro\b/i.test(upstreamModel) ? minProBudgetTokens : 0;
  const thinkingBudget = Math.max(least, Math.min(requested, maxBudgetTokens));
  return withoutUndefined({ thinkingBudget, includeThoughts: requested === 0 ? undefined : true });
}

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: JsonObject[];
}

/** Messages of the same role that follow each other are joined. */
function encodeContents(messages: readonly Message[]): readonly Content[] {
  const names = new Map<string, string>();
  const contents: Content[] = [];
  for (const message of inCallOrder(messages)) {
    const role = message.role === 'assistant' ? 'model' : 'user';
    const parts = encodeParts(message, names);
    const last = contents.at(-1);
    if (parts.length === 0) continue;
    if (last?.role === role) last.parts.push(...parts);
    else contents.push({ role, parts });
  }
  return contents;
}

function encodeParts(message: Message, names: Map<string, string>): JsonObject[] {
  if (message.role === 'tool') return message.parts.flatMap((result) => encodeResult(result, names));
  if (message.role !== 'assistant')
    return message.parts.flatMap((part) =>
      part.type === 'text' && part.text === '' ? [] : [encodePart(part)],
    );
  let isFirstCall = true;
  let ofReasoning: string | undefined;
  return message.parts.flatMap((part: AssistantPart): JsonObject[] => {
    if (part.type === 'reasoning') {
      ofReasoning = signatureOf(part.signature);
      return [];
    }
    if (part.type === 'refusal') return [{ text: part.text }];
    if (part.type !== 'tool-call') return part.type === 'text' && part.text === '' ? [] : [encodePart(part)];
    const { id, name, arguments: given, signature } = asFunctionCall(part);
    names.set(id, name);
    const thoughtSignature = signatureOf(signature) ?? ofReasoning ?? (isFirstCall ? unsigned : undefined);
    isFirstCall = false;
    ofReasoning = undefined;
    const args = parseObject(given === '' ? '{}' : given) ?? { input: given };
    return [withoutUndefined({ functionCall: { name, args }, thoughtSignature })];
  });
}

const signatureOf = (signature: Signature | undefined): string | undefined =>
  signature?.api === 'gemini' ? signature.data : undefined;

/** Documented by Google for calls that another model made: newer models demand a signature on the first call of a turn. */
const unsigned = 'skip_thought_signature_validator';

function encodePart(part: TextPart | MediaPart): JsonObject {
  if (part.type === 'text') return { text: part.text };
  const { source } = part;
  return 'url' in source
    ? { fileData: { fileUri: source.url } }
    : { inlineData: { mimeType: source.mediaType, data: source.data } };
}

/** Results name the function, not the call. */
function encodeResult(result: ToolResultPart, names: ReadonlyMap<string, string>): JsonObject[] {
  const { callId, content, isError } = result;
  const text = textOfResult(result);
  const media = content.filter((part) => part.type !== 'text');
  const json = parseObject(text);
  return [
    {
      functionResponse: {
        name: names.get(callId) ?? 'unknown',
        response: isError === true ? { error: text } : (json ?? { output: text }),
      },
    },
    ...media.map(encodePart),
  ];
}

function encodeTool(tool: Tool): JsonObject {
  const { name, description, parameters } = asFunctionTool(tool);
  return withoutUndefined({ name, description, parametersJsonSchema: parameters });
}

function encodeToolChoice(choice: ToolChoice | undefined): JsonObject | undefined {
  if (!choice) return undefined;
  const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY', tool: 'ANY' } as const;
  return {
    functionCallingConfig: {
      mode: modes[choice.type],
      ...(choice.type === 'tool' && { allowedFunctionNames: [choice.name] }),
    },
  };
}

/* ---- responses ---- */

const finishReasons: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
};

function readUsage(response: JsonObject): Usage | undefined {
  const usage = asObject(response['usageMetadata']);
  const prompt = tokenCount(usage?.['promptTokenCount']);
  if (!usage || prompt === undefined) return undefined;
  const reasoning = tokenCount(usage['thoughtsTokenCount']) ?? 0;
  return {
    prompt,
    completion: (tokenCount(usage['candidatesTokenCount']) ?? 0) + reasoning,
    cacheRead: tokenCount(usage['cachedContentTokenCount']) ?? 0,
    cacheWrite: 0,
    reasoning,
  };
}

class GeminiDecoder implements StreamDecoder {
  readonly builder = new CompletionBuilder();
  /** The API has no last event. */
  readonly isDone = false;
  #calls = 0;

  read({ data }: SseEvent): JsonObject | undefined {
    if (data === undefined || data === '') return undefined;
    const chunk = parseEvent(data);
    if (!chunk) return { error: { message: 'An event of the stream is not JSON.' } };
    if (isErrorBody(chunk)) return chunk;
    this.readResponse(chunk);
    return undefined;
  }

  /** A whole response, or a chunk of one. False for anything else. */
  readResponse(response: JsonObject): boolean {
    const { builder } = this;
    builder.start(response['responseId'], response['modelVersion']);
    const usage = readUsage(response);
    if (usage) builder.usage(usage);
    const [candidate] = objectsIn(response['candidates']);
    const blocked = textIn(asObject(response['promptFeedback'])?.['blockReason']);
    if (blocked !== undefined) builder.finish('content-filter');
    if (!candidate) return blocked !== undefined || usage !== undefined;
    for (const part of objectsIn(asObject(candidate['content'])?.['parts'])) this.#readPart(part);
    const reason = textIn(candidate['finishReason']);
    if (reason !== undefined && reason !== 'FINISH_REASON_UNSPECIFIED')
      builder.finish(finishReasons[reason] ?? 'stop');
    return true;
  }

  #readPart(part: JsonObject): void {
    const { builder } = this;
    const data = textIn(part['thoughtSignature']);
    const signature = data === undefined ? undefined : ({ api: 'gemini', data } as const);
    const call = asObject(part['functionCall']);
    const inline = asObject(part['inlineData']);
    if (call) {
      const key = this.#calls++;
      // Of the call, where the API of the caller has a field for it, and of the reasoning before it.
      if (signature) builder.signature(signature);
      builder.toolCall(key, { id: call['id'], name: call['name'], signature });
      builder.toolArguments(key, JSON.stringify(call['args'] ?? {}));
      builder.endToolCall(key);
    } else if (inline && typeof inline['data'] === 'string')
      builder.media({
        type: 'image',
        source: { mediaType: textIn(inline['mimeType']) ?? 'image/png', data: inline['data'] },
      });
    else builder.text(part['thought'] === true ? 'reasoning' : 'text', textIn(part['text']) ?? '');
  }
}
