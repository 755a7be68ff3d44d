// The types shared by the parts of the gateway: models, requests, provider outcomes, recorded state and operator views.
import type { Conversation, Usage as TokenCounts } from './dialects/conversation.ts';
import type { JsonObject } from './dialects/json.ts';
import type { FailureClass } from './errors.ts';

/* ---- models ---- */

/** The APIs of chat models. Callers use all but Gemini's; `completions` is OpenAI's legacy one. */
export const chatApis = ['chat', 'responses', 'messages', 'gemini', 'completions'] as const;
export type ChatApi = (typeof chatApis)[number];

/** Endpoints whose requests and responses pass through unread, but for the model's name. */
export const passThroughEndpoints = [
  'rerank',
  'moderations',
  'images/generations',
  'images/edits',
  'audio/speech',
  'audio/transcriptions',
  'audio/translations',
] as const;
export type PassThroughEndpoint = (typeof passThroughEndpoints)[number];

/** `messages/count_tokens` is Anthropic's; models with its API serve it. */
export type Operation = 'chat' | 'embeddings' | 'messages/count_tokens' | PassThroughEndpoint;

/** The headers in which providers expect their key. */
export const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'] as const;
export type KeyHeader = (typeof keyHeaders)[number];

export interface Capabilities {
  readonly streaming: boolean;
  readonly tools: boolean;
  /** JSON mode and JSON schemas as `response_format`. */
  readonly json: boolean;
  readonly vision: boolean;
  /** It accepts the fields that control reasoning. */
  readonly reasoning: boolean;
  /** An embedding model: it serves embeddings and nothing else. */
  readonly embeddings: boolean;
  /** Pass-through endpoints that it serves; with any of them it serves no chat. */
  readonly endpoints: readonly PassThroughEndpoint[];
  /** Prompt and completion together; null: unknown. */
  readonly contextTokens: number | null;
  /** The longest completion; null: unknown. */
  readonly maxOutputTokens: number | null;
}

/** What the provider allows one key for this model; absent: unknown. */
export interface Quotas {
  readonly requestsPerMinute?: number;
  readonly requestsPerDay?: number;
  readonly tokensPerMinute?: number;
  readonly tokensPerDay?: number;
}

/** US dollars per million tokens. Cached prompt tokens without a price of their own cost as much as others. */
export interface Price {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
  /** Prompt tokens read from the provider's cache, and written to it. */
  readonly cacheReadPerMillion?: number;
  readonly cacheWritePerMillion?: number;
}

/** Timeouts of one model instead of the gateway's. */
export interface ModelTimeouts {
  readonly connectSeconds?: number;
  readonly firstTokenSeconds?: number;
  readonly responseSeconds?: number;
  readonly idleSeconds?: number;
}

/** A model as data: from the catalog, the configuration file, or added by an operator. */
export interface ModelDefinition {
  /** Unique; what callers send as `model`. */
  readonly name: string;
  readonly provider: string;
  /** The path of the API is appended. May contain `{ENV_NAME}` (Cloudflare's account id). */
  readonly baseUrl: string;
  /** Its chat APIs: a request in one of them passes through, others are translated to the first that has what they need. */
  readonly apis: readonly ChatApi[];
  /** The header for its key. */
  readonly keyHeader: KeyHeader;
  /** The provider's name for it. Equal names at two providers mean the same model. */
  readonly upstreamModel: string;
  /** The variable that holds its keys, separated by commas; null for a model that needs none. */
  readonly envVar: string | null;
  /** Fixed headers of every call (OpenRouter's referer). Never secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Runs on this machine or network: it gets no automatic cooldowns. */
  readonly isLocal: boolean;
  readonly capabilities: Capabilities;
  readonly quotas: Quotas;
  /** Null: unknown; so is the cost of its calls. */
  readonly price: Price | null;
  readonly timeouts: ModelTimeouts;
}

