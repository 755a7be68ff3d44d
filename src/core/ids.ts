// Sources of randomness and ids, injected so that tests can predict them; access keys that Headworks issues, which are shown
// once and stored as SHA-256.
import { hash } from 'node:crypto';

export interface Random {
  /** The next number in [0, 1). */
  next(): number;
}

/** A repeatable source (mulberry32): the same seed produces the same numbers. Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

export interface IdSource {
  /** A fresh id, unique and sortable by time of creation (UUID version 7). */
  uuid(): string;
  /** An unguessable token: `bytes` of randomness, base64url. */
  token(bytes: number): string;
}

const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** A UUID version 7 from a time and the ten random bytes that begin at `from`. */
export function uuidV7(nowMs: number, random: Uint8Array, from = 0): string {
  const byte = (index: number): number => random[from + index] ?? 0;
  const hex = (index: number): string => hexOf[byte(index)] ?? '';
  const variant = hexOf[(byte(2) & 0x3f) | 0x80] ?? '';
  return (
    `${timePart(Math.trunc(nowMs))}-7${hex(0).charAt(1)}${hex(1)}-${variant}${hex(3)}-` +
    `${hex(4)}${hex(5)}${hex(6)}${hex(7)}${hex(8)}${hex(9)}`
  );
}

/** Cached: many ids are created in one millisecond. */
let lastMs = Number.NaN;
let lastPart = '';

function timePart(ms: number): string {
  if (ms === lastMs) return lastPart;
  const hex = ms.toString(16).padStart(12, '0');
  lastMs = ms;
  return (lastPart = `${hex.slice(0, 8)}-${hex.slice(8)}`);
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text has the form of our ids. Postgres rejects any other text in a uuid column. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);

/** Predictable ids for tests and simulations. Its tokens are guessable: never use it in a server. */
export function seededIds(random: Random, now: () => number): IdSource {
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => Math.floor(random.next() * 256));
  return {
    uuid: () => uuidV7(now(), bytes(10)),
    token: (count) => Buffer.from(bytes(count)).toString('base64url'),
  };
}

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
