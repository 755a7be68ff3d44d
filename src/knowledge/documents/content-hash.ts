// What makes two contents the same.
import { createHash } from 'node:crypto';
import type { ParsedDocument } from '../ports.ts';

/** SHA-256, in hex, of what is read: type, title, text and structured mentions. Metadata and times do not count. */
export function contentHash({
  type,
  title,
  text,
  mentions,
}: Pick<ParsedDocument, 'type' | 'title' | 'text' | 'mentions'>): string {
  return createHash('sha256')
    .update(JSON.stringify([type, title, mentions]))
    .update('\n')
    .update(text)
    .digest('hex');
}
