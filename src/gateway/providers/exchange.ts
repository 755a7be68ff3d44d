// How one request is sent to one model and how its response is read: passed through where the model has the request's API,
// translated otherwise.
import { eventsOf } from '../dialects/completion-builder.ts';
import type { Completion, Usage } from '../dialects/conversation.ts';
import { mayHaveTranslatedSignature } from '../dialects/conversation.ts';
import type { Dialect, EncodeTarget, ResponseCheck, ResponseContext } from '../dialects/dialect.ts';
import {
  charactersIn,
  charactersPerToken,
  checkBody,
  checkCompletion,
  maxDecodedBytes,
  maxTranslatedBytes,
} from '../dialects/dialect.ts';
import { checkEmbeddings } from '../dialects/embeddings.ts';
import { spliceFormModel } from '../dialects/form-data.ts';
import { checkChatResponse, responseToSse } from '../dialects/openai-chat-output.ts';
import type { JsonLimits, JsonObject } from '../dialects/json.ts';
import { dialectOf, targetApi } from '../dialects/parse-request.ts';
import { spliceModel, textOf } from '../dialects/wire.ts';
import type { ChatApi, CompletionRequest, Model } from '../types.ts';
import { StreamReader } from './stream-reader.ts';

/** A response as the caller gets it, or why it is none. */
export type ReadResponse =
  | {
      readonly state: 'valid';
      /** Undefined: the provider reports none. */
      readonly usage: Usage | undefined;
      readonly characters: number;
      readonly body: Uint8Array;
    }
  | Exclude<ResponseCheck, { readonly state: 'valid' }>;

export interface Exchange {
  /** Appended to the base URL. */
  readonly path: string;
  /** Beside content type and key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Checks the whole body of a 2xx response and turns it into what the caller expects, a stream included. */
  readResponse(body: Uint8Array, contentType: string): ReadResponse;
  createReader(): StreamReader;
}

