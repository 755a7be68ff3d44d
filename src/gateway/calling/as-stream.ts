// A whole chat answer as the stream that was asked for: one chunk with all of it, then the end.
import { textOf } from '../text-of.ts';

interface Choice {
  readonly message?: { readonly tool_calls?: unknown };
  readonly delta?: unknown;
}

/** `body` is a whole answer that was found good. Clients that stream look for deltas and would show nothing else. */
export function asStream(body: Uint8Array): Uint8Array {
  const answer = JSON.parse(textOf(body)) as { readonly choices: readonly Choice[] };
  const choices = answer.choices.map(({ message, delta, ...rest }) => ({
    ...rest,
    delta: delta ?? deltaOf(message ?? {}),
  }));
  const chunk = JSON.stringify({ ...answer, object: 'chat.completion.chunk', choices });
  return Buffer.from(`data: ${chunk}\n\ndata: [DONE]\n\n`);
}

/** In a stream every call of a tool has a number, by which its pieces are put together. */
function deltaOf(message: NonNullable<Choice['message']>): object {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: (calls as readonly object[]).map((call, index) => ({ index, ...call })) };
}
