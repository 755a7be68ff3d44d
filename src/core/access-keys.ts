// Access keys that Headworks issues: shown once, stored as SHA-256.
import { hash } from 'node:crypto';
import type { IdSource } from './ids.ts';

const secretBytes = 32;
const shownCharacters = 6;

export interface NewAccessKey {
  /** Show it once; do not store it. */
  readonly key: string;
  /** The first characters, to distinguish keys. */
  readonly prefix: string;
  /** SHA-256, hexadecimal. */
  readonly hash: string;
}

/** `start` and 43 characters of base64url: 256 random bits. */
export class AccessKeyKind {
  readonly #start: string;
  readonly #shape: RegExp;

  constructor(start: string) {
    this.#start = start;
    this.#shape = new RegExp(`^${RegExp.escape(start)}[\\w-]{43}$`);
  }

  make(ids: IdSource): NewAccessKey {
    const key = this.#start + ids.token(secretBytes);
    return { key, prefix: key.slice(0, this.#start.length + shownCharacters), hash: hash('sha256', key) };
  }

  /** Undefined for a text that cannot be such a key. */
  hashOf(text: string): string | undefined {
    return this.#shape.test(text) ? hash('sha256', text) : undefined;
  }
}

export type KeyProblem = 'expired' | 'revoked';

export interface KeyLife {
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** What a credential is: a key that may be used now, or one that no longer may. */
export type KeyCheck<Key> = { readonly kind: 'valid'; readonly key: Key } | { readonly kind: KeyProblem };

/**
 * Keys by their hash. The time of a lookup depends on the hash only, so it reveals nothing about similar keys.
 */
export class KeyRegistry<Key extends KeyLife & { readonly id: string; readonly createdAt: Date }> {
  readonly #kind: AccessKeyKind;
  readonly #byHash = new Map<string, Key>();
  readonly #byId = new Map<string, Key>();

  constructor(kind: AccessKeyKind) {
    this.#kind = kind;
  }

  find(text: string): Key | undefined {
    const keyHash = this.#kind.hashOf(text);
    return keyHash === undefined ? undefined : this.#byHash.get(keyHash);
  }

  /** Null for anything that is not a known key: only the holder of the whole key learns that it existed. */
  check(text: string, now: number): KeyCheck<Key> | null {
    const key = this.find(text);
    if (!key) return null;
    if (key.revokedAt) return { kind: 'revoked' };
    return key.expiresAt && key.expiresAt.getTime() <= now ? { kind: 'expired' } : { kind: 'valid', key };
  }

  byId(id: string): Key | undefined {
    return this.#byId.get(id);
  }

  /** Oldest first, including expired and revoked ones. */
  list(): readonly Key[] {
    return [...this.#byHash.values()].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  }

  /** A revoked key stays revoked, even if an older read still has it. */
  add(keyHash: string, key: Key): void {
    if (!this.#byHash.get(keyHash)?.revokedAt) this.#keep(keyHash, key);
  }

  /** Replaces the key with the same id, if there is one. */
  replace(key: Key): void {
    for (const [keyHash, known] of this.#byHash) if (known.id === key.id) this.#keep(keyHash, key);
  }

  /** Removes all others. */
  keepOnly(keys: ReadonlyMap<string, Key>): void {
    for (const [keyHash, { id }] of this.#byHash) {
      if (keys.has(keyHash)) continue;
      this.#byHash.delete(keyHash);
      this.#byId.delete(id);
    }
    for (const [keyHash, key] of keys) this.add(keyHash, key);
  }

  #keep(keyHash: string, key: Key): void {
    this.#byHash.set(keyHash, key);
    this.#byId.set(key.id, key);
  }
}
