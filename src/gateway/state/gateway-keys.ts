// Gateway keys from memory: a key is known by its SHA-256, so a lookup tells nothing about other keys by its duration.
import { hash } from 'node:crypto';
import type { IdSource } from '../../core/index.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayKey, GatewayKeyStore, StoredGatewayKey } from '../ports.ts';
import { Reload } from './reload.ts';
import type { StateParts } from './store-backoff.ts';

export interface GatewayKeysParts extends StateParts {
  readonly store: GatewayKeyStore;
  readonly ids: IdSource;
}

export interface NewGatewayKey {
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly dailyTokenCap: number | null;
}

const keyStart = 'hwk_';
const secretBytes = 32;
/** `hwk_` and 43 characters of base64url: nothing else is worth a hash. */
const keyShape = /^hwk_[\w-]{43}$/;
const prefixLength = keyStart.length + 6;

export class GatewayKeys {
  readonly #parts: GatewayKeysParts;
  readonly #reload: Reload;
  readonly #byHash = new Map<string, GatewayKey>();
  /** The same keys: every request of a key looks at its cap. */
  readonly #byId = new Map<string, GatewayKey>();

  constructor(parts: GatewayKeysParts) {
    this.#parts = parts;
    this.#reload = new Reload(parts, { what: 'read keys', load: () => this.#load() });
  }

  /** The key itself comes back once, here. Fails with STATE_UNAVAILABLE. */
  async create({
    name,
    expiresAt,
    dailyTokenCap,
  }: NewGatewayKey): Promise<{ key: string; record: GatewayKey }> {
    const { ids, clock, store } = this.#parts;
    const key = keyStart + ids.token(secretBytes);
    const record: GatewayKey = {
      id: ids.uuid(),
      name,
      prefix: key.slice(0, prefixLength),
      createdAt: new Date(clock.now()),
      expiresAt,
      revokedAt: null,
      dailyTokenCap,
    };
    const stored = { ...record, hash: hashOf(key) };
    await store.add(stored);
    this.#learn(stored);
    return { key, record };
  }

  /** The key's record while it may be used; undefined for keys that are unknown, expired or revoked. */
  verify(key: string): GatewayKey | undefined {
    const known = this.#find(key);
    return known && this.#refusal(known) === undefined ? known : undefined;
  }

  byId(id: string): GatewayKey | undefined {
    return this.#byId.get(id);
  }

  /** Why `verify` refuses it: for the one who holds the key. */
  whyRefused(key: string): 'unknown' | 'expired' | 'revoked' | undefined {
    const known = this.#find(key);
    return known ? this.#refusal(known) : 'unknown';
  }

  /** Oldest first, from memory; expired and revoked ones too. */
  list(): readonly GatewayKey[] {
    return [...this.#byHash.values()].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  }

  /** Fails with GATEWAY_KEY_UNKNOWN or STATE_UNAVAILABLE. A second time changes nothing. */
  async revoke(id: string): Promise<GatewayKey> {
    const { store, clock } = this.#parts;
    const revoked = await store.revoke(id, new Date(clock.now()));
    if (!revoked)
      throw new GatewayError(
        'GATEWAY_KEY_UNKNOWN',
        `There is no gateway key with the id ${id}. "headworks keys list" shows all.`,
      );
    for (const [keyHash, known] of this.#byHash) if (known.id === id) this.#keep(keyHash, revoked);
    return revoked;
  }

  start(): Promise<void> {
    return this.#reload.start();
  }

  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  close(): Promise<void> {
    return this.#reload.close();
  }

  #find(key: string): GatewayKey | undefined {
    return keyShape.test(key) ? this.#byHash.get(hashOf(key)) : undefined;
  }

  #refusal({ expiresAt, revokedAt }: GatewayKey): 'expired' | 'revoked' | undefined {
    if (revokedAt) return 'revoked';
    return expiresAt && expiresAt.getTime() <= this.#parts.clock.now() ? 'expired' : undefined;
  }

  async #load(): Promise<void> {
    for (const key of await this.#parts.store.list()) this.#learn(key);
  }

  /** Keys never go and never come back from being revoked: what was read a moment too early cannot undo anything. */
  #learn({ hash: keyHash, ...key }: StoredGatewayKey): void {
    if (!this.#byHash.get(keyHash)?.revokedAt) this.#keep(keyHash, key);
  }

  #keep(keyHash: string, key: GatewayKey): void {
    this.#byHash.set(keyHash, key);
    this.#byId.set(key.id, key);
  }
}

const hashOf = (key: string): string => hash('sha256', key);
