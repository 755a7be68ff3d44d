// In-process clients of the gateway: text completions with JSON-format negotiation, and embeddings.
import type { Clock, TextCompletion, TextRequest } from '../core/index.ts';
import { remainingMs } from '../core/index.ts';
import { parseRequest } from './dialects/parse-request.ts';
import { autoModel } from './dialects/dialect.ts';
import { GatewayError } from './errors.ts';
import type { ModelRegistry } from './models/model-registry.ts';
import type { NameSettings } from './routing/model-names.ts';
import { unknownNames } from './routing/model-names.ts';
import type { CompletionOptions, CompletionRequest, CompletionResult } from './types.ts';

export interface EmbeddingRequest {
  readonly requestId: string;
  readonly caller: string;
  /** Vectors of different models never mix, so there is no fallback to another one. */
  readonly model: string;
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
}

export interface GatewayClientDeps {
  readonly clock: Clock;
  readonly complete: (request: CompletionRequest, options: CompletionOptions) => Promise<CompletionResult>;
  readonly models: Pick<ModelRegistry, 'list'>;
  readonly aliases: NameSettings['aliases'];
  readonly defaults: { readonly deadlineMs: number; readonly waitMs: number };
}

/** @example const { text } = await gateway.client.completeText({ requestId, caller: 'job', messages, signal }); */
export class GatewayClient {
  readonly #deps: GatewayClientDeps;
  readonly #formats: JsonFormats;

  constructor(deps: GatewayClientDeps) {
    this.#deps = deps;
    this.#formats = new JsonFormats(deps.clock);
  }

  /** Fails as `Gateway.complete` does. */
  completeText(request: TextRequest): Promise<TextCompletion> {
    if (request.json !== true) return this.#completeText(request, 'text');
    const best = request.schema ? 'schema' : 'object';
    return this.#formats.negotiate(request.model ?? autoModel, best, (format) =>
      this.#completeText(request, format),
    );
  }

  /** One vector per text, in their order. Fails as `Gateway.complete` does. */
  async embed({
    requestId,
    caller,
    model,
    texts,
    signal,
  }: EmbeddingRequest): Promise<readonly Float32Array[]> {
    const body = Buffer.from(JSON.stringify({ model, input: texts }));
    const result = await this.#deps.complete(parseRequest('embeddings', body), {
      requestId,
      caller,
      allowFallback: false,
      deadlineMs: this.#deadlineMs(signal),
      waitMs: 0,
      signal,
    });
    return vectorsIn(result);
  }

  /** The names in a request's `model` that refer to no model. */
  unknownModels(written: string): readonly string[] {
    return unknownNames(written, this.#deps.models.list(), this.#deps.aliases);
  }

  async #completeText(request: TextRequest, format: JsonFormat) {
    const { requestId, caller, messages, model = autoModel, temperature, maxTokens, signal } = request;
    const response_format = responseFormat(format, request.schema);
    const body = { model, messages, temperature, max_tokens: maxTokens, response_format };
    const result = await this.#deps.complete(parseRequest('chat', Buffer.from(JSON.stringify(body))), {
      requestId,
      caller,
      allowFallback: true,
      deadlineMs: this.#deadlineMs(signal),
      waitMs: this.#deps.defaults.waitMs,
      signal,
    });
    return { text: completionText(result), model: result.model.name };
  }

  #deadlineMs(signal: AbortSignal): number {
    return remainingMs(signal) ?? this.#deps.defaults.deadlineMs;
  }
}

/* ---- token counts ---- */

const countTimeoutMs = 10_000;

/** `request` is one in Anthropic's API. */
export async function countTokens(
  complete: GatewayClientDeps['complete'],
  request: CompletionRequest,
  options: CompletionOptions,
): Promise<{ readonly tokens: number; readonly isEstimated: boolean }> {
  const counting: CompletionRequest = {
    ...request,
    operation: 'messages/count_tokens',
    api: null,
    isStream: false,
    // Counting costs nothing.
    estimatedPromptTokens: 0,
    estimatedTokens: 0,
  };
  try {
    const result = await complete(counting, {
      ...options,
      allowFallback: false,
      maxRetries: 0,
      deadlineMs: Math.min(options.deadlineMs, countTimeoutMs),
    });
    const { input_tokens: tokens } = jsonOf(result) as { readonly input_tokens?: unknown };
    if (typeof tokens === 'number') return { tokens, isEstimated: false };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code === 'GATEWAY_MODEL_NOT_FOUND') throw error;
  }
  return { tokens: request.estimatedPromptTokens, isEstimated: true };
}

