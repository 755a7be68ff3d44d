// What the gateway persists. Postgres implements these; tests use the doubles in test/support/gateway.
// Every method fails with STATE_UNAVAILABLE while the store cannot be reached.
import type { ChangeFeed } from '../resilience/index.ts';
import type { QuotaCounter } from './quotas/quota-counter.ts';
import type {
  Attempt,
  Cooldown,
  CooldownSnapshot,
  GatewayKey,
  HistoryInterval,
  Model,
  ModelDefinition,
  ModelStats,
  StoredGatewayKey,
  Usage,
} from './types.ts';

export interface ModelStore {
  /** Upserts built-in or configured definitions by name, keeping id and is_active; other models are untouched. */
  sync(definitions: readonly ModelDefinition[], origin: 'built-in' | 'config'): Promise<void>;
  list(): Promise<readonly Model[]>;
  /** Fails with GATEWAY_MODEL_EXISTS. */
  add(definition: ModelDefinition): Promise<Model>;
  /** Undefined when there is none. */
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
  append(attempts: readonly Attempt[]): Promise<void>;
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
  }): Promise<readonly Pick<Attempt, 'modelId' | 'at' | 'outcome'>[]>;
  /** The stats of one model in intervals of `intervalMs` from `since` on, without empty ones. */
  history(range: {
    readonly modelId: number;
    readonly since: Date;
    readonly intervalMs: number;
  }): Promise<readonly HistoryInterval[]>;
  /** Deletes up to `limit` attempts that started before `before`, oldest first; returns how many. */
  purge(before: Date, limit: number): Promise<number>;
}

export interface GatewayKeyStore {
  add(key: StoredGatewayKey): Promise<void>;
  list(): Promise<readonly StoredGatewayKey[]>;
  /** Undefined when there is none; a second time changes nothing. */
  revoke(id: string, at: Date): Promise<GatewayKey | undefined>;
}

export interface UsageStore {
  /** Adds to the stored rows, in one statement. */
  add(usage: readonly Usage[]): Promise<void>;
  list(filter: { readonly fromDay: string; readonly caller?: string }): Promise<readonly Usage[]>;
  /** Deletes up to `limit` rows of days before `beforeDay`; returns how many. */
  purge(beforeDay: string, limit: number): Promise<number>;
}

/** Shared by all processes of a store: in each interval only one of them probes the models. */
export interface ProbeSchedule {
  /** True for the one process that may probe now; the first probe ever is due an interval after the first claim. */
  claim(now: number, intervalMs: number): Promise<boolean>;
}

/** Data that a process holds in memory and other processes may change. */
export const gatewayTopics = ['models', 'cooldowns', 'keys'] as const;
export type GatewayTopic = (typeof gatewayTopics)[number];

export interface GatewayStores {
  readonly models: ModelStore;
  readonly cooldowns: CooldownStore;
  readonly attempts: AttemptStore;
  readonly keys: GatewayKeyStore;
  readonly usage: UsageStore;
  readonly probes: ProbeSchedule;
  readonly changes: ChangeFeed<GatewayTopic>;
  /** Counts quotas for all processes. Without it each process counts its own. */
  readonly quotas?: QuotaCounter | undefined;
}
