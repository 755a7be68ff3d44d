// Gateway keys, and the tokens that each caller uses.
import type { IdSource, KeyCheck } from '../../core/index.ts';
import { AccessKeyKind, KeyRegistry } from '../../core/index.ts';
import type { Reload, WriteBehind } from '../../resilience/index.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayKeyStore, GatewayStores, UsageStore } from '../stores.ts';
import type { Attempt, GatewayKey, Usage } from '../types.ts';
import type { StateDeps } from './store-access.ts';
import { isPermanentStoreError, storeReload, storeWrites, withStoreTimeout } from './store-access.ts';

const dayMs = 86_400_000;

export interface GatewayKeysDeps extends StateDeps {
  readonly store: GatewayKeyStore;
  readonly ids: IdSource;
}

export interface NewGatewayKey {
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly dailyTokenCap: number | null;
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
      dailyTokenCap: given.dailyTokenCap,
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
    if (!revoked)
      throw new GatewayError(
        'GATEWAY_KEY_NOT_FOUND',
        `There is no gateway key with the id ${id}. "headworks keys list" shows all.`,
      );
    this.#registry.replace(revoked);
    return revoked;
  }

  /** Keys are never deleted, so known ones stay. */
  async #load(): Promise<void> {
    for (const { hash, ...key } of await this.#deps.store.list()) this.#registry.add(hash, key);
  }
}

/** What operators do with gateway keys. */
export const createKeyService = (keys: GatewayKeys, usage: UsageTracker) => ({
  create: (input: NewGatewayKey) => keys.create(input),
  list: async () => keys.list().map((key) => ({ ...key, tokensToday: usage.usedToday(callerOfKey(key.id)) })),
  revoke: (id: string) => keys.revoke(id),
  usage: (filter: Parameters<UsageTracker['list']>[0]) => usage.list(filter),
});

/** Fails with GATEWAY_TOKEN_CAP_EXCEEDED when the caller is a key that has used its tokens of today. */
export function checkTokenCap(keys: GatewayKeys, usage: UsageTracker, caller: string, now: number): void {
  const key = caller.startsWith('key:') ? keys.byId(caller.slice(4)) : undefined;
  if (!key || !usage.isOverCap(key)) return;
  throw new GatewayError(
    'GATEWAY_TOKEN_CAP_EXCEEDED',
    `The key "${key.name}" has used its ${key.dailyTokenCap} daily tokens; it works again after midnight UTC.`,
    { isRetryable: true, retryAfterMs: dayMs - (now % dayMs) },
  );
}

/* ---- usage ---- */

const flushIntervalMs = 500;

/** As `2026-01-31`, in UTC. */
const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

/** The caller under which requests with a gateway key are counted. */
export const callerOfKey = (id: string): string => `key:${id}`;

type MutableUsage = { -readonly [Field in keyof Usage]: Usage[Field] };

/** Tokens per caller, model and day (UTC): counted in memory at once, written behind, merged with other processes'. */
export class UsageTracker {
  readonly reload: Reload;
  readonly #deps: StateDeps & { readonly store: UsageStore };
  readonly #writes: WriteBehind;
  /** Rows that are not stored yet, by day, model and caller. */
  readonly #unwritten = new Map<string, MutableUsage>();
  /** Tokens of `today` by caller: stored, and not stored yet. */
  #stored = new Map<string, number>();
  #own = new Map<string, number>();
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
  count({ caller, modelId, at, outcome, promptTokens, completionTokens }: Attempt): void {
    const tokens = promptTokens + completionTokens;
    if (outcome !== 'success' && tokens === 0) return;
    this.#checkDay();
    const isToday = dayNumber(at) === this.#today;
    if (isToday) add(this.#own, caller, tokens);
    const day = isToday ? this.#todayText : dayOf(at);
    this.#addRow({ day, caller, modelId, requests: 1, promptTokens, completionTokens });
    this.#writes.wake();
  }

  /** Tokens since midnight UTC of all processes; those of others arrive with a delay. */
  usedToday(caller: string): number {
    this.#checkDay();
    return (this.#stored.get(caller) ?? 0) + (this.#own.get(caller) ?? 0);
  }

  /** Whether the key has used its tokens of today. Requests in flight are not counted yet. */
  isOverCap({ id, dailyTokenCap }: Pick<GatewayKey, 'id' | 'dailyTokenCap'>): boolean {
    return dailyTokenCap !== null && this.usedToday(callerOfKey(id)) >= dailyTokenCap;
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
    const key = `${row.day} ${row.modelId} ${row.caller}`;
    const known = this.#unwritten.get(key);
    if (!known) {
      this.#unwritten.set(key, { ...row });
      return;
    }
    known.requests += row.requests;
    known.promptTokens += row.promptTokens;
    known.completionTokens += row.completionTokens;
  }

  async #write(): Promise<void> {
    const rows = [...this.#unwritten.values()];
    this.#unwritten.clear();
    try {
      await this.#deps.store.add(rows);
    } catch (error) {
      if (!isPermanentStoreError(error)) for (const row of rows) this.#addRow(row);
      throw error;
    }
    for (const { day, caller, promptTokens, completionTokens } of rows) {
      if (day !== this.#todayText) continue;
      add(this.#own, caller, -(promptTokens + completionTokens));
      add(this.#stored, caller, promptTokens + completionTokens);
    }
  }

  async #load(): Promise<void> {
    await this.#writes.withWritesPaused(async () => {
      const day = dayNumber(this.#deps.clock.now());
      const rows = await this.#deps.store.list({ fromDay: dayOf(day * dayMs) });
      this.#checkDay();
      if (day !== this.#today) return;
      this.#stored = new Map();
      for (const { day: rowDay, caller, promptTokens, completionTokens } of rows)
        if (rowDay === dayOf(day * dayMs)) add(this.#stored, caller, promptTokens + completionTokens);
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

function add(totals: Map<string, number>, caller: string, tokens: number): void {
  totals.set(caller, (totals.get(caller) ?? 0) + tokens);
}

/* ---- retention ---- */

/** In the shape of the retention rules of operations. */
export function retentionRules(
  { attempts, usage }: GatewayStores,
  days: { readonly attemptsDays: number; readonly usageDays: number },
) {
  return [
    {
      kind: 'gateway-attempts',
      describe: 'calls to AI models',
      keepDays: days.attemptsDays,
      purge: (before: Date, limit: number) => attempts.purge(before, limit),
    },
    {
      kind: 'gateway-usage',
      describe: 'daily token usage',
      keepDays: days.usageDays,
      purge: (before: Date, limit: number) => usage.purge(dayOf(before.getTime()), limit),
    },
  ];
}