export interface Model extends ModelDefinition {
  readonly id: number;
  /** Neither disabled nor retired. */
  readonly isActive: boolean;
  /** `discovered`: from its provider's list. */
  readonly origin: 'built-in' | 'config' | 'custom' | 'discovered';
  readonly createdAt: Date;
  /** Successive lists of its provider that did not have it; always 0 for configured and added models. */
  readonly missedLists: number;
  /** Retired models are inactive and stay for their history; null: it is not retired. */
  readonly retiredAt: Date | null;
}

/* ---- discovery ---- */

/** What a provider's list says about a built-in model. */
export interface ListedFacts {
  readonly capabilities: Partial<Pick<Capabilities, 'contextTokens' | 'maxOutputTokens'>>;
  readonly price?: Price;
}

/** What follows from a provider's list of models. */
export interface ListEffects {
  /** New discovered models, and those that changed. */
  readonly definitions: readonly ModelDefinition[];
  readonly facts: readonly { readonly id: number; readonly facts: ListedFacts }[];
  readonly states: readonly {
    readonly id: number;
    readonly missedLists: number;
    readonly isRetired: boolean;
  }[];
}

export const discoveryChanges = ['added', 'changed', 'missing', 'retired', 'returned'] as const;

export interface DiscoveryChange {
  readonly model: string;
  /** `missing`: not listed for the first time. */
  readonly change: (typeof discoveryChanges)[number];
  readonly detail: string;
}

/** What one reading of a provider's list did. */
export interface Discovery {
  readonly id: string;
  readonly at: Date;
  readonly provider: string;
  readonly trigger: 'schedule' | 'manual' | 'repair';
  /** `empty`: it lists no usable model. Neither that nor a failure retires anything. */
  readonly outcome: 'completed' | 'empty' | 'failed';
  /** Why it failed; null otherwise. */
  readonly message: string | null;
  /** Chat and embedding models in the list. */
  readonly listed: number;
  readonly changes: readonly DiscoveryChange[];
}

export interface ProviderKey {
  /** A short SHA-256 of the secret, for cooldowns and logs. `none` for models that need no key. */
  readonly id: string;
  readonly secret: string | null;
}

/* ---- cooldowns ---- */

/** The key id of a cooldown that applies to every key of the model. */
export const allKeys = '*';

export interface Cooldown {
  readonly modelId: number;
  /** The id of a ProviderKey, or `allKeys`. */
  readonly keyId: string;
  /** Epoch milliseconds. */
  readonly until: number;
  /** A failure class, `quota` (from response headers or local counting), or `manual`. */
  readonly cause: FailureClass | 'quota' | 'manual';
  /** Where the duration comes from: a header's name, `body …`, `default`, `rejections`, `quota`, `admin`. */
  readonly source: string;
  /** Given by the operator. */
  readonly reason: string | null;
  readonly setAt: number;
}

export interface CooldownSnapshot {
  readonly cooldowns: readonly Cooldown[];
  /** Epoch milliseconds by model; a cooldown set at or before that is void, whenever it arrives. */
  readonly clearedAt: ReadonlyMap<number, number>;
}

/* ---- attempts and scores ---- */

/** One call to a provider. */
export interface Attempt {
  /** Groups the attempts of one request. */
  readonly requestId: string;
  readonly modelId: number;
  /** Epoch milliseconds at its start. */
  readonly at: number;
  readonly outcome: 'success' | FailureClass;
  /** HTTP status; null when no response came. */
  readonly status: number | null;
  /** Duration of this attempt alone, up to its last byte. For a stream: without the time its reader paused it. */
  readonly durationMs: number;
  /** To the first content of a stream; null for a whole response, and without content. */
  readonly firstTokenMs: number | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of the prompt: read from the provider's cache, and written to it. */
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** US dollars; null: the model has no price, or the call no usage. */
  readonly costUsd: number | null;
  /** `admin`, `key:ID`, `org:ID`, `probe`, `manual`, or a name given by the calling domain. */
  readonly caller: string;
  /** The API of a chat request, otherwise its operation; empty for `manual`. */
  readonly api: ChatApi | Operation | '';
  /** As the caller sent it. */
  readonly requestedModel: string;
  /** 1 for the first call of its request. */
  readonly callNumber: number;
  /** From the start of its request to its own. */
  readonly waitedMs: number;
  /** The caller got its response, or what came of a stream. Otherwise other attempts or a FailedRequest follow. */
  readonly endsRequest: boolean;
  /** The failed attempt of the same request and model that no longer counts: a request counts once per model. */
  readonly supersedes?: Attempt | undefined;
  /** It rejected a request that another model completed, so it counts against the model. */
  readonly isModelsFault?: boolean | undefined;
  /** Its model was removed or points to another endpoint by now, so it does not count for the model with this id. */
  readonly isStale?: boolean | undefined;
}

