// What the gateway's parts are to each other: models and keys, what is remembered of them, and one request's way.
import type { FailureClass } from './failure-classes.ts';

/* ---- models ---- */

export type Operation = 'chat' | 'embeddings';

export interface Capabilities {
  readonly streaming: boolean;
  readonly tools: boolean;
  /** JSON mode and JSON schemas as `response_format`. */
  readonly json: boolean;
  readonly vision: boolean;
  /** Makes vectors rather than talk: such a model is asked for embeddings and nothing else. */
  readonly embeddings: boolean;
  /** Tokens it can read and write together; null when nobody knows. */
  readonly contextTokens: number | null;
}

/** What the provider allows one key for this model; absent where nobody knows or declared it. */
export interface Quotas {
  readonly requestsPerMinute?: number;
  readonly requestsPerDay?: number;
  readonly tokensPerMinute?: number;
  readonly tokensPerDay?: number;
}

/** A model as data: from the catalogue, the config file, or added by hand. */
export interface ModelDefinition {
  /** Unique among all; what callers write as `model`. */
  readonly name: string;
  readonly provider: string;
  /** `/chat/completions` and `/embeddings` are appended. May hold `{ENV_NAME}` (Cloudflare's account). */
  readonly baseUrl: string;
  /** What the provider calls it. Equal among providers means: the very same model. */
  readonly upstreamModel: string;
  /** Where its keys are, several separated by commas; null for a model that needs none. */
  readonly envVar: string | null;
  /** Fixed headers that go with every call (OpenRouter's referer). Never secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Runs on this machine or network: never cools down by itself. */
  readonly isLocal: boolean;
  readonly capabilities: Capabilities;
  readonly quotas: Quotas;
}

export interface Model extends ModelDefinition {
  readonly id: number;
  readonly isActive: boolean;
  readonly origin: 'built-in' | 'config' | 'added';
  readonly createdAt: Date;
}

/** Survives restarts. Every method fails with STATE_UNAVAILABLE while the store is away. */
export interface ModelStore {
  /** Brings built-in and configured definitions in step by name, keeping id and is_active; others are untouched. */
  sync(definitions: readonly ModelDefinition[], origin: 'built-in' | 'config'): Promise<void>;
  list(): Promise<readonly Model[]>;
  /** Fails with GATEWAY_MODEL_EXISTS. */
  add(definition: ModelDefinition): Promise<Model>;
  /** Undefined when there is none. */
  setActive(id: number, isActive: boolean): Promise<Model | undefined>;
  /** Another definition under the same name for a model that somebody added; id, is_active and history stay. */
  replace(id: number, definition: ModelDefinition): Promise<Model | undefined>;
  /** Takes out a model that somebody added and frees its name; its history stays. False when there is none. */
  remove(id: number): Promise<boolean>;
  /** Names by id of all there ever were, for what was written down of them. */
  names(): Promise<ReadonlyMap<number, string>>;
}

/* ---- keys of providers ---- */

export interface ProviderKey {
  /** A short SHA-256 of the secret: names the key in cooldowns and logs. `none` for models that need none. */
  readonly id: string;
  readonly secret: string | null;
}

/** Reads the environment once at start. */
export interface ProviderKeys {
  /** The model's keys, in the order they are written; empty means: not configured. */
  keysOf(model: ModelDefinition): readonly ProviderKey[];
  /** The base URL with its `{ENV_NAME}` filled in; undefined when one is missing (then not configured). */
  baseUrlOf(model: ModelDefinition): string | undefined;
  /** The variable in which its keys were found; null when it has none or needs none. */
  keySourceOf(model: ModelDefinition): string | null;
  /** Ways to make it usable, each the variables that are all still to be set for it; empty when it is configured. */
  missingEnvVars(model: ModelDefinition): readonly (readonly string[])[];
}

/* ---- cooldowns ---- */

/** Applies to every key of the model. */
export const allKeys = '*';

