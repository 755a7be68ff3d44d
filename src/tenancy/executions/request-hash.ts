// What a request is, in 64 characters: the same idempotency key with another request is a mistake of the caller.
import { createHash } from 'node:crypto';
import type { ExecutionInput } from '../ports.ts';

/** SHA-256, hexadecimal, of parameters as they were written and files in their order. */
export function requestHash({ parameters, files }: ExecutionInput): string {
  const hash = createHash('sha256').update(JSON.stringify(parameters));
  for (const { name, mediaType, bytes } of files) {
    const content = createHash('sha256').update(bytes).digest('hex');
    hash.update(`\n${JSON.stringify([name, mediaType, content])}`);
  }
  return hash.digest('hex');
}
