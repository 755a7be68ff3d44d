// Gateway keys, and the tokens that each caller uses.
import type { IdSource, KeyCheck } from '../../core/index.ts';
import { AccessKeyKind, KeyRegistry } from '../../core/index.ts';
import type { Reload, WriteBehind } from '../../resilience/index.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayKeyStore, GatewayStores, UsageStore } from '../stores.ts';
import type { Attempt, GatewayKey, KeyLimits, Usage } from '../types.ts';
import type { StateDeps } from './store-access.ts';
import { isPermanentStoreError, storeReload, storeWrites, withStoreTimeout } from './store-access.ts';

const dayMs = 86_400_000;

export interface GatewayKeysDeps extends StateDeps {
  readonly store: GatewayKeyStore;
  readonly ids: IdSource;
}

/** Limits that are not given are unlimited. */
export interface NewGatewayKey extends Partial<KeyLimits> {
  readonly name: string;
  readonly expiresAt: Date | null;
}

/** How every gateway key begins; no other credential is looked up among them. */
export const gatewayKeyPrefix = 'hwk_';
const kind = new AccessKeyKind(gatewayKeyPrefix);

/** Verified from memory by their SHA-256, so that the duration of a lookup reveals nothing about other keys. */
export class GatewayKeys {
  readonly reload: Reload;
  readonly #deps: GatewayKeysDeps;
  readonly #registry = new KeyRegistry<GatewayKey>(kind);

  constructor(deps: GatewayKeysDeps) {
    this.#deps = deps;
    this.reload = storeReload(deps, 'read keys', () => this.#load());
  }

  /** The secret is returned once, here. Fails with STATE_UNAVAILABLE. */
  async create(given: NewGatewayKey): Promise<{ readonly key: string; readonly record: GatewayKey }> {
    const { ids, clock, store } = this.#deps;
    const { key, prefix, hash } = kind.make(ids);
    const record: GatewayKey = {
      id: ids.uuid(),
      name: given.name,
      prefix,
      createdAt: new Date(clock.now()),
      expiresAt: given.expiresAt,
      revokedAt: null,
      requestsPerMinute: given.requestsPerMinute ?? null,
      tokensPerDay: given.tokensPerDay ?? null,
      usdPerDay: given.usdPerDay ?? null,
    };
    await withStoreTimeout(clock, store.add({ ...record, hash }));
    this.#registry.add(hash, record);
    return { key, record };
  }

  /** Null for anything that is not a known key. */
  check(credential: string): KeyCheck<GatewayKey> | null {
    return this.#registry.check(credential, this.#deps.clock.now());
  }

  byId(id: string): GatewayKey | undefined {
    return this.#registry.byId(id);
  }

  /** Oldest first, from memory; expired and revoked ones included. */
  list(): readonly GatewayKey[] {
    return this.#registry.list();
  }

  /** Fails with GATEWAY_KEY_NOT_FOUND or STATE_UNAVAILABLE. A second time changes nothing. */
  async revoke(id: string): Promise<GatewayKey> {
    const { store, clock } = this.#deps;
    const revoked = await withStoreTimeout(clock, store.revoke(id, new Date(clock.now())));
    if (!revoked) throw keyNotFound(id);
    this.#registry.replace(revoked);
    return revoked;
  }

  /** Those that are not given stay as they are. Fails with GATEWAY_KEY_NOT_FOUND or STATE_UNAVAILABLE. */
  async setLimits(id: string, given: Partial<KeyLimits>): Promise<GatewayKey> {
    const { store, clock } = this.#deps;
    const known = this.byId(id);
    if (!known) throw keyNotFound(id);
    const limitOf = (name: keyof KeyLimits) => (given[name] === undefined ? known[name] : given[name]);
    const limits: KeyLimits = {
      requestsPerMinute: limitOf('requestsPerMinute'),
      tokensPerDay: limitOf('tokensPerDay'),
      usdPerDay: limitOf('usdPerDay'),
    };
    const changed = await withStoreTimeout(clock, store.setLimits(id, limits));
    if (!changed) throw keyNotFound(id);
    this.#registry.replace(changed);
    return changed;
  }

  /** Keys are never deleted, so known ones stay. */
  async #load(): Promise<void> {
    for (const { hash, ...key } of await this.#deps.store.list()) this.#registry.add(hash, key);
  }
}

const keyNotFound = (id: string): GatewayError =>
  new GatewayError(
    'GATEWAY_KEY_NOT_FOUND',
    `There is no gateway key with the id ${id}. "headworks keys list" shows all.`,
  );

/** What operators do with gateway keys. */
export const createKeyService = (keys: GatewayKeys, usage: UsageTracker) => ({
  create: (input: NewGatewayKey) => keys.create(input),
  list: async () =>
    keys.list().map((key) => {
      const { tokens, usd } = usage.usedToday(callerOfKey(key.id));
      return { ...key, tokensToday: tokens, usdToday: usd };
    }),
  revoke: (id: string) => keys.revoke(id),
  setLimits: (id: string, limits: Partial<KeyLimits>) => keys.setLimits(id, limits),
  usage: (filter: Parameters<UsageTracker['list']>[0]) => usage.list(filter),
});

/* ---- usage ---- */

const flushIntervalMs = 500;

/** As `2026-01-31`, in UTC. */
const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

/** The caller under which requests with a gateway key are counted. */
export const callerOfKey = (id: string): string => `key:${id}`;

type MutableUsage = { -readonly [Field in keyof Usage]: Usage[Field] };

export interface UsedToday {
  readonly tokens: number;
  /** Of the calls whose cost is known. */
  readonly usd: number;
}

/** Requests, tokens and cost per caller, model and day (UTC): counted in memory at once, written behind, merged with other processes'. */
export class UsageTracker {
  readonly reload: Reload;
  readonly #deps: StateDeps & { readonly store: UsageStore };
  readonly #writes: WriteBehind;
  /** Rows that are not stored yet, by day, model and caller. */
  readonly #unwritten = new Map<string, MutableUsage>();
  #lastRow: MutableUsage | undefined;
  /** What `today` has used, by caller: stored, and not stored yet. */
  #stored: Totals = new Map();
  #own: Totals = new Map();
  #today: number;
  /** As text; formatted once a day, not once a request. */
  #todayText: string;