/** A request that no model completed, with or without attempts. */
export interface FailedRequest extends Pick<Attempt, 'requestId' | 'caller' | 'api' | 'requestedModel'> {
  /** Epoch milliseconds at its start. */
  readonly at: number;
  readonly durationMs: number;
  /** `canceled`, as of attempts, for a caller that disconnected. */
  readonly errorCode: string;
  /** Calls to models. */
  readonly calls: number;
}

/* ---- the log of requests ---- */

/** `rejected`: no model was called, because of a limit or because none is suitable or available. */
export const requestStatuses = ['completed', 'failed', 'rejected', 'canceled'] as const;
export type RequestStatus = (typeof requestStatuses)[number];

/** A request that has ended. */
export interface LoggedRequest
  extends
    Pick<Attempt, 'requestId' | 'caller' | 'api' | 'requestedModel'>,
    Pick<Attempt, 'promptTokens' | 'completionTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'costUsd'> {
  /** Increases in the order in which requests ended. */
  readonly id: number;
  /** Epoch milliseconds at its start. */
  readonly at: number;
  readonly status: RequestStatus;
  /** `success`, `canceled`, the class of the failure that interrupted its stream, or an error code. */
  readonly outcome: string;
  /** The model that responded; null: none. */
  readonly modelId: number | null;
  /** Calls to models. */
  readonly calls: number;
  /** From its start to the last byte of the response, without pauses of a stream's reader. */
  readonly durationMs: number;
  /** From its start to the first content of a stream; null for others. */
  readonly firstTokenMs: number | null;
}

export interface RequestFilter {
  readonly since: Date;
  readonly caller?: string | undefined;
  readonly status?: RequestStatus | undefined;
  /** Requested under this name, or completed by one of these models. */
  readonly model?: { readonly name: string; readonly ids: readonly number[] } | undefined;
  /** The id, or the one that the caller chose. */
  readonly requestId?: string | undefined;
  readonly limit: number;
  /** Only requests that ended before the one with this id. */
  readonly after?: number | undefined;
}

/** Bodies of a request, where they are kept. */
export interface RequestContent {
  readonly requestId: string;
  readonly at: Date;
  readonly request: string;
  /** Null: it had none. */
  readonly response: string | null;
}

/** Outcomes of one model, each request counted once. */
export interface OutcomeStats {
  readonly requests: number;
  readonly successes: number;
  /** Average duration of successful attempts; 0 without any. */
  readonly averageSeconds: number;
}

/** With the speed that scores use. */
export interface ScoredStats extends OutcomeStats {
  /** Average time of successful attempts for up to 200 completion tokens; 0 without any. */
  readonly typicalSeconds: number;
}

export interface ModelStats extends ScoredStats {
  readonly modelId: number;
}

export interface HistoryInterval extends OutcomeStats {
  /** Start of the interval, epoch milliseconds. */
  readonly at: number;
}

export interface Score {
  readonly longTerm: ScoredStats;
  readonly recent: ScoredStats;
  readonly windowDays: number;
  /** 0 to 1; the prior 0.5 without history. */
  readonly reliabilityScore: number;
  /** Null when the window is empty. */
  readonly recentReliabilityScore: number | null;
  readonly effectiveScore: number;
  /** Which of the two it is and why, in one sentence. */
  readonly decisionReason: string;
}

