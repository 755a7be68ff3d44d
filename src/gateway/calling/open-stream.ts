// The beginning of a streamed answer: held back until its first content, so that another model can still take over.
import type { HttpAnswer } from '../../core/index.ts';
import type { StreamFailure } from './stream-reader.ts';
import { StreamReader } from './stream-reader.ts';

export type OpenedStream =
  | {
      readonly state: 'committed';
      readonly head: readonly Uint8Array[];
      readonly pieces: AsyncIterator<Uint8Array>;
      readonly reader: StreamReader;
    }
  | { readonly state: 'failed'; readonly failure: StreamFailure }
  /** It ended without content. Perhaps it was no stream at all: these are its bytes. */
  | { readonly state: 'ended'; readonly bytes: Uint8Array };

/** What may come before the first content: comments, role chunks, empty deltas. */
const mostHeldBack = 256 * 1024;

/** Reads up to the first content; `choices` is how many answers were asked for. Fails with an HttpFailure. */
export async function openStream(answer: HttpAnswer, choices: number): Promise<OpenedStream> {
  const pieces = answer.body[Symbol.asyncIterator]();
  const reader = new StreamReader(choices);
  const head: Uint8Array[] = [];
  let headBytes = 0;
  for (;;) {
    const next = await pieces.next();
    const bytes = next.done ? reader.end() : reader.push(next.value);
    if (bytes) {
      head.push(bytes);
      headBytes += bytes.length;
    }
    if (reader.isCommitted) return { state: 'committed', head, pieces, reader };
    if (next.done && !reader.failure) return { state: 'ended', bytes: Buffer.concat(head) };
    const failure = reader.failure ?? emptyOrTooLarge(reader, headBytes);
    if (!failure) continue;
    await pieces.return?.();
    return { state: 'failed', failure };
  }
}

function emptyOrTooLarge(reader: StreamReader, headBytes: number): StreamFailure | undefined {
  const isTooLarge = headBytes + reader.pendingBytes > mostHeldBack;
  return reader.isDone || isTooLarge ? { failureClass: 'invalid-response' } : undefined;
}