/* ---- responses ---- */

interface ChatCompletion {
  readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
}

/** The text of the first choice. Most models send a string; some send parts, with reasoning between them. */
export function completionText(result: Pick<CompletionResult, 'response'>): string {
  const content = (jsonOf(result) as ChatCompletion).choices?.[0]?.message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts = content as readonly ({ readonly text?: unknown } | null)[];
  return parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}

interface EmbeddingsBody {
  readonly data?: readonly { readonly index?: number; readonly embedding?: readonly number[] }[];
}

function vectorsIn(result: CompletionResult): readonly Float32Array[] {
  const { data = [] } = jsonOf(result) as EmbeddingsBody;
  return data
    .toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
    .map(({ embedding }) => Float32Array.from(embedding ?? []));
}

function jsonOf({ response }: Pick<CompletionResult, 'response'>): unknown {
  if (response.kind !== 'response') throw new TypeError('The response is a stream.');
  return JSON.parse(Buffer.from(response.body).toString());
}

/* ---- JSON formats ---- */

/** How JSON is requested: with a schema, as any JSON object, or by the prompt alone. */
export type JsonFormat = 'schema' | 'object' | 'text';

const jsonFormats: readonly JsonFormat[] = ['schema', 'object', 'text'];

/** Models are added and providers improve: then the better format is tried again. */
const formatCacheMs = 600_000;
const maxCached = 1_000;

/** Providers differ in the `response_format` they accept; a format that was rejected is not sent again for a while. */
export class JsonFormats {
  readonly #clock: Clock;
  /** Accepted formats by the requested `model`: every model that the gateway selects gets the same request. */
  readonly #accepted = new Map<string, { readonly format: JsonFormat; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls with the best format that was not rejected recently, then with the next. Other errors are passed on. */
  async negotiate<T>(
    model: string,
    best: JsonFormat,
    complete: (format: JsonFormat) => Promise<T>,
  ): Promise<T> {
    const known = this.#accepted.get(model);
    const first = known && known.until > this.#clock.monotonic() ? simpler(known.format, best) : best;
    for (let format = first; ;) {
      try {
        const result = await complete(format);
        if (format !== first) this.#cacheFormat(model, format);
        return result;
      } catch (error) {
        const next = nextFormat(format, error);
        if (next === null) throw error;
        format = next;
      }
    }
  }

  #cacheFormat(model: string, format: JsonFormat): void {
    if (this.#accepted.size >= maxCached) this.#accepted.clear();
    this.#accepted.set(model, { format, until: this.#clock.monotonic() + formatCacheMs });
  }
}

const simpler = (a: JsonFormat, b: JsonFormat): JsonFormat =>
  jsonFormats.indexOf(a) > jsonFormats.indexOf(b) ? a : b;

/** Null when the format is not the cause, or there is no simpler one. */
function nextFormat(format: JsonFormat, error: unknown): JsonFormat | null {
  if (format === 'text' || !(error instanceof GatewayError)) return null;
  const { missing, failureClass } = error.details;
  // No model has a JSON mode of any kind.
  if (error.code === 'GATEWAY_CAPABILITY_UNSUPPORTED' && Array.isArray(missing) && missing.includes('json'))
    return 'text';
  const isRejected = error.code === 'GATEWAY_REQUEST_REJECTED' && failureClass === 'validation';
  return isRejected ? (jsonFormats[jsonFormats.indexOf(format) + 1] ?? null) : null;
}

function responseFormat(format: JsonFormat, schema: TextRequest['schema']): object | undefined {
  if (format === 'text') return undefined;
  if (format === 'object' || !schema) return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { ...schema, strict: true } };
}
