// What people and the HTTP API do with models and keys, and what they see of them.
import type {
  Attempt,
  Capabilities,
  GatewayKey,
  HistoryInterval,
  Model,
  Cooldown,
  Quotas,
  Score,
  Usage,
} from './ports.ts';

/** A model as the founding document shows it, and what else one wants to know. Rates and scores are 0 to 1. */
export interface ModelView {
  readonly id: number;
  readonly name: string;
  readonly provider: string;
  readonly apiEndpoint: string;
  readonly upstreamModel: string;
  readonly envVar: string | null;
  readonly isLocal: boolean;
  readonly origin: Model['origin'];
  readonly capabilities: Capabilities;
  readonly quotas: Quotas;
  readonly isActive: boolean;
  /** Its key is set (or it needs none). */
  readonly isConfigured: boolean;
  readonly keyCount: number;
  /** The variable in which its keys were found; null when it has none or needs none. */
  readonly keySource: string | null;
  /** The variables to set before it can be asked, in words; null when it is configured. */
  readonly needs: string | null;
  /** When the soonest of its keys may be used again; null: now. */
  readonly availableAt: Date | null;
  /** Keys that are left alone now; a quota that is used up by our own count is among them, as cause `quota`. */
  readonly cooldowns: readonly Cooldown[];
  readonly successCount: number;
  readonly failureCount: number;
  readonly requestCount: number;
  readonly successRate: number;
  /** Seconds, of successful attempts. */
  readonly averageResponseTime: number;
  readonly reliabilityScore: number;
  /** The recent ones are null unless asked for. */
  readonly recentSuccessRate: number | null;
  readonly recentRequestCount: number | null;
  readonly recentReliabilityScore: number | null;
  readonly effectiveReliabilityScore: number;
  readonly decisionReason: string;
}

export interface ModelFilter {
  readonly activeOnly: boolean;
  readonly availableOnly: boolean;
  readonly configuredOnly: boolean;
  readonly includeRecent: boolean;
  readonly windowDays: number;
}

export interface ModelExplanation {
  readonly model: ModelView;
  readonly score: Score;
  /** The formulas with this model's numbers in them, a sentence each. */
  readonly steps: readonly string[];
  /** Its place among the models that would be asked now, first is 1; null: it would not be asked, `positionReason` says why. */
  readonly position: number | null;
  readonly positionReason: string;
  /** Epoch milliseconds until which it is asked last, after failing several times in a row; null: not resting. */
  readonly backoffUntil: number | null;
  readonly recentAttempts: readonly Attempt[];
}

/** How a model did over time. */
export interface ModelHistory {
  readonly since: Date;
  readonly until: Date;
  readonly intervalMs: number;
  /** Those in which it was asked, oldest first. */
  readonly intervals: readonly HistoryInterval[];
}

export interface ProbeResult {
  readonly model: string;
  /** `skipped`: cooling, out of quota, disabled or without key; `reason` says which. */
  readonly outcome: Attempt['outcome'] | 'skipped';
  readonly reason: string | null;
  readonly durationMs: number | null;
}

/** What a person or the config file gives to add a model; the rest has defaults. */
export interface ModelInput {
  readonly name: string;
  readonly baseUrl: string;
  /** Default: the name; with `provider` and a name that begins with it and a slash: what stands behind. */
  readonly model?: string | undefined;
  /** Default: what stands before the first slash of the name; in a name without one, the host of the address. */
  readonly provider?: string | undefined;
  readonly envVar?: string | null | undefined;
  readonly capabilities?: Partial<Capabilities> | undefined;
  readonly quotas?: Quotas | undefined;
}

/** By id: GATEWAY_MODEL_NOT_FOUND when there is none. */
export interface ModelService {
  /** Names by id of all models there ever were, those that were removed included. Fails with STATE_UNAVAILABLE. */
  names(): Promise<ReadonlyMap<number, string>>;
  /** Active models that have a key, from memory. */
  listCallable(): readonly Model[];
  /** The variable in which its keys were found; null when it has none or needs none. */
  keySourceOf(model: Model): string | null;
  list(filter: ModelFilter): Promise<readonly ModelView[]>;
  get(id: number): Promise<ModelView>;
  /** Fails with INPUT_INVALID or GATEWAY_MODEL_EXISTS. */
  add(input: ModelInput): Promise<ModelView>;
  /**
   * Gives a model that was added another definition under the same name; id, scores and usage stay. Cooldowns go if
   * it leads elsewhere now. Fails with INPUT_INVALID, or CONFLICT for models that were not added.
   */
  replace(id: number, input: ModelInput): Promise<ModelView>;
  /** Takes out a model that was added, and gives back what it was; usage stays. Fails with CONFLICT like `replace`. */
  remove(id: number): Promise<ModelView>;
  setActive(id: number, isActive: boolean): Promise<ModelView>;
  /** Leaves all its keys alone for so long, by hand; 0 clears every cooldown of the model. */
  setAvailability(id: number, retryAfterSeconds: number, reason: string | null): Promise<ModelView>;
  /** Appends an attempt by hand; without a time it leaves the average as it is. */
  increment(
    id: number,
    outcome: 'success' | 'server-error',
    responseTimeSeconds: number | null,
  ): Promise<ModelView>;
  explain(id: number): Promise<ModelExplanation>;
  history(id: number, hours: number): Promise<ModelHistory>;
  /** Asks them something cheap now; all that are configured when none is named. */
  probe(ids: readonly number[] | null, signal?: AbortSignal): Promise<readonly ProbeResult[]>;
}

export interface KeyService {
  /** The key itself comes back once, here. */
  create(input: {
    readonly name: string;
    readonly expiresAt: Date | null;
    readonly dailyTokenCap: number | null;
  }): Promise<{ readonly key: string; readonly record: GatewayKey }>;
  list(): Promise<readonly (GatewayKey & { readonly tokensToday: number })[]>;
  /** Fails with GATEWAY_KEY_NOT_FOUND. */
  revoke(id: string): Promise<GatewayKey>;
  usage(filter: { readonly fromDay: string; readonly caller?: string }): Promise<readonly Usage[]>;
}
