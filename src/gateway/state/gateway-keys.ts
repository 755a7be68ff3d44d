// Gateway keys, verified from memory by their SHA-256, so that the duration of a lookup reveals nothing about other keys.
import type { IdSource, KeyRefusal } from '../../core/index.ts';
import { AccessKeyKind, KeyRegistry, keyRefusal } from '../../core/index.ts';
import type { Reload } from '../../resilience/index.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayKeyStore } from '../stores.ts';
import type { GatewayKey } from '../types.ts';
import type { StateDeps } from './store-access.ts';
import { storeReload, withStoreTimeout } from './store-access.ts';
import type { UsageTracker } from './usage.ts';
import { callerOfKey } from './usage.ts';

export interface GatewayKeysDeps extends StateDeps {
  readonly store: GatewayKeyStore;
  readonly ids: IdSource;
}

export interface NewGatewayKey {
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly dailyTokenCap: number | null;
}

const kind = new AccessKeyKind('hwk_');

export class GatewayKeys {
  readonly reload: Reload;
  readonly #deps: GatewayKeysDeps;
  readonly #book = new KeyRegistry<GatewayKey>(kind);

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
    this.#book.learn(hash, record);
    return { key, record };
  }

  /** The record of a valid key; undefined for unknown, expired and revoked ones. */
  verify(key: string): GatewayKey | undefined {
    const known = this.#book.find(key);
    return known && this.#refusal(known) === undefined ? known : undefined;
  }

  byId(id: string): GatewayKey | undefined {
    return this.#book.byId(id);
  }

  /** Why `verify` rejects it. */
  rejectionReason(key: string): 'unknown' | KeyRefusal | undefined {
    const known = this.#book.find(key);
    return known ? this.#refusal(known) : 'unknown';
  }

  /** Oldest first, from memory; expired and revoked ones included. */
  list(): readonly GatewayKey[] {
    return this.#book.list();
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
    this.#book.replace(revoked);
    return revoked;
  }

  #refusal(key: GatewayKey): KeyRefusal | undefined {
    return keyRefusal(key, this.#deps.clock.now());
  }

  /** Keys are never deleted, so known ones stay. */
  async #load(): Promise<void> {
    for (const { hash, ...key } of await this.#deps.store.list()) this.#book.learn(hash, key);
  }
}

/** What operators do with gateway keys. */
export const createKeyService = (keys: GatewayKeys, usage: UsageTracker) => ({
  create: (input: NewGatewayKey) => keys.create(input),
  list: async () => keys.list().map((key) => ({ ...key, tokensToday: usage.usedToday(callerOfKey(key.id)) })),
  revoke: (id: string) => keys.revoke(id),
  usage: (filter: Parameters<UsageTracker['list']>[0]) => usage.list(filter),
});

const dayMs = 86_400_000;

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
