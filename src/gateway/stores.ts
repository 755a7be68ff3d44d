// What the gateway persists. Postgres implements these; tests use the doubles in test/support/gateway.
// Every method fails with STATE_UNAVAILABLE while the store cannot be reached.
import type { ChangeFeed } from '../resilience/index.ts';
import type { QuotaCounter } from './quotas/quota-counter.ts';
import type {
  Attempt,
  Cooldown,
  CooldownSnapshot,
  Discovery,
  FailedRequest,
  GatewayKey,
  HistoryInterval,
  KeyLimits,
  ListEffects,
  LoggedRequest,
  Model,
  ModelDefinition,
  ModelStats,
  RequestContent,
  RequestFilter,
  StoredGatewayKey,
  StoredResponse,
  Usage,
} from './types.ts';

export interface ModelStore {
  /**
   * Upserts definitions by name, keeping id and is_active; other models are untouched. Built-in ones do not overwrite
   * added models; discovered ones only discovered models.
   */
  sync(definitions: readonly ModelDefinition[], origin: 'built-in' | 'config' | 'discovered'): Promise<void>;
  /**
   * Applies what follows from a provider's list in one transaction. `undefinedNames`: built-in and configured models that
   * are no longer defined; a discovered model may take their place.
   */
  applyList(effects: ListEffects, undefinedNames: readonly string[]): Promise<void>;
  list(): Promise<readonly Model[]>;
  /** Fails with GATEWAY_MODEL_EXISTS. */
  add(definition: ModelDefinition): Promise<Model>;
  /** Enabling a retired model ends its retirement. Undefined when there is none. */
  setActive(id: number, isActive: boolean): Promise<Model | undefined>;
  /** Replaces the definition of an added model; name, id, is_active and history stay. Undefined when there is none. */
  replace(id: number, definition: ModelDefinition): Promise<Model | undefined>;
  /** Removes an added model and frees its name; its history stays. False when there is none. */
  remove(id: number): Promise<boolean>;
  /** Names by id, removed models included, for attempts and usage that refer to them. */
  names(): Promise<ReadonlyMap<number, string>>;
}

export interface CooldownStore {
  /**
   * Keeps the longer of the two, in one statement, with its cause and reason. Changes nothing when the model was
   * cleared at or after `setAt`.
   */
  extend(cooldown: Cooldown): Promise<void>;
  /** Voids everything set up to `at` and everything stored. Returns when it counts as cleared: `at` or later. */
  clear(modelId: number, at: number): Promise<number>;
  /** Those that have not expired. */
  active(now: number): Promise<CooldownSnapshot>;
}

export interface AttemptStore {
  /** `supersedes` takes effect on rows that are already stored, too. */
  append(rows: readonly (Attempt | FailedRequest)[]): Promise<void>;
  /**
   * Outcomes by model of attempts that started in [since, before): successes, and failures that count against the model
   * and were not superseded.
   */
  stats(range: { readonly since?: Date; readonly before?: Date }): Promise<readonly ModelStats[]>;
  /** Newest first. */
  list(filter: { readonly modelId?: number; readonly limit: number }): Promise<readonly Attempt[]>;
  /** The last calls of each model that say whether it works (`isEvidence`), oldest first; at most `limit` per model. */
  lastCalls(range: {
    readonly models: readonly Pick<Model, 'id' | 'isLocal'>[];
    readonly since: Date;
    readonly limit: number;
    /** Callers whose calls are left out. */
    readonly withoutCallers?: readonly string[];
  }): Promise<readonly Pick<Attempt, 'modelId' | 'at' | 'outcome'>[]>;
  /** The stats of one model in intervals of `intervalMs` from `since` on, without empty ones. */
  history(range: {
    readonly modelId: number;
    readonly since: Date;
    readonly intervalMs: number;
  }): Promise<readonly HistoryInterval[]>;
  /** Requests that have ended, the last first. */
  requests(filter: RequestFilter): Promise<readonly LoggedRequest[]>;
  /** One of them with the attempts of its request id, in order; undefined when there is none. */
  request(id: number): Promise<RequestWithAttempts | undefined>;
  /** Deletes up to `limit` rows that started before `before`, oldest first; returns how many. */
  purge(before: Date, limit: number): Promise<number>;
}

