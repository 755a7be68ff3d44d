// In-memory doubles of the gateway's stores.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../src/core/index.ts';
import type {
  Attempt,
  CooldownSnapshot,
  GatewayKey,
  Model,
  Cooldown,
  ModelDefinition,
  HistoryInterval,
  ModelStats,
  StoredGatewayKey,
  Usage,
} from '../../../src/gateway/types.ts';
import type {
  AttemptStore,
  CooldownStore,
  GatewayKeyStore,
  ModelStore,
  ProbeSchedule,
  UsageStore,
} from '../../../src/gateway/stores.ts';
import { MemoryChangeFeed } from '../resilience/memory-change-feed.ts';
import type { GatewayTopic } from '../../../src/gateway/stores.ts';
import { CooldownMap } from '../../../src/gateway/state/availability.ts';
import { countsAmong } from '../../../src/gateway/state/attempt-log.ts';
import { isEvidence } from '../../../src/gateway/state/model-health.ts';
import type { GatewayStores } from '../../../src/gateway/stores.ts';
import { modelExists } from '../../../src/gateway/models/model-registry.ts';

type Tell = (topic: GatewayTopic) => void;

export class MemoryModelStore implements ModelStore {
  readonly #clock: Clock;
  readonly #tell: Tell;
  readonly #models = new Map<string, Model>();
  readonly #names = new Map<number, string>();

  constructor(clock: Clock, tell: Tell = () => undefined) {
    this.#clock = clock;
    this.#tell = tell;
  }

  async sync(definitions: readonly ModelDefinition[], origin: 'built-in' | 'config'): Promise<void> {
    let changed = false;
    for (const definition of definitions.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const known = this.#models.get(definition.name);
      if (known?.origin === 'custom' && origin === 'built-in') continue;
      const next = known ? { ...known, ...definition, origin } : this.#make(definition, origin);
      if (isDeepStrictEqual(known, next)) continue;
      this.#models.set(next.name, next);
      changed = true;
    }
    if (changed) this.#tell('models');
  }

  async list(): Promise<readonly Model[]> {
    return [...this.#models.values()].sort((a, b) => a.id - b.id);
  }

  async add(definition: ModelDefinition): Promise<Model> {
    if (this.#models.has(definition.name)) throw modelExists(definition.name);
    const model = this.#make(definition, 'custom');
    this.#models.set(model.name, model);
    this.#tell('models');
    return model;
  }

  async setActive(id: number, isActive: boolean): Promise<Model | undefined> {
    const known = this.#byId(id);
    return known && this.#change({ ...known, isActive });
  }

  async replace(id: number, definition: ModelDefinition): Promise<Model | undefined> {
    const known = this.#byId(id);
    return known?.origin === 'custom'
      ? this.#change({ ...known, ...definition, name: known.name })
      : undefined;
  }

  async remove(id: number): Promise<boolean> {
    const known = this.#byId(id);
    if (known?.origin !== 'custom') return false;
    this.#models.delete(known.name);
    this.#tell('models');
    return true;
  }

  async names(): Promise<ReadonlyMap<number, string>> {
    return new Map(this.#names);
  }

  #byId(id: number): Model | undefined {
    return this.#models.values().find((model) => model.id === id);
  }

  #change(model: Model): Model {
    this.#models.set(model.name, model);
    this.#tell('models');
    return model;
  }

  #make(definition: ModelDefinition, origin: Model['origin']): Model {
    const createdAt = new Date(this.#clock.now());
    const id = this.#names.size + 1;
    this.#names.set(id, definition.name);
    return { ...definition, id, isActive: true, origin, createdAt };
  }
}

export class MemoryCooldownStore implements CooldownStore {
  readonly #tell: Tell;
  readonly #map = new CooldownMap();
  readonly #modelIds = new Set<number>();

  constructor(tell: Tell = () => undefined) {
    this.#tell = tell;
  }

