// The hash by which the vault tells contents apart.
import { hash } from 'node:crypto';

/** First 64 bits of SHA-256, as a signed integer: SQLite has no unsigned ones. */
export function contentHash(bytes: Uint8Array): bigint {
  return hash('sha256', bytes, 'buffer').readBigInt64BE(0);
}