/* ---- gateway keys and usage ---- */

/** What a key may use; null: unlimited. Days are those of UTC. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerDay: number | null;
  readonly usdPerDay: number | null;
}

export interface GatewayKey extends KeyLimits {
  readonly id: string;
  readonly name: string;
  /** Its first characters, to recognize it by. */
  readonly prefix: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface StoredGatewayKey extends GatewayKey {
  /** SHA-256 of the whole key, hex. */
  readonly hash: string;
}

/** One row per day (UTC), caller and model. */
export interface Usage {
  /** `2026-01-31`. */
  readonly day: string;
  readonly caller: string;
  readonly modelId: number;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** US dollars of all requests whose cost is known; null: of none. */
  readonly costUsd: number | null;
  /** Requests whose cost is unknown. */
  readonly unpricedRequests: number;
}

/* ---- a request through the gateway ---- */

/** Byte offsets [start, end). */
export type Span = readonly [start: number, end: number];

/**
 * A parsed request. A model with the request's API gets the body as the bytes that came, except for the model's name; for
 * other models it is translated.
 */
export interface CompletionRequest {
  readonly operation: Operation;
  /** The API of a chat request; null for other operations. */
  readonly api: ChatApi | null;
  readonly body: Uint8Array;
  readonly contentType: string;
  /** Headers of the caller for providers of the same API (`anthropic-beta`). */
  readonly headers: Readonly<Record<string, string>>;
  /** The top-level `model` values in `body`, quotes included. */
  readonly modelSpans: readonly Span[];
  /** As sent: `auto`, a name, or names separated by commas. */
  readonly model: string;
  readonly isStream: boolean;
  /** Prompt and completion together, from characters; a default completion length when the caller sets none. */
  readonly estimatedTokens: number;
  readonly estimatedPromptTokens: number;
  /** Chat: the number of choices requested (`n`). */
  readonly choiceCount: number;
  readonly requires: {
    readonly tools: boolean;
    readonly json: boolean;
    readonly vision: boolean;
  };
  /** Responses: the response that it continues, whose items are in `body` instead. */
  readonly previousResponseId?: string;
  /** Embeddings: the number of vectors expected; 0 for chat. */
  readonly vectorCount: number;
  /** Embeddings: the vector length requested; null: the model's default. */
  readonly dimensions: number | null;
  /** A chat request decoded, for models with another API; parsed once. Fails with INPUT_INVALID. */
  decode(): DecodedRequest;
}

export interface DecodedRequest {
  readonly json: JsonObject;
  readonly conversation: Conversation;
}

export type TokenEstimate = Pick<CompletionRequest, 'estimatedTokens' | 'estimatedPromptTokens'>;

export interface CompletionOptions {
  readonly requestId: string;
  /** See Attempt. */
  readonly caller: string;
  /** False: only the named models. */
  readonly allowFallback: boolean;
  /** For all attempts and waits together, until a response is complete or a stream has started. */
  readonly deadlineMs: number;
  /** The caller has set the deadline: the last candidate may use all that is left of it. */
  readonly isDeadlineByCaller?: boolean;
  /** Extra attempts per model instead of MAX_RETRIES (a probe uses 0). */
  readonly maxRetries?: number;
  /** Wait up to this long for the first model to become available; 0: fail at once. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface CompletionResult {
  readonly model: Model;
  /** Calls made, this one included. */
  readonly attempts: number;
  /** Another model than the first choice responded. */
  readonly isFallback: boolean;
  /** Duration of the successful call alone; for a stream, up to its first content. */
  readonly durationMs: number;
  readonly response: ProviderResponse | ProviderStream;
}

/* ---- responses that callers may continue ---- */

export interface StoredResponse {
  readonly id: string;
  /** See Attempt; only it may read the response. */
  readonly caller: string;
  /** The response that it continues; null: none. */
  readonly previousId: string | null;
  readonly createdAt: Date;
  /** The items of the request, without those of earlier responses, as JSON. */
  readonly input: string;
  /** The whole response as JSON. */
  readonly response: string;
  /** Ids of its output items. */
  readonly itemIds: readonly string[];
}