  async extend(cooldown: Cooldown): Promise<void> {
    this.#modelIds.add(cooldown.modelId);
    if (this.#map.extend(cooldown)) this.#tell('cooldowns');
  }

  async clear(modelId: number, at: number): Promise<number> {
    const latest = Math.max(at, ...this.#map.ofModel(modelId).map(({ setAt }) => setAt));
    this.#modelIds.add(modelId);
    this.#map.clear(modelId, latest);
    this.#tell('cooldowns');
    return this.#map.clearedAt(modelId);
  }

  async active(now: number): Promise<CooldownSnapshot> {
    const ids = [...this.#modelIds];
    return {
      cooldowns: ids.flatMap((id) => this.#map.ofModel(id)).filter(({ until }) => until > now),
      clearedAt: new Map(
        ids.map((id) => [id, this.#map.clearedAt(id)] as const).filter(([, at]) => Number.isFinite(at)),
      ),
    };
  }
}

export class MemoryAttemptStore implements AttemptStore {
  #attempts: readonly Attempt[] = [];

  async append(attempts: readonly Attempt[]): Promise<void> {
    this.#attempts = [...this.#attempts, ...attempts];
  }

  async stats({ since, before }: { since?: Date; before?: Date }): Promise<readonly ModelStats[]> {
    const counts = countsAmong(this.#attempts);
    const counted = this.#attempts.filter(
      ({ at }, index) =>
        counts[index] && at >= (since?.getTime() ?? -Infinity) && at < (before?.getTime() ?? Infinity),
    );
    return [...Map.groupBy(counted, ({ modelId }) => modelId)]
      .map(([modelId, outcomes]) => statsOf(modelId, outcomes))
      .sort((a, b) => a.modelId - b.modelId);
  }

  async list({ modelId, limit }: { modelId?: number; limit: number }): Promise<readonly Attempt[]> {
    return this.#byTime()
      .filter((attempt) => modelId === undefined || attempt.modelId === modelId)
      .toReversed()
      .slice(0, limit);
  }

  async lastCalls({
    models,
    since,
    limit,
  }: {
    models: readonly Pick<Model, 'id' | 'isLocal'>[];
    since: Date;
    limit: number;
  }): Promise<readonly Attempt[]> {
    const all = this.#byTime().filter(({ at }) => at >= since.getTime());
    const chosen = models.flatMap(({ id, isLocal }) =>
      all.filter((attempt) => attempt.modelId === id && isEvidence(attempt, isLocal)).slice(-limit),
    );
    return all.filter((attempt) => chosen.includes(attempt));
  }

  async history({
    modelId,
    since,
    intervalMs,
  }: {
    modelId: number;
    since: Date;
    intervalMs: number;
  }): Promise<readonly HistoryInterval[]> {
    const counts = countsAmong(this.#attempts);
    const from = since.getTime();
    const counted = this.#attempts.filter(
      (attempt, index) => counts[index] && attempt.modelId === modelId && attempt.at >= from,
    );
    return [...Map.groupBy(counted, ({ at }) => from + Math.floor((at - from) / intervalMs) * intervalMs)]
      .map(([at, outcomes]) => {
        const { requests, successes, averageSeconds } = statsOf(modelId, outcomes);
        return { at, requests, successes, averageSeconds };
      })
      .sort((a, b) => a.at - b.at);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = this.#byTime()
      .filter(({ at }) => at < before.getTime())
      .slice(0, limit);
    this.#attempts = this.#attempts.filter((attempt) => !old.includes(attempt));
    return old.length;
  }

  /** Sorted by time; of two with the same time, the one appended later is the later. */
  #byTime(): Attempt[] {
    return this.#attempts.toSorted((a, b) => a.at - b.at);
  }
}

function statsOf(modelId: number, outcomes: readonly Attempt[]): ModelStats {
  const successes = outcomes.filter(({ outcome }) => outcome === 'success');
  const totalMs = successes.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const averageSeconds = successes.length === 0 ? 0 : totalMs / successes.length / 1_000;
  return { modelId, requests: outcomes.length, successes: successes.length, averageSeconds };
}

export class MemoryGatewayKeyStore implements GatewayKeyStore {
  readonly #tell: Tell;
  readonly #keys = new Map<string, StoredGatewayKey>();

  constructor(tell: Tell = () => undefined) {
    this.#tell = tell;
  }

  async add(key: StoredGatewayKey): Promise<void> {
    this.#keys.set(key.id, key);
    this.#tell('keys');
  }

  async list(): Promise<readonly StoredGatewayKey[]> {
    return [...this.#keys.values()].sort(
      (a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1),
    );
  }

  async revoke(id: string, at: Date): Promise<GatewayKey | undefined> {
    const known = this.#keys.get(id);
    if (!known) return undefined;
    const { hash, ...key } = { ...known, revokedAt: known.revokedAt ?? at };
    this.#keys.set(id, { ...key, hash });
    this.#tell('keys');
    return key;
  }
}

export class MemoryUsageStore implements UsageStore {
  readonly #lines = new Map<string, Usage>();

  async add(usage: readonly Usage[]): Promise<void> {
    for (const line of usage) {
      const key = `${line.day} ${line.modelId} ${line.caller}`;
      const known = this.#lines.get(key);
      this.#lines.set(key, {
        ...line,
        requests: line.requests + (known?.requests ?? 0),
        promptTokens: line.promptTokens + (known?.promptTokens ?? 0),
        completionTokens: line.completionTokens + (known?.completionTokens ?? 0),
      });
    }
  }

  async list({ fromDay, caller }: { fromDay: string; caller?: string }): Promise<readonly Usage[]> {
    return [...this.#lines.values()]
      .filter((line) => line.day >= fromDay && (caller === undefined || line.caller === caller))
      .sort((a, b) => compare(a.day, b.day) || compare(a.caller, b.caller) || a.modelId - b.modelId);
  }

  async purge(beforeDay: string, limit: number): Promise<number> {
    const old = [...this.#lines]
      .filter(([, { day }]) => day < beforeDay)
      .sort(([a], [b]) => compare(a, b))
      .slice(0, limit);
    for (const [key] of old) this.#lines.delete(key);
    return old.length;
  }
}

/** Shared by any number of processes. */
export class MemoryProbeSchedule implements ProbeSchedule {
  claims = 0;
  #startedAt: number | undefined;

  async claim(now: number, intervalMs: number): Promise<boolean> {
    const isDue = this.#startedAt !== undefined && this.#startedAt <= now - intervalMs;
    if (this.#startedAt === undefined || isDue) this.#startedAt = now;
    if (isDue) this.claims += 1;
    return isDue;
  }
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

export function memoryGatewayStores(
  clock: Clock,
): GatewayStores & { readonly changes: MemoryChangeFeed<GatewayTopic> } {
  const changes = new MemoryChangeFeed<GatewayTopic>();
  const tell: Tell = (topic) => changes.notify(topic);
  return {
    models: new MemoryModelStore(clock, tell),
    cooldowns: new MemoryCooldownStore(tell),
    attempts: new MemoryAttemptStore(),
    keys: new MemoryGatewayKeyStore(tell),
    usage: new MemoryUsageStore(),
    probes: new MemoryProbeSchedule(),
    changes,
  };
}