/** What responses to callers need that is neither in the request nor in the response of the model. */
export interface ExchangeContext {
  /** Unique, for ids in translated responses. */
  readonly createId: () => string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function exchangeFor(request: CompletionRequest, model: Model, context: ExchangeContext): Exchange {
  const { api } = request;
  if (api === null) return rawExchange(request, model);
  if (!model.apis.includes(api)) return translatedExchange(request, api, model, context);
  return api === 'chat' ? chatExchange(request, model) : decodedExchange(request, api, model, context);
}

/** Embeddings and the endpoints that pass through. */
function rawExchange(request: CompletionRequest, model: Model): Exchange {
  const { operation, headers } = request;
  const isEmbeddings = operation === 'embeddings';
  const isCount = operation === 'messages/count_tokens';
  return {
    path: `/${operation}`,
    headers: isCount ? { ...dialectOf('messages').headers, ...headers } : headers,
    body: request.contentType.startsWith('multipart/')
      ? spliceFormModel(request.body, request.contentType, request.modelSpans, model.upstreamModel)
      : spliceModel(request, model.upstreamModel),
    readResponse: (body, contentType) => {
      // Audio and the like.
      if (!isEmbeddings && !contentType.includes('json')) return { ...unread, body };
      const check = checkBody(
        body,
        (json) => (isEmbeddings ? checkEmbeddings(json, request) : unread),
        vectorLimits,
      );
      return check.state === 'valid' ? { ...check, body } : check;
    },
    createReader: () => new StreamReader(1),
  };
}

/** More numbers than fit into a response at their usual length, and few names. */
const vectorLimits: JsonLimits = { values: 4_000_000, nameWeight: 10 };
/** Log probabilities of thousands of tokens; the names are the same for each. */
const chatLimits: JsonLimits = { values: 1_000_000, nameWeight: 4 };
const unread = { state: 'valid', usage: undefined, characters: 0 } as const;

/** A response can be too large, or nested so deeply that it cannot be written again: the stack overflows. */
function orInvalid(body: Uint8Array, maxBytes: number, read: () => ReadResponse): ReadResponse {
  if (body.byteLength > maxBytes) return invalid;
  try {
    return read();
  } catch {
    return invalid;
  }
}

const invalid = { state: 'invalid', failureClass: 'invalid-response' } as const;

/** By far the most frequent: responses are checked without decoding them. */
function chatExchange(request: CompletionRequest, model: Model): Exchange {
  return {
    path: dialectOf('chat').path(model.upstreamModel, request.isStream),
    headers: request.headers,
    body: spliceModel(request, model.upstreamModel),
    readResponse: (body) =>
      orInvalid(body, request.isStream ? maxDecodedBytes : Infinity, () => {
        let json: JsonObject = {};
        const check = checkBody(body, (response) => checkChatResponse((json = response)), chatLimits);
        if (check.state !== 'valid') return check;
        const { usage, characters } = check;
        return { state: 'valid', usage, characters, body: request.isStream ? responseToSse(json) : body };
      }),
    createReader: () => new StreamReader(request.choiceCount),
  };
}

/** Another API that caller and model share: the bytes pass through, and are decoded to check and to repair them. */
function decodedExchange(
  request: CompletionRequest,
  api: ChatApi,
  model: Model,
  context: ExchangeContext,
): Exchange {
  const dialect = dialectOf(api);
  const estimateUsage = usageEstimate(request);
  return {
    path: dialect.path(model.upstreamModel, request.isStream),
    headers: { ...dialect.headers, ...request.headers },
    body: ownBody(request, dialect, model),
    readResponse: (body) =>
      orInvalid(body, maxDecodedBytes, () => {
        const check = checkBody(body, (json) => checkCompletion(dialect.decodeResponse(json)));
        if (check.state !== 'valid') return check;
        const { usage, characters, completion } = check;
        const answer =
          request.isStream && completion
            ? encodeStream(dialect, completion, responseContext(request, context), estimateUsage)
            : withPreviousId(body, request);
        return { state: 'valid', usage, characters, body: answer };
      }),
    createReader: () => {
      const decoder = dialect.createDecoder();
      const { builder } = decoder;
      const repair = dialect.createRepair?.(
        responseContext(request, context),
        () => builder.reportedUsage ?? estimateUsage(builder.characters),
        () => builder.reportedUsage !== undefined,
      );
      return new StreamReader(1, { decoder, repair, estimateUsage });
    },
  };
}

/** Models get the conversation instead of the id, so that their responses do not have it. */
function withPreviousId(body: Uint8Array, { previousResponseId }: CompletionRequest): Uint8Array {
  if (previousResponseId === undefined) return body;
  const response = JSON.parse(textOf(body)) as JsonObject;
  return Buffer.from(JSON.stringify({ ...response, previous_response_id: previousResponseId }));
}

/** Byte for byte but for the name of the model, unless a model with another API has continued the conversation. */
function ownBody(request: CompletionRequest, dialect: Dialect, { upstreamModel }: Model): Uint8Array {
  if (!dialect.withoutTranslatedReasoning || !mayHaveTranslatedSignature(request.body))
    return spliceModel(request, upstreamModel);
  const json = dialect.withoutTranslatedReasoning(request.decode().json);
  return Buffer.from(JSON.stringify({ ...json, model: upstreamModel }));
}

function translatedExchange(
  request: CompletionRequest,
  api: ChatApi,
  model: Model,
  exchangeContext: ExchangeContext,
): Exchange {
  const upstream = dialectOf(targetApi(request, model).api);
  const caller = dialectOf(api);
  const estimateUsage = usageEstimate(request);
  const context = responseContext(request, exchangeContext);
  const { conversation } = context;
  return {
    path: upstream.path(model.upstreamModel, request.isStream),
    headers: upstream.headers ?? {},
    body: Buffer.from(JSON.stringify(upstream.encodeRequest(conversation, targetOf(model)))),
    readResponse: (body) =>
      orInvalid(body, maxTranslatedBytes, () => {
        const check = checkBody(body, (json) => checkCompletion(upstream.decodeResponse(json)));
        if (check.state !== 'valid') return check;
        const { usage, characters, completion } = check;
        if (!completion) return { state: 'valid', usage, characters, body };
        if (request.isStream) {
          const events = encodeStream(caller, completion, context, estimateUsage);
          return { state: 'valid', usage, characters, body: events };
        }
        const reported = { ...completion, usage: usage ?? estimateUsage(characters) };
        const json = caller.encodeResponse(reported, context);
        return { state: 'valid', usage, characters, body: Buffer.from(JSON.stringify(json)) };
      }),
    createReader: () =>
      new StreamReader(1, {
        decoder: upstream.createDecoder(),
        encoder: caller.createEncoder(context),
        estimateUsage,
      }),
  };
}

const targetOf = ({ upstreamModel, capabilities }: Model): EncodeTarget => ({
  upstreamModel,
  maxOutputTokens: capabilities.maxOutputTokens,
  supportsReasoning: capabilities.reasoning,
});

function responseContext(request: CompletionRequest, { createId, now }: ExchangeContext): ResponseContext {
  const { json, conversation } = request.decode();
  const { previousResponseId } = request;
  return {
    id: createId(),
    createdAt: Math.floor(now() / 1_000),
    estimatedPromptTokens: request.estimatedPromptTokens,
    conversation,
    request: previousResponseId === undefined ? json : { ...json, previous_response_id: previousResponseId },
  };
}

/** For providers that report no usage. */
export const usageEstimate =
  ({ estimatedPromptTokens }: Pick<CompletionRequest, 'estimatedPromptTokens'>) =>
  (characters: number): Usage => ({
    prompt: estimatedPromptTokens,
    completion: Math.ceil(characters / charactersPerToken),
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: 0,
  });

/** A whole response for a caller that requested a stream. */
function encodeStream(
  dialect: Dialect,
  completion: Completion,
  context: ResponseContext,
  estimateUsage: (characters: number) => Usage,
): Uint8Array {
  const encoder = dialect.createEncoder(context);
  const usage = completion.usage ?? estimateUsage(charactersIn(completion));
  let text = '';
  for (const event of eventsOf({ ...completion, usage })) text += encoder.write(event);
  return Buffer.from(text);
}