export interface RequestWithAttempts {
  readonly request: LoggedRequest;
  readonly attempts: readonly Attempt[];
}

/** Bodies of requests. */
export interface ContentStore {
  /** Replaces those with the same request id. */
  append(contents: readonly RequestContent[]): Promise<void>;
  get(requestId: string): Promise<RequestContent | undefined>;
  /** Deletes up to `limit` of before `before`; returns how many. */
  purge(before: Date, limit: number): Promise<number>;
}

export interface GatewayKeyStore {
  add(key: StoredGatewayKey): Promise<void>;
  list(): Promise<readonly StoredGatewayKey[]>;
  /** Undefined when there is none; a second time changes nothing. */
  revoke(id: string, at: Date): Promise<GatewayKey | undefined>;
  /** Undefined when there is none. */
  setLimits(id: string, limits: KeyLimits): Promise<GatewayKey | undefined>;
}

export interface UsageStore {
  /** Adds to the stored rows, in one statement. */
  add(usage: readonly Usage[]): Promise<void>;
  list(filter: { readonly fromDay: string; readonly caller?: string }): Promise<readonly Usage[]>;
  /** Deletes up to `limit` rows of days before `beforeDay`; returns how many. */
  purge(beforeDay: string, limit: number): Promise<number>;
}

/** Responses that callers may continue. */
export interface ResponseStore {
  /** Replaces one with the same id of the same caller. */
  add(response: StoredResponse): Promise<void>;
  /** A response of this caller with all responses before it, oldest first; empty when there is none. */
  chain(id: string, caller: string): Promise<readonly StoredResponse[]>;
  /** The responses of this caller that contain these output items. */
  withItems(ids: readonly string[], caller: string): Promise<readonly StoredResponse[]>;
  /** False when there is none. */
  delete(id: string, caller: string): Promise<boolean>;
  /** Deletes up to `limit` responses that were created before `before`; returns how many. */
  purge(before: Date, limit: number): Promise<number>;
}

/** Shared by all processes of a store: in each interval only one of them probes the models. */
export interface ProbeSchedule {
  /** True for the one process that may probe now; the first probe ever is due an interval after the first claim. */
  claim(now: number, intervalMs: number): Promise<boolean>;
}

/** Readings of the providers' lists of models. */
export interface DiscoveryStore {
  /**
   * The providers whose list this process may read now: in each interval one process per provider. One that was never
   * claimed is due at once.
   */
  claim(providers: readonly string[], now: number, intervalMs: number): Promise<readonly string[]>;
  add(discovery: Discovery): Promise<void>;
  /** Newest first; `after`: those older than the one with this id. */
  list(filter: {
    readonly provider?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly Discovery[]>;
  /** Deletes up to `limit` discoveries before `before`; returns how many. */
  purge(before: Date, limit: number): Promise<number>;
}

/** Data that a process holds in memory and other processes may change. */
export const gatewayTopics = ['models', 'cooldowns', 'keys', 'usage'] as const;
export type GatewayTopic = (typeof gatewayTopics)[number];

export interface GatewayStores {
  readonly models: ModelStore;
  readonly cooldowns: CooldownStore;
  readonly attempts: AttemptStore;
  readonly contents: ContentStore;
  readonly keys: GatewayKeyStore;
  readonly usage: UsageStore;
  readonly responses: ResponseStore;
  readonly probes: ProbeSchedule;
  readonly discoveries: DiscoveryStore;
  readonly changes: ChangeFeed<GatewayTopic>;
  /** Counts quotas for all processes. Without it each process counts its own. */
  readonly quotas?: QuotaCounter | undefined;
}
