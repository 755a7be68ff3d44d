// File names for ids: safe on every file system, never the same for two ids.
import { hash } from 'node:crypto';

/** What Windows keeps for itself, whatever the ending. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)$/;
const plain = /^[a-z0-9][a-z0-9_-]{0,79}$/;
const longestPrefix = 40;
const hashDigits = 20;

/**
 * The id itself if it is short and made of small letters, digits, `-` and `_`; otherwise what is readable of it and a
 * hash: `sales-orders~0123456789abcdef0123`. Small letters only, since some file systems do not tell `A` from `a`.
 */
export function fileNameOf(id: string): string {
  if (plain.test(id) && !reserved.test(id)) return id;
  const readable = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, longestPrefix);
  return `${readable}~${hash('sha256', id, 'hex').slice(0, hashDigits)}`;
}
