// Sources of randomness and ids, injected so that tests can predict them.

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
