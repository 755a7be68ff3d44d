// The types shared by the parts of the gateway: models, requests, provider outcomes, recorded state and operator views.
import type { FailureClass } from './errors.ts';

/* ---- models ---- */

export type Operation = 'chat' | 'embeddings';

export interface Capabilities {
  readonly streaming: boolean;
  readonly tools: boolean;
  /** JSON mode and JSON schemas as `response_format`. */
  readonly json: boolean;
  readonly vision: boolean;
  /** An embedding model: it serves embeddings and nothing else. */
  readonly embeddings: boolean;
  /** Prompt and completion together; null: unknown. */
  readonly contextTokens: number | null;
}

/** What the provider allows one key for this model; absent: unknown. */
export interface Quotas {
  readonly requestsPerMinute?: number;
  readonly requestsPerDay?: number;
  readonly tokensPerMinute?: number;
  readonly tokensPerDay?: number;
}

/** A model as data: from the catalog, the configuration file, or added by an operator. */
export interface ModelDefinition {
  /** Unique; what callers send as `model`. */
  readonly name: string;
  readonly provider: string;
  /** `/chat/completions` and `/embeddings` are appended. May contain `{ENV_NAME}` (Cloudflare's account id). */
  readonly baseUrl: string;
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
}

export interface Model extends ModelDefinition {
  readonly id: number;
  readonly isActive: boolean;
  readonly origin: 'built-in' | 'config' | 'custom';
  readonly createdAt: Date;
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
  /** Where the duration comes from: a header's name, `body …`, `default`, `quota`, `admin`. */
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
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** `admin`, `key:ID`, `probe`, `manual`, or a name given by the calling domain. */
  readonly caller: string;
  /** The failed attempt of the same request and model that no longer counts: a request counts once per model. */
  readonly supersedes?: Attempt;
  /** Its model was removed or points to another endpoint by now, so it does not count for the model with this id. */
  readonly isStale?: boolean;
}

/** Outcomes of one model, each request counted once. */
export interface OutcomeStats {
  readonly requests: number;
  readonly successes: number;
  /** Average duration of successful attempts; 0 without any. */
  readonly averageSeconds: number;
}

export interface ModelStats extends OutcomeStats {
  readonly modelId: number;
}

export interface HistoryInterval extends OutcomeStats {
  /** Start of the interval, epoch milliseconds. */
  readonly at: number;
}

export interface Score {
  readonly longTerm: OutcomeStats;
  readonly recent: OutcomeStats;
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

export interface GatewayKey {
  readonly id: string;
  readonly name: string;
  /** Its first characters, to recognize it by. */
  readonly prefix: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly dailyTokenCap: number | null;
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
}

/* ---- a request through the gateway ---- */

/** Byte offsets [start, end). */
export type Span = readonly [start: number, end: number];

/** A parsed request. The body is forwarded as the bytes that came, except for the model's name. */
export interface CompletionRequest {
  readonly operation: Operation;
  readonly body: Uint8Array;
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
  /** Embeddings: the number of vectors expected; 0 for chat. */
  readonly vectorCount: number;
  /** Embeddings: the vector length requested; null: the model's default. */
  readonly dimensions: number | null;
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

/* ---- one call to one provider ---- */

export interface TokenUsage {
  readonly prompt: number;
  readonly completion: number;
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
  readonly rest: AsyncIterable<Uint8Array>;
  /** Resolves when the stream has ended, for whatever reason; never rejects. */
  readonly ended: Promise<StreamEnd>;
  readonly quotaExhaustedUntil: QuotaExhausted | undefined;
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
