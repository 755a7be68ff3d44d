// Gateway keys from memory: a key is known by its SHA-256, so a lookup tells nothing about other keys by its duration.
import type { IdSource, KeyRefusal } from '../../core/index.ts';
import { AccessKeyKind, KeyBook, keyRefusal } from '../../core/index.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayKey, GatewayKeyStore } from '../ports.ts';
import { forPerson } from './in-time.ts';
import type { Reload } from '../../resilience/index.ts';
import type { StateDeps } from './state-parts.ts';
import { reloadOf } from './state-parts.ts';

export interface GatewayKeysParts extends StateDeps {
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
  readonly #parts: GatewayKeysParts;
  readonly #reload: Reload;
  readonly #book = new KeyBook<GatewayKey>(kind);

  constructor(parts: GatewayKeysParts) {
    this.#parts = parts;
    this.#reload = reloadOf(parts, 'read keys', () => this.#load());
  }

  /** The key itself comes back once, here. Fails with STATE_UNAVAILABLE. */
  async create({
    name,
    expiresAt,
    dailyTokenCap,
  }: NewGatewayKey): Promise<{ key: string; record: GatewayKey }> {
    const { ids, clock, store } = this.#parts;
    const { key, prefix, hash } = kind.make(ids);
    const record: GatewayKey = {
      id: ids.uuid(),
      name,
      prefix,
      createdAt: new Date(clock.now()),
      expiresAt,
      revokedAt: null,
      dailyTokenCap,
    };
    await forPerson(clock, store.add({ ...record, hash }));
    this.#book.learn(hash, record);
    return { key, record };
  }

  /** The key's record while it may be used; undefined for keys that are unknown, expired or revoked. */
  verify(key: string): GatewayKey | undefined {
    const known = this.#book.find(key);
    return known && this.#refusal(known) === undefined ? known : undefined;
  }

  byId(id: string): GatewayKey | undefined {
    return this.#book.byId(id);
  }

  /** Why `verify` refuses it: for the one who holds the key. */
  whyRefused(key: string): 'unknown' | KeyRefusal | undefined {
    const known = this.#book.find(key);
    return known ? this.#refusal(known) : 'unknown';
  }

  /** Oldest first, from memory; expired and revoked ones too. */
  list(): readonly GatewayKey[] {
    return this.#book.list();
  }

  /** Fails with GATEWAY_KEY_NOT_FOUND or STATE_UNAVAILABLE. A second time changes nothing. */
  async revoke(id: string): Promise<GatewayKey> {
    const { store, clock } = this.#parts;
    const revoked = await forPerson(clock, store.revoke(id, new Date(clock.now())));
    if (!revoked)
      throw new GatewayError(
        'GATEWAY_KEY_NOT_FOUND',
        `There is no gateway key with the id ${id}. "headworks keys list" shows all.`,
      );
    this.#book.replace(revoked);
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

  #refusal(key: GatewayKey): KeyRefusal | undefined {
    return keyRefusal(key, this.#parts.clock.now());
  }

  /** Keys never go: what is known stays known. */
  async #load(): Promise<void> {
    for (const { hash, ...key } of await this.#parts.store.list()) this.#book.learn(hash, key);
  }
}