export interface Cooldown {
  readonly modelId: number;
  /** A ProviderKey's id, or `allKeys`. */
  readonly keyId: string;
  /** Epoch milliseconds. */
  readonly until: number;
  /** A failure class, `quota` (learned from an answer's headers or kept by ourselves), or `manual`. */
  readonly cause: FailureClass | 'quota' | 'manual';
  /** Who said how long: a header's name, `body …`, `default`, `quota`, `admin`. */
  readonly source: string;
  /** What a person gave as reason. */
  readonly reason: string | null;
  readonly setAt: number;
}

/** What is left alone now, and when each model was last cleared by hand. */
export interface CooldownSnapshot {
  readonly cooldowns: readonly Cooldown[];
  /** Epoch milliseconds by model; what was set no later than that is void, whenever it arrives. */
  readonly clearedAt: ReadonlyMap<number, number>;
}

export interface CooldownStore {
  /**
   * Keeps the later of the two, in one statement; the reason and cause belong to the one that is kept. Changes
   * nothing when the model was cleared at or after `setAt`.
   */
  extend(cooldown: Cooldown): Promise<void>;
  /** All that was set until `at`, and all that the store holds. Returns when it counts as cleared: `at` or later. */
  clear(modelId: number, at: number): Promise<number>;
  /** Those that are not over yet. */
  active(now: number): Promise<CooldownSnapshot>;
}

/** In memory, written through, kept in step with other processes; goes on from memory when the store is away. */
export interface Cooldowns {
  /** Undefined when the key may be used now. The later of the key's own and the whole model's. */
  of(modelId: number, keyId: string): Cooldown | undefined;
  /** Never shortens. Takes effect here at once, is written at once. Emits `gateway:availability-updated`. */
  extend(cooldown: Cooldown): void;
  /** Like `extend`, but resolves when it is durable. Fails with STATE_UNAVAILABLE, soon, also for a store that hangs. */
  extendDurably(cooldown: Cooldown): Promise<void>;
  /** All of the model's, by hand. Resolves and fails like `extendDurably`. */
  clear(modelId: number): Promise<void>;
}

/* ---- attempts and scores ---- */

export interface Attempt {
  /** Groups the attempts of one request: a request counts once per model, by its last outcome there. */
  readonly requestId: string;
  readonly modelId: number;
  /** Epoch milliseconds at its start. */
  readonly at: number;
  readonly outcome: 'success' | FailureClass;
  /** Of the answer; null when none came. */
  readonly status: number | null;
  /** Of this attempt alone, until its last byte came. Of a stream: without the time that its reader took. */
  readonly durationMs: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** `admin`, `key:ID`, `probe`, `manual`, or a name that the calling domain gives. */
  readonly caller: string;
  /** Its request asked this model before: it may take the place of an attempt that failed. Default: nobody knows. */
  readonly isRepeated?: boolean;
  /** Its model leads elsewhere by now, or is gone: it is no longer about what stands under that id. Default: false. */
  readonly isOutdated?: boolean;
}

/** Outcomes of one model, each request counted once. */
export interface Tally {
  readonly requests: number;
  readonly successes: number;
  /** Of the successful attempts; 0 when there is none. */
  readonly averageSeconds: number;
}

export interface ModelTally extends Tally {
  readonly modelId: number;
}

/** A stretch of time, and what was counted in it. */
export interface HistoryInterval extends Tally {
  /** Its beginning, epoch milliseconds. */
  readonly at: number;
}

export interface AttemptStore {
  append(attempts: readonly Attempt[]): Promise<void>;
  /**
   * Of attempts that began in [since, before), by model. Only outcomes that speak of reliability are looked at:
   * success, which ends a request, and classes that count against, of which a request's last one on a model counts.
   */
  tallies(range: { readonly since?: Date; readonly before?: Date }): Promise<readonly ModelTally[]>;
  /** Newest first. */
  list(filter: { readonly modelId?: number; readonly limit: number }): Promise<readonly Attempt[]>;
  /** What `tallies` counts of one model, in stretches of `intervalMs` since `since`; those without any are left out. */
  history(range: {
    readonly modelId: number;
    readonly since: Date;
    readonly intervalMs: number;
  }): Promise<readonly HistoryInterval[]>;
  /** Deletes what began before `before`, oldest first, at most `limit`; how many went. */
  purge(before: Date, limit: number): Promise<number>;
}

