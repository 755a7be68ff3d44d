// In-memory doubles of the gateway's stores.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../src/core/index.ts';
import type {
  Attempt,
  CooldownSnapshot,
  Discovery,
  FailedRequest,
  RequestStatus,
  GatewayKey,
  KeyLimits,
  LoggedRequest,
  Model,
  Cooldown,
  ModelDefinition,
  HistoryInterval,
  ListEffects,
  ListedFacts,
  ModelStats,
  RequestContent,
  RequestFilter,
  StoredGatewayKey,
  StoredResponse,
  Usage,
} from '../../../src/gateway/types.ts';
import type {
  AttemptStore,
  ContentStore,
  CooldownStore,
  DiscoveryStore,
  GatewayKeyStore,
  ModelStore,
  ProbeSchedule,
  RequestWithAttempts,
  ResponseStore,
  UsageStore,
} from '../../../src/gateway/stores.ts';
import { MemoryChangeFeed } from '../resilience/memory-change-feed.ts';
import type { GatewayTopic } from '../../../src/gateway/stores.ts';
import { CooldownMap } from '../../../src/gateway/state/availability.ts';
import { countsAmong } from '../../../src/gateway/state/attempt-log.ts';
import { isEvidence } from '../../../src/gateway/state/model-health.ts';
import { typicalMs } from '../../../src/gateway/state/scores.ts';
import type { GatewayStores } from '../../../src/gateway/stores.ts';
import { modelExists } from '../../../src/gateway/models/model-registry.ts';

type Tell = (topic: GatewayTopic) => void;

type Row = Model & { readonly isEnabled: boolean; readonly listed: ListedFacts | null };

export class MemoryModelStore implements ModelStore {
  readonly #clock: Clock;
  readonly #tell: Tell;
  readonly #rows = new Map<string, Row>();
  readonly #names = new Map<number, string>();

  constructor(clock: Clock, tell: Tell = () => undefined) {
    this.#clock = clock;
    this.#tell = tell;
  }

