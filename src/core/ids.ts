// Where ids and secrets come from, so that tests can predict the former.
import type { Random } from './random.ts';

export interface IdSource {
  /** A fresh id, unique and sortable by time of creation (UUID version 7). */
  uuid(): string;
  /** An unguessable token: `bytes` of randomness, base64url. */
  token(bytes: number): string;
}

/** Lays out a UUID version 7 from a time and ten random bytes. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  const hexTime = Math.trunc(nowMs).toString(16).padStart(12, '0');
  const hex = Buffer.from(random.buffer, random.byteOffset, random.byteLength).toString('hex');
  const variant = ((random[2] ?? 0) & 0x3f) | 0x80;
  return (
    `${hexTime.slice(0, 8)}-${hexTime.slice(8)}-7${hex.slice(1, 4)}-` +
    `${variant.toString(16).padStart(2, '0')}${hex.slice(6, 8)}-${hex.slice(8, 20)}`
  );
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text could be one of our ids: a store need not be asked about any other. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);

/** Predictable ids for tests and simulations. Its tokens are guessable: never use it in a server. */
export function seededIds(random: Random, now: () => number): IdSource {
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => Math.floor(random.next() * 256));
  return {
    uuid: () => uuidV7(now(), bytes(10)),
    token: (count) => Buffer.from(bytes(count)).toString('base64url'),
  };
}
