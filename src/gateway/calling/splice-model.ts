// The body as it goes to a provider: the caller's bytes, with the provider's name for the model in place of theirs.
import type { CompletionRequest } from '../ports.ts';

/** A new body; the caller's is left as it is. */
export function spliceModel(
  ask: Pick<CompletionRequest, 'body' | 'modelSpans'>,
  upstreamModel: string,
): Uint8Array {
  const { body, modelSpans } = ask;
  const name = quoted(upstreamModel);
  if (modelSpans.length === 0) return inserted(body, name);
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const [start, end] of modelSpans) {
    parts.push(body.subarray(from, start), name);
    from = end;
  }
  parts.push(body.subarray(from));
  return Buffer.concat(parts);
}

/** There are only so many models. */
const known = new Map<string, Uint8Array>();
const mostKnown = 1_000;

function quoted(model: string): Uint8Array {
  const found = known.get(model);
  if (found) return found;
  const name = Buffer.from(JSON.stringify(model));
  if (known.size < mostKnown) known.set(model, name);
  return name;
}

/** As its first member. The object is never empty: it has messages or input. */
function inserted(body: Uint8Array, name: Uint8Array): Uint8Array {
  const after = body.indexOf(0x7b) + 1;
  return Buffer.concat([body.subarray(0, after), member, name, comma, body.subarray(after)]);
}

const member = Buffer.from('"model":');
const comma = Buffer.from(',');