/** Write-behind: never waits, never throws. What a crash may lose is a second of statistics. */
export interface AttemptRecorder {
  record(attempt: Attempt): void;
}

export interface Score {
  readonly longTerm: Tally;
  readonly recent: Tally;
  readonly windowDays: number;
  /** 0 to 1; the prior 0.5 without history. */
  readonly reliabilityScore: number;
  /** Null when the window holds nothing. */
  readonly recentReliabilityScore: number | null;
  readonly effectiveScore: number;
  /** Which of them it is, and why, in one sentence. */
  readonly decisionReason: string;
}

export interface Scores {
  of(modelId: number): Score;
}

/* ---- gateway keys and usage ---- */

export interface GatewayKey {
  readonly id: string;
  readonly name: string;
  /** The first characters, to recognise it by. */
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

export interface GatewayKeyStore {
  add(key: StoredGatewayKey): Promise<void>;
  list(): Promise<readonly StoredGatewayKey[]>;
  /** Undefined when there is none; a second time changes nothing. */
  revoke(id: string, at: Date): Promise<GatewayKey | undefined>;
}

/** One line of a day (UTC), per caller and model. */
export interface Usage {
  /** `2026-01-31`. */
  readonly day: string;
  readonly caller: string;
  readonly modelId: number;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface UsageStore {
  /** Adds to what is there, in one statement. */
  add(usage: readonly Usage[]): Promise<void>;
  list(filter: { readonly fromDay: string; readonly caller?: string }): Promise<readonly Usage[]>;
  /** Deletes lines of days before `beforeDay`, at most `limit`; how many went. */
  purge(beforeDay: string, limit: number): Promise<number>;
}

/* ---- quotas ---- */

export interface QuotaGrant {
  /** What the call really cost, when it is known; without it the estimate stays. */
  settle(tokens: number): void;
  /** The call was not made. */
  refund(): void;
}

/** Provider quotas kept by ourselves, per model and key. Never waits. */
export interface QuotaKeeper {
  /** A grant, or when (epoch milliseconds) one could be had. */
  take(
    model: Model,
    keyId: string,
    estimate: TokenEstimate,
  ): Promise<{ readonly grant: QuotaGrant } | { readonly availableAt: number }>;
  /** Until when (epoch milliseconds) not even the smallest call can be had; null: one can. Takes nothing. */
  usedUpUntil(model: Model, keyId: string): Promise<number | null>;
}

/* ---- one call to one provider ---- */

export interface Tokens {
  readonly prompt: number;
  readonly completion: number;
  /** The provider did not tell; counted from the characters. */
  readonly isEstimated: boolean;
}

/** About what a request costs. */
export interface TokenEstimate {
  /** Prompt and wanted answer together, by characters; an answer of usual length where nobody says. */
  readonly estimatedTokens: number;
  /** The prompt alone. */
  readonly estimatedPromptTokens: number;
}

/** What is asked, read once. The body travels as the bytes that came, but for the model's name. */
export interface CompletionRequest extends TokenEstimate {
  readonly operation: Operation;
  readonly body: Uint8Array;
  /** Where the top-level `model` values stand in `body`, as byte offsets [start, end), quotes included. */
  readonly modelSpans: readonly (readonly [number, number])[];
  /** As written: `auto`, a name, or names separated by commas. */
  readonly model: string;
  readonly isStream: boolean;
  /** Of chat: how many answers are wanted (`n`). */
  readonly choices: number;
  readonly needs: {
    readonly tools: boolean;
    readonly json: boolean;
    readonly vision: boolean;
  };
  /** Of embeddings: how many vectors must come back; 0 for chat. */
  readonly vectors: number;
  /** Of embeddings: how long each vector must be; null when that was left to the model. */
  readonly dimensions: number | null;
}

export interface AttemptTimeouts {
  readonly connectMs: number;
  /** Until the first content of a stream; of a whole answer, until all of it is there. */
  readonly firstTokenMs: number;
  /** Between two pieces. */
  readonly idleMs: number;
}

export interface ProviderFailure {
  readonly outcome: 'failure';
  readonly failureClass: FailureClass;
  readonly status: number | null;
  /** Of a timeout: which limit of the call it was; undefined when the provider or the network gave up. */
  readonly exceeded?: keyof AttemptTimeouts | undefined;
  readonly hint: { readonly retryAfterMs: number; readonly source: string } | undefined;
  /** For GATEWAY_REQUEST_REJECTED: the provider's own sentence, redacted and shortened; null where it must not travel. */
  readonly message: string | null;
}

export interface ProviderResponse {
  readonly outcome: 'answer';
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly tokens: Tokens;
  /** Learned from quota headers: the key has nothing left until then (epoch milliseconds). */
  readonly quotaExhaustedUntil: { readonly at: number; readonly source: string } | undefined;
}

/** Committed: its first content is in `head`, so no other model can take over any more. */
export interface ProviderStream {
  readonly outcome: 'stream';
  readonly status: number;
  readonly contentType: string;
  /** The bytes up to and including the first content. */
  readonly head: readonly Uint8Array[];
  /** The rest, as it comes; rejects with GATEWAY_STREAM_INTERRUPTED. Leaving it early aborts the provider. */
  readonly rest: AsyncIterable<Uint8Array>;
  /** Resolves when the stream has ended, however; never rejects. */
  readonly ended: Promise<{
    readonly failureClass: FailureClass | null;
    readonly tokens: Tokens;
    /**
     * From its first content to its last byte, or until it was given up, without the time in which its reader kept it
     * waiting.
     */
    readonly streamMs: number;
    /** Of a failure that said when to come back. */
    readonly hint?: ProviderFailure['hint'];
  }>;
  readonly quotaExhaustedUntil: { readonly at: number; readonly source: string } | undefined;
}

/** One HTTP call. Never throws: what goes wrong is a ProviderFailure. */
export interface ProviderClient {
  call(request: {
    readonly model: Model;
    readonly baseUrl: string;
    readonly key: ProviderKey;
    readonly ask: CompletionRequest;
    readonly limits: AttemptTimeouts;
    readonly signal: AbortSignal;
  }): Promise<ProviderResponse | ProviderStream | ProviderFailure>;
}

/* ---- one request through the gateway ---- */

export interface GatewayRequest {
  readonly requestId: string;
  readonly ask: CompletionRequest;
  /** As in Attempt. */
  readonly caller: string;
  /** False: only the models that are named. */
  readonly allowFallback: boolean;
  /** All tries and waits together, until an answer is there or a stream has begun. */
  readonly deadlineMs: number;
  /** Extra tries per model, instead of MAX_RETRIES (a probe wants none). */
  readonly maxRetries?: number;
  /** Wait up to this long for the soonest model when none is available; 0 fails at once. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

export interface CompletionResult {
  readonly model: Model;
  /** Calls that were made, this one included. */
  readonly attempts: number;
  /** Did somebody else answer than the first choice? */
  readonly isFallback: boolean;
  /** Of the call that was answered, alone; of a stream, until its first content. */
  readonly durationMs: number;
  readonly answer: ProviderResponse | ProviderStream;
}

/** Fails with a GatewayError, or with CANCELED or DEADLINE_EXCEEDED. */
/** Requests that have no answer yet, and those of them that wait for a model to be free or to recover. */
export interface GatewayLoad {
  readonly unanswered: number;
  readonly waiting: number;
}

export interface Gateway {
  complete(request: GatewayRequest): Promise<CompletionResult>;
}