  async sync(
    definitions: readonly ModelDefinition[],
    origin: 'built-in' | 'config' | 'discovered',
  ): Promise<void> {
    if (this.#upsert(definitions, origin, [])) this.#tell('models');
  }

  async applyList(
    { definitions, facts, states }: ListEffects,
    undefinedNames: readonly string[],
  ): Promise<void> {
    this.#upsert(definitions, 'discovered', undefinedNames);
    for (const { id, facts: stated } of facts) {
      const row = this.#byId(id);
      if (row?.origin === 'built-in')
        this.#rows.set(row.name, { ...row, listed: { ...row.listed, ...stated } });
    }
    for (const { id, missedLists, isRetired } of states) {
      const row = this.#byId(id);
      if (row?.origin !== 'built-in' && row?.origin !== 'discovered') continue;
      const retiredAt = isRetired ? (row.retiredAt ?? new Date(this.#clock.now())) : null;
      this.#rows.set(row.name, { ...row, missedLists, retiredAt });
    }
    if (definitions.length + facts.length + states.length > 0) this.#tell('models');
  }

  async list(): Promise<readonly Model[]> {
    return [...this.#rows.values()].sort((a, b) => a.id - b.id).map(modelOf);
  }

  async add(definition: ModelDefinition): Promise<Model> {
    if (this.#rows.has(definition.name)) throw modelExists(definition.name);
    return this.#change(this.#make(definition, 'custom'));
  }

  async setActive(id: number, isActive: boolean): Promise<Model | undefined> {
    const known = this.#byId(id);
    const state = isActive ? { missedLists: 0, retiredAt: null } : {};
    return known && this.#change({ ...known, ...state, isEnabled: isActive });
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
    this.#rows.delete(known.name);
    this.#tell('models');
    return true;
  }

  async names(): Promise<ReadonlyMap<number, string>> {
    return new Map(this.#names);
  }

  #upsert(
    definitions: readonly ModelDefinition[],
    origin: 'built-in' | 'config' | 'discovered',
    undefinedNames: readonly string[],
  ): boolean {
    let changed = false;
    for (const definition of definitions.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const known = this.#rows.get(definition.name);
      const isFree = known?.origin === 'discovered' || undefinedNames.includes(definition.name);
      if (known?.origin === 'custom' && origin !== 'config') continue;
      if (known && origin === 'discovered' && !isFree) continue;
      const next = known
        ? { ...known, ...definition, ...stateFor(known, origin), origin }
        : this.#make(definition, origin);
      if (isDeepStrictEqual(known, next)) continue;
      this.#rows.set(next.name, next);
      changed = true;
    }
    return changed;
  }

  #byId(id: number): Row | undefined {
    return this.#rows.values().find((row) => row.id === id);
  }

  #change(row: Row): Model {
    this.#rows.set(row.name, row);
    this.#tell('models');
    return modelOf(row);
  }

  #make(definition: ModelDefinition, origin: Model['origin']): Row {
    const createdAt = new Date(this.#clock.now());
    const id = this.#names.size + 1;
    this.#names.set(id, definition.name);
    const state = { isActive: true, isEnabled: true, missedLists: 0, retiredAt: null, listed: null };
    return { ...definition, id, origin, createdAt, ...state };
  }
}

function stateFor({ listed, missedLists, retiredAt }: Row, origin: Model['origin']) {
  if (origin === 'config') return { listed: null, missedLists: 0, retiredAt: null };
  return { listed: origin === 'built-in' ? listed : null, missedLists, retiredAt };
}

const modelOf = ({ isEnabled, listed, ...model }: Row): Model => ({
  ...model,
  capabilities: { ...model.capabilities, ...listed?.capabilities },
  price: listed?.price ?? model.price,
  isActive: isEnabled && model.retiredAt === null,
});

export class MemoryDiscoveryStore implements DiscoveryStore {
  readonly #startedAt = new Map<string, number>();
  #discoveries: readonly Discovery[] = [];

  async claim(providers: readonly string[], now: number, intervalMs: number): Promise<readonly string[]> {
    const due = providers.filter((each) => (this.#startedAt.get(each) ?? -Infinity) <= now - intervalMs);
    for (const each of due) this.#startedAt.set(each, now);
    return due;
  }

  async add(discovery: Discovery): Promise<void> {
    const ordered = [...this.#discoveries, discovery];
    this.#discoveries = ordered.sort((a, b) => b.at.getTime() - a.at.getTime() || compare(b.id, a.id));
  }

  async list({
    provider,
    after,
    limit,
  }: Parameters<DiscoveryStore['list']>[0]): Promise<readonly Discovery[]> {
    const start = after === undefined ? 0 : this.#discoveries.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && start === 0) return [];
    return this.#discoveries
      .slice(start)
      .filter((each) => provider === undefined || each.provider === provider)
      .slice(0, limit);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = this.#discoveries.filter(({ at }) => at < before).slice(-limit);
    this.#discoveries = this.#discoveries.filter((each) => !old.includes(each));
    return old.length;
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

type LoggedRow = Attempt | FailedRequest;

const isAttempt = (row: LoggedRow): row is Attempt => !('errorCode' in row);

export class MemoryAttemptStore implements AttemptStore {
  /** With the id that each would have as a row. */
  #rows: readonly { readonly id: number; readonly row: LoggedRow }[] = [];
  #lastId = 0;

  async append(rows: readonly LoggedRow[]): Promise<void> {
    this.#rows = [...this.#rows, ...rows.map((row) => ({ id: ++this.#lastId, row }))];
  }

  get #attempts(): readonly Attempt[] {
    return this.#rows.map(({ row }) => row).filter(isAttempt);
  }

  async requests(filter: RequestFilter): Promise<readonly LoggedRequest[]> {
    const { since, caller, status, model, requestId, limit, after = Infinity } = filter;
    return this.#rows
      .filter(({ id, row }) => id < after && row.at >= since.getTime())
      .flatMap(({ id, row }) => loggedRequest(id, row) ?? [])
      .filter(
        (each) =>
          (caller === undefined || each.caller === caller) &&
          (status === undefined || each.status === status) &&
          (requestId === undefined ||
            each.requestId.split('/')[0] === requestId ||
            each.requestId === requestId) &&
          (!model || each.requestedModel === model.name || model.ids.includes(each.modelId ?? 0)),
      )
      .toReversed()
      .slice(0, limit);
  }

  async request(id: number): Promise<RequestWithAttempts | undefined> {
    const found = this.#rows.find((each) => each.id === id);
    const request = found && loggedRequest(id, found.row);
    if (!request) return undefined;
    const attempts = this.#byTime().filter(({ requestId }) => requestId === request.requestId);
    return { request, attempts };
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
    withoutCallers = [],
  }: {
    models: readonly Pick<Model, 'id' | 'isLocal'>[];
    since: Date;
    limit: number;
    withoutCallers?: readonly string[];
  }): Promise<readonly Attempt[]> {
    const all = this.#byTime().filter(
      ({ at, caller }) => at >= since.getTime() && !withoutCallers.includes(caller),
    );
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
    const old = this.#rows
      .filter(({ row }) => row.at < before.getTime())
      .toSorted((a, b) => a.row.at - b.row.at)
      .slice(0, limit);
    this.#rows = this.#rows.filter((each) => !old.includes(each));
    return old.length;
  }

  /** Sorted by time; of two with the same time, the one appended later is the later. */
  #byTime(): Attempt[] {
    return this.#attempts.toSorted((a, b) => a.at - b.at);
  }
}

/** Undefined where the request did not end with this row. */
function loggedRequest(id: number, row: LoggedRow): LoggedRequest | undefined {
  const { requestId, caller, api, requestedModel } = row;
  const common = { id, requestId, caller, api, requestedModel, status: statusOf(row) };
  if (!isAttempt(row)) {
    const { at, durationMs, errorCode: outcome, calls } = row;
    const noTokens = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const none = { modelId: null, firstTokenMs: null, costUsd: null };
    return { ...common, ...none, ...noTokens, at, durationMs, outcome, calls };
  }
  const { promptTokens, completionTokens, cacheReadTokens, cacheWriteTokens, costUsd } = row;
  const { at, outcome, modelId, callNumber: calls, waitedMs, durationMs, firstTokenMs } = row;
  if (!row.endsRequest) return undefined;
  return {
    ...common,
    promptTokens,
    completionTokens,
    cacheReadTokens,
    cacheWriteTokens,
    costUsd,
    at: at - waitedMs,
    outcome,
    modelId,
    calls,
    durationMs: waitedMs + durationMs,
    firstTokenMs: firstTokenMs === null ? null : waitedMs + firstTokenMs,
  };
}

export class MemoryContentStore implements ContentStore {
  readonly #contents = new Map<string, RequestContent>();

  async append(contents: readonly RequestContent[]): Promise<void> {
    for (const content of contents) this.#contents.set(content.requestId, content);
  }

  async get(requestId: string): Promise<RequestContent | undefined> {
    return this.#contents.get(requestId);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = [...this.#contents.values()].filter(({ at }) => at < before).slice(0, limit);
    for (const { requestId } of old) this.#contents.delete(requestId);
    return old.length;
  }
}

function statsOf(modelId: number, outcomes: readonly Attempt[]): ModelStats {
  const successes = outcomes.filter(({ outcome }) => outcome === 'success');
  const totalMs = successes.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const typicalTotalMs = successes.reduce((sum, attempt) => sum + typicalMs(attempt), 0);
  const averageOf = (ms: number) => (successes.length === 0 ? 0 : ms / successes.length / 1_000);
  return {
    modelId,
    requests: outcomes.length,
    successes: successes.length,
    averageSeconds: averageOf(totalMs),
    typicalSeconds: averageOf(typicalTotalMs),
  };
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
    return this.#update(id, ({ revokedAt }) => ({ revokedAt: revokedAt ?? at }));
  }

  async setLimits(id: string, limits: KeyLimits): Promise<GatewayKey | undefined> {
    return this.#update(id, () => limits);
  }

  #update(id: string, change: (known: GatewayKey) => Partial<GatewayKey>): GatewayKey | undefined {
    const known = this.#keys.get(id);
    if (!known) return undefined;
    const { hash, ...key } = { ...known, ...change(known) };
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
        costUsd:
          line.costUsd === null && (known?.costUsd ?? null) === null
            ? null
            : (line.costUsd ?? 0) + (known?.costUsd ?? 0),
        unpricedRequests: line.unpricedRequests + (known?.unpricedRequests ?? 0),
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

export class MemoryResponseStore implements ResponseStore {
  readonly #responses = new Map<string, StoredResponse>();

  async add(response: StoredResponse): Promise<void> {
    this.#responses.set(`${response.caller} ${response.id}`, response);
  }

  async chain(id: string, caller: string): Promise<readonly StoredResponse[]> {
    const chain: StoredResponse[] = [];
    for (let at: string | null = id; at !== null;) {
      const found: StoredResponse | undefined = this.#responses.get(`${caller} ${at}`);
      if (!found || chain.includes(found)) break;
      chain.unshift(found);
      at = found.previousId;
    }
    return chain;
  }

  async withItems(ids: readonly string[], caller: string): Promise<readonly StoredResponse[]> {
    return [...this.#responses.values()].filter(
      (each) => each.caller === caller && each.itemIds.some((item) => ids.includes(item)),
    );
  }

  async delete(id: string, caller: string): Promise<boolean> {
    return this.#responses.delete(`${caller} ${id}`);
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = [...this.#responses].filter(([, { createdAt }]) => createdAt < before).slice(0, limit);
    for (const [key] of old) this.#responses.delete(key);
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
    contents: new MemoryContentStore(),
    keys: new MemoryGatewayKeyStore(tell),
    usage: new MemoryUsageStore(),
    responses: new MemoryResponseStore(),
    probes: new MemoryProbeSchedule(),
    discoveries: new MemoryDiscoveryStore(),
    changes,
  };
}

/** The status of the request that ended with this row. */
function statusOf(row: Attempt | FailedRequest): RequestStatus {
  const outcome = 'errorCode' in row ? row.errorCode : row.outcome;
  if (outcome === 'success') return 'completed';
  if (outcome === 'canceled') return 'canceled';
  return 'errorCode' in row && row.calls === 0 ? 'rejected' : 'failed';
}
