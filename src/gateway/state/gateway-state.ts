// All that the gateway remembers, in memory and kept in step: opened at start, closed before the store is.
import type { IdSource } from '../../core/index.ts';
import { every } from '../../resilience/index.ts';
import type { ModelDefinition } from '../ports.ts';
import { AttemptLog } from './batching-attempt-recorder.ts';
import type { AttemptRecorderLimits } from './batching-attempt-recorder.ts';
import type { GatewayTopic } from './change-feed.ts';
import { CooldownBoard } from './cooldown-board.ts';
import { GatewayKeys } from './gateway-keys.ts';
import type { GatewayStores } from './gateway-stores.ts';
import { ModelRegistry } from './model-registry.ts';
import { ScoreBoard } from './score-board.ts';
import type { StateDeps } from './state-parts.ts';
import { UsageTracker } from './usage-meter.ts';

export interface GatewayStateOptions extends StateDeps {
  readonly stores: GatewayStores;
  readonly ids: IdSource;
  readonly builtIn: readonly ModelDefinition[];
  readonly configured: readonly ModelDefinition[];
  readonly windowDays: number;
  readonly limits?: Partial<AttemptRecorderLimits>;
}

/** A notification can get lost; with this many between two looks, that costs no more than seconds. */
const safetyPollMs = 15_000;
const scoresEveryMs = 30_000;

export class GatewayState {
  readonly models: ModelRegistry;
  readonly cooldowns: CooldownBoard;
  readonly attempts: AttemptLog;
  readonly scores: ScoreBoard;
  readonly keys: GatewayKeys;
  readonly usage: UsageTracker;
  readonly #options: GatewayStateOptions;
  #unwatch: () => Promise<void> = () => Promise.resolve();
  #stopPolls: (() => void)[] = [];

  private constructor(options: GatewayStateOptions) {
    const { stores, builtIn, configured, ids, windowDays, limits, clock, random, events } = options;
    const parts: StateDeps = { clock, random, events };
    this.#options = options;
    this.models = new ModelRegistry({ ...parts, store: stores.models, builtIn, configured });
    this.cooldowns = new CooldownBoard({ ...parts, store: stores.cooldowns, models: this.models });
    this.attempts = new AttemptLog(parts, stores.attempts, limits);
    this.scores = new ScoreBoard({ ...parts, store: stores.attempts, recorder: this.attempts, windowDays });
    this.keys = new GatewayKeys({ ...parts, store: stores.keys, ids });
    this.usage = new UsageTracker({ ...parts, store: stores.usage });
    this.attempts.onRecord((attempt) => this.usage.count(attempt));
  }

  /** Ready when it resolves. Fails with STATE_UNAVAILABLE. */
  static async open(options: GatewayStateOptions): Promise<GatewayState> {
    const state = new GatewayState(options);
    try {
      await state.#start();
    } catch (error) {
      await state.close();
      throw error;
    }
    return state;
  }

  /** Reads everything again. False when the store did not give it; memory stays as it is. */
  async refresh(): Promise<boolean> {
    const boards = [this.models, this.cooldowns, this.keys, this.usage, this.scores];
    const results = await Promise.all(boards.map((board) => board.refresh()));
    return results.every(Boolean);
  }

  /** Writes what waits, as far as the store takes it. Nothing may be recorded afterwards. */
  async close(): Promise<void> {
    for (const stop of this.#stopPolls) stop();
    await this.#unwatch().catch(() => undefined);
    await Promise.all([this.models.close(), this.keys.close(), this.scores.close()]);
    await Promise.all([this.cooldowns.close(), this.usage.close(), this.attempts.close()]);
  }

  async #start(): Promise<void> {
    const {
      clock,
      stores: { changes },
    } = this.#options;
    // First listen, then load: what changes between the two is heard.
    this.#unwatch = await changes.watch((topic) => this.#hear(topic));
    await this.models.start();
    for (const board of [this.cooldowns, this.keys, this.usage, this.scores]) await board.start();
    if (changes.isShared) {
      const boards = [this.models, this.cooldowns, this.keys, this.usage];
      this.#stopPolls = [
        every(clock, safetyPollMs, () => Promise.all(boards.map((board) => board.refresh()))),
        every(clock, scoresEveryMs, () => this.scores.refresh()),
      ];
    } else {
      this.#stopPolls = [every(clock, scoresEveryMs, () => this.scores.refreshIfNeeded())];
    }
  }

  #hear(topic: GatewayTopic | 'everything'): void {
    if (topic !== 'everything') return void this[topic].refresh();
    this.cooldowns.retryNow();
    // Reading scores and usage writes first what waits of them.
    void this.refresh();
  }
}