  constructor(deps: StateDeps & { readonly store: UsageStore }) {
    this.#deps = deps;
    this.#today = dayNumber(deps.clock.now());
    this.#todayText = dayOf(deps.clock.now());
    this.#writes = storeWrites(deps, 'usage', {
      delayMs: flushIntervalMs,
      waiting: () => this.#unwritten.size,
      // One batch for everything: usage of the same row is added up.
      batchSize: () => Number.POSITIVE_INFINITY,
      write: () => this.#write(),
    });
    this.reload = storeReload(deps, 'read usage', () => this.#load());
  }

  /** Counts the cost of an attempt on the day it started. Failures without cost are not counted. */
  count({ caller, modelId, at, outcome, promptTokens, completionTokens, costUsd }: Attempt): void {
    const tokens = promptTokens + completionTokens;
    if (outcome !== 'success' && tokens === 0) return;
    this.#checkDay();
    const isToday = dayNumber(at) === this.#today;
    if (isToday) add(this.#own, caller, tokens, costUsd ?? 0);
    const day = isToday ? this.#todayText : dayOf(at);
    const unpricedRequests = costUsd === null ? 1 : 0;
    this.#addRow({
      day,
      caller,
      modelId,
      requests: 1,
      promptTokens,
      completionTokens,
      costUsd,
      unpricedRequests,
    });
    this.#writes.wake();
  }

  /** Since midnight UTC, by all processes; what others used arrives with a delay, calls in flight at their end. */
  usedToday(caller: string): UsedToday {
    this.#checkDay();
    const stored = this.#stored.get(caller);
    const own = this.#own.get(caller);
    if (!stored || !own) return stored ?? own ?? nothing;
    return { tokens: stored.tokens + own.tokens, usd: stored.usd + own.usd };
  }

  /** Stored rows, with everything this process counted. Fails with STATE_UNAVAILABLE. */
  list(filter: { readonly fromDay: string; readonly caller?: string }): Promise<readonly Usage[]> {
    const { clock, store } = this.#deps;
    const reading = this.#writes.flush().then(() => store.list(filter));
    return withStoreTimeout(clock, reading);
  }

  async close(): Promise<void> {
    await this.reload.close();
    await this.#writes.close();
  }

  #addRow(row: Usage): void {
    const known = this.#unwrittenOf(row);
    known.requests += row.requests;
    known.promptTokens += row.promptTokens;
    known.completionTokens += row.completionTokens;
    known.costUsd = sumOfKnown(known.costUsd, row.costUsd);
    known.unpricedRequests += row.unpricedRequests;
  }

  /** Most attempts are of the caller, model and day of the one before: its row is not searched again. */
  #unwrittenOf({ day, modelId, caller }: Usage): MutableUsage {
    const last = this.#lastRow;
    if (last?.caller === caller && last.modelId === modelId && last.day === day) return last;
    const key = `${day} ${modelId} ${caller}`;
    const row = this.#unwritten.get(key) ?? { day, modelId, caller, ...noUsage };
    this.#unwritten.set(key, row);
    this.#lastRow = row;
    return row;
  }

  async #write(): Promise<void> {
    const rows = [...this.#unwritten.values()];
    this.#unwritten.clear();
    this.#lastRow = undefined;
    try {
      await this.#deps.store.add(rows);
    } catch (error) {
      if (!isPermanentStoreError(error)) for (const row of rows) this.#addRow(row);
      throw error;
    }
    for (const { day, caller, promptTokens, completionTokens, costUsd } of rows) {
      if (day !== this.#todayText) continue;
      const tokens = promptTokens + completionTokens;
      add(this.#own, caller, -tokens, -(costUsd ?? 0));
      add(this.#stored, caller, tokens, costUsd ?? 0);
    }
  }

  async #load(): Promise<void> {
    await this.#writes.withWritesPaused(async () => {
      const day = dayNumber(this.#deps.clock.now());
      const rows = await this.#deps.store.list({ fromDay: dayOf(day * dayMs) });
      this.#checkDay();
      if (day !== this.#today) return;
      this.#stored = new Map();
      for (const { day: rowDay, caller, promptTokens, completionTokens, costUsd } of rows)
        if (rowDay === dayOf(day * dayMs))
          add(this.#stored, caller, promptTokens + completionTokens, costUsd ?? 0);
    });
  }

  #checkDay(): void {
    const today = dayNumber(this.#deps.clock.now());
    if (today === this.#today) return;
    this.#today = today;
    this.#todayText = dayOf(today * dayMs);
    this.#stored = new Map();
    this.#own = new Map();
  }
}

const dayNumber = (atMs: number): number => Math.floor(atMs / dayMs);

type Totals = Map<string, { tokens: number; usd: number }>;

const nothing: UsedToday = { tokens: 0, usd: 0 };

function add(totals: Totals, caller: string, tokens: number, usd: number): void {
  const known = totals.get(caller);
  if (!known) {
    totals.set(caller, { tokens, usd });
    return;
  }
  known.tokens += tokens;
  // What was added is subtracted when it is stored; the sum of both must not leave a rest below zero.
  known.usd = Math.max(0, known.usd + usd);
}

const noUsage = {
  requests: 0,
  promptTokens: 0,
  completionTokens: 0,
  costUsd: null,
  unpricedRequests: 0,
};

/** Null when neither is known. */
const sumOfKnown = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : a + b;

/** Sums over all days and models, in the order of the callers' first rows. */
export function usageTotals(rows: readonly Usage[]): readonly Omit<Usage, 'day' | 'modelId'>[] {
  const totals = new Map<string, Omit<Usage, 'day' | 'modelId'>>();
  for (const { day: _day, modelId: _modelId, ...row } of rows) {
    const known = totals.get(row.caller);
    totals.set(row.caller, known ? sumOf(known, row) : row);
  }
  return [...totals.values()];
}

const sumOf = (a: Omit<Usage, 'day' | 'modelId'>, b: Omit<Usage, 'day' | 'modelId'>) => ({
  caller: a.caller,
  requests: a.requests + b.requests,
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  costUsd: sumOfKnown(a.costUsd, b.costUsd),
  unpricedRequests: a.unpricedRequests + b.unpricedRequests,
});

/* ---- retention ---- */

/** In the shape of the retention rules of operations. */
export function retentionRules(
  { attempts, contents, usage, responses, discoveries }: GatewayStores,
  days: {
    readonly attemptsDays: number;
    readonly requestContentDays: number;
    readonly usageDays: number;
    readonly responsesDays: number;
    readonly discoveriesDays: number;
  },
) {
  return [
    {
      kind: 'gateway-attempts',
      describe: 'calls to AI models and the log of requests',
      keepDays: days.attemptsDays,
      purge: (before: Date, limit: number) => attempts.purge(before, limit),
    },
    {
      kind: 'gateway-request-contents',
      describe: 'bodies of logged requests',
      keepDays: days.requestContentDays,
      purge: (before: Date, limit: number) => contents.purge(before, limit),
    },
    {
      kind: 'gateway-responses',
      describe: 'responses kept for previous_response_id',
      keepDays: days.responsesDays,
      purge: (before: Date, limit: number) => responses.purge(before, limit),
    },
    {
      kind: 'gateway-discoveries',
      describe: "readings of providers' lists of models",
      keepDays: days.discoveriesDays,
      purge: (before: Date, limit: number) => discoveries.purge(before, limit),
    },
    {
      kind: 'gateway-usage',
      describe: 'daily usage of models',
      keepDays: days.usageDays,
      purge: (before: Date, limit: number) => usage.purge(dayOf(before.getTime()), limit),
    },
  ];
}