/* ---- one call to one provider ---- */

export interface TokenUsage extends TokenCounts {
  /** The provider reported none: estimated from characters. */
  readonly isEstimated: boolean;
}

export interface AttemptTimeouts {
  readonly connectMs: number;
  /** To the first content of a stream; for a whole response, to its end. */
  readonly firstTokenMs: number;
  /** Between two chunks. */
  readonly idleMs: number;
}

export interface ProviderFailure {
  readonly kind: 'failure';
  readonly failureClass: FailureClass;
  readonly status: number | null;
  /** The timeout that expired; undefined when the provider or the network timed out. */
  readonly exceeded?: keyof AttemptTimeouts | undefined;
  /** The connection broke after the head of the response had arrived. */
  readonly isInterrupted?: boolean | undefined;
  readonly retryHint: { readonly retryAfterMs: number; readonly source: string } | undefined;
  /** For GATEWAY_REQUEST_REJECTED: the provider's message, redacted and truncated; null where it must not be shown. */
  readonly message: string | null;
}

export interface QuotaExhausted {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly source: string;
}

export interface ProviderResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly tokens: TokenUsage;
  /** From quota headers: the key has no quota left until then. */
  readonly quotaExhaustedUntil: QuotaExhausted | undefined;
}

/** A committed stream: its first content is in `head`, so no other model can take over. */
export interface ProviderStream {
  readonly kind: 'stream';
  readonly status: number;
  readonly contentType: string;
  /** The bytes up to and including the first content. */
  readonly head: readonly Uint8Array[];
  /** The remaining bytes; rejects with GATEWAY_STREAM_INTERRUPTED. Returning early aborts the provider call. */
  readonly rest: StreamRest;
  /** Resolves when the stream has ended, for whatever reason; never rejects. */
  readonly ended: Promise<StreamEnd>;
  readonly quotaExhaustedUntil: QuotaExhausted | undefined;
}

/** Iterated, or piped, which saves several promises per chunk. */
export interface StreamRest extends AsyncIterable<Uint8Array> {
  /** Undefined: it must be iterated. What has arrived may be written, and the sink ended, before it returns. */
  pipeTo?(sink: StreamSink): StreamPipe | undefined;
}

export interface StreamSink {
  /** False: no more until `resume`, but for what has arrived already. */
  write(bytes: Uint8Array): boolean;
  end(): void;
  /** In place of `end`, with a GATEWAY_STREAM_INTERRUPTED. */
  fail(error: Error): void;
}

/** One implementation: callers may not see the rest of the body. */
export interface StreamPipe {
  resume(): void;
  /** Aborts the provider call. */
  stop(): void;
}

export interface StreamEnd {
  /** Null: it completed. */
  readonly failureClass: FailureClass | null;
  readonly tokens: TokenUsage;
  /** From the first content to the last byte or the abort, without the time its reader paused it. */
  readonly streamMs: number;
  readonly retryHint?: ProviderFailure['retryHint'];
}

export type ProviderOutcome = ProviderResponse | ProviderStream | ProviderFailure;

export interface ProviderCall {
  readonly model: Model;
  readonly baseUrl: string;
  readonly key: ProviderKey;
  readonly request: CompletionRequest;
  readonly timeouts: AttemptTimeouts;
  readonly signal: AbortSignal;
}

/* ---- what operators see and send ---- */

export interface ModelFilter {
  readonly activeOnly: boolean;
  readonly availableOnly: boolean;
  readonly configuredOnly: boolean;
  readonly includeRecent: boolean;
  readonly windowDays: number;
}

export interface ProbeResult {
  readonly model: string;
  /** `skipped`: cooling down, out of quota, disabled or without a key; see `reason`. */
  readonly outcome: Attempt['outcome'] | 'skipped';
  readonly reason: string | null;
  readonly durationMs: number | null;
}
