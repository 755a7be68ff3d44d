// All state of the gateway, in memory and in sync with its stores: opened at start, closed before the stores.
import type { IdSource } from '../../core/index.ts';
import { every } from '../../core/index.ts';
import { ModelRegistry } from '../models/model-registry.ts';
import type { ProviderDefinition } from '../models/provider-definition.ts';
import type { GatewayStores, GatewayTopic } from '../stores.ts';
import type { ModelDefinition } from '../types.ts';
import { AttemptLog } from './attempt-log.ts';
import { Cooldowns } from './availability.ts';
import { GatewayKeys, UsageTracker } from './gateway-keys.ts';
import type { ModelHealthDeps } from './model-health.ts';
import { ModelHealth } from './model-health.ts';
import type { RowLogLimits } from './row-log.ts';
import { Scores } from './scores.ts';
import type { StateDeps } from './store-access.ts';

export interface GatewayStateDeps extends StateDeps {
  readonly stores: GatewayStores;
  readonly ids: IdSource;
  readonly builtIn: readonly ModelDefinition[];
  readonly configured: readonly ModelDefinition[];
  readonly providers: readonly ProviderDefinition[];
  readonly windowDays: number;
  readonly limits?: Partial<RowLogLimits>;
  readonly onHealthChange?: ModelHealthDeps['onChange'];
}

/** Notifications can get lost; this bounds the delay of what they announce. */
const pollIntervalMs = 15_000;
const scoresIntervalMs = 30_000;
/** Failures of other processes are shown within 15 s. */
const healthIntervalMs = 5_000;

export class GatewayState {
  readonly models: ModelRegistry;
  readonly cooldowns: Cooldowns;
  readonly attempts: AttemptLog;
  readonly scores: Scores;
  readonly health: ModelHealth;
  readonly keys: GatewayKeys;
  readonly usage: UsageTracker;
  readonly #deps: GatewayStateDeps;
  #unwatch: () => Promise<void> = () => Promise.resolve();
  #stopPolling: (() => void)[] = [];

  private constructor(given: GatewayStateDeps) {
    const { stores, builtIn, configured, providers, ids, windowDays, limits, clock, random, events } = given;
    const deps: StateDeps = { clock, random, events };
    this.#deps = given;
    this.models = new ModelRegistry({ ...deps, store: stores.models, builtIn, configured, providers });
    this.cooldowns = new Cooldowns({ ...deps, store: stores.cooldowns, models: this.models });
    this.attempts = new AttemptLog(deps, stores.attempts, limits);
    this.scores = new Scores({ ...deps, store: stores.attempts, attempts: this.attempts, windowDays });
    this.health = new ModelHealth({
      ...deps,
      store: stores.attempts,
      attempts: this.attempts,
      models: this.models,
      cooldowns: this.cooldowns,
      onChange: given.onHealthChange,
    });
    this.keys = new GatewayKeys({ ...deps, store: stores.keys, ids });
    this.usage = new UsageTracker({ ...deps, store: stores.usage });
    this.attempts.onRecord((attempt) => this.usage.count(attempt));
  }

  /** Ready when it resolves. Fails with STATE_UNAVAILABLE. */
  static async open(deps: GatewayStateDeps): Promise<GatewayState> {
    const state = new GatewayState(deps);
    try {
      await state.#start();
    } catch (error) {
      await state.close();
      throw error;
    }
    return state;
  }

  /** Reads everything again. False when the store did not respond; memory stays as it is. */
  async refresh(): Promise<boolean> {
    const results = await Promise.all(this.#reloads.map((reload) => reload.refresh()));
    return results.every(Boolean);
  }

  /** Writes what is buffered, as far as the store accepts it. Nothing may be recorded afterwards. */
  async close(): Promise<void> {
    for (const stop of this.#stopPolling) stop();
    await this.#unwatch().catch(() => undefined);
    await Promise.all(this.#reloads.map((reload) => reload.close()));
    await Promise.all([this.cooldowns.close(), this.usage.close(), this.attempts.close()]);
  }

  /** What other processes may change. */
  get #shared() {
    return [this.models.reload, this.cooldowns.reload, this.keys.reload, this.usage.reload];
  }

  get #reloads() {
    return [...this.#shared, this.scores.reload, this.health.reload];
  }

  async #start(): Promise<void> {
    const { clock, stores } = this.#deps;
    // Watch before load: changes between the two are not missed.
    this.#unwatch = await stores.changes.watch((topic) => this.#onChange(topic));
    await this.models.sync();
    for (const reload of this.#reloads) await reload.start();
    this.#stopPolling = stores.changes.isShared
      ? [
          every(clock, pollIntervalMs, () => Promise.all(this.#shared.map((reload) => reload.refresh()))),
          every(clock, scoresIntervalMs, () => this.scores.reload.refresh()),
          every(clock, healthIntervalMs, () => this.health.reload.refresh()),
        ]
      : [
          every(clock, scoresIntervalMs, () => this.scores.refreshIfNeeded()),
          every(clock, scoresIntervalMs, () => this.health.refreshIfNeeded()),
        ];
  }

  #onChange(topic: GatewayTopic | 'everything'): void {
    if (topic !== 'everything') return void this[topic].reload.refresh();
    this.cooldowns.retryNow();
    // Buffered scores and usage are written before they are read.
    void this.refresh();
  }
}
