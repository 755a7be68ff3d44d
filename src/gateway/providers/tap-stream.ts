import type { ProviderStream } from '../types.ts';

/** The same stream; `onChunk` sees what its reader gets, before the reader does. */
export function tapStream(stream: ProviderStream, onChunk: (chunk: Uint8Array) => void): ProviderStream {
  for (const chunk of stream.head) onChunk(chunk);
  const chunks = stream.rest[Symbol.asyncIterator]();
  const tapped: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => tapped,
    next: async () => {
      const next = await chunks.next();
      if (!next.done) onChunk(next.value);
      return next;
    },
    return: async () => {
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return { ...stream, rest: tapped };
}
