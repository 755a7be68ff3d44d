// The hash by which the vault tells contents apart.
import { hash } from 'node:crypto';

/** First 64 bits of SHA-256, as a signed integer: SQLite has no unsigned ones. */
export function contentHash(bytes: Uint8Array): bigint {
  // Not as a buffer: one for each item costs more than the digits, most of it when they are collected.
  return BigInt.asIntN(64, BigInt(`0x${hash('sha256', bytes, 'hex').slice(0, 16)}`));
}
