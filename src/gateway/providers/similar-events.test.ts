import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { StreamReader } from './stream-reader.ts';

const encoder = new TextEncoder();
const eventOf = (json: string, end = '\n\n') => encoder.encode(`data: ${json}${end}`);

interface Facts {
  readonly text: string;
  readonly facts: object;
}

function read(chunks: readonly Uint8Array[]): Facts {
  const reader = new StreamReader(1);
  const sent = chunks.map((chunk) => Buffer.from(reader.push(chunk) ?? []).toString('latin1'));
  const { isCommitted, isDone, isComplete, isAwaitingDone, usage, characters, contentEvents, failure } =
    reader;
  return {
    text: sent.join(''),
    facts: { isCommitted, isDone, isComplete, isAwaitingDone, usage, characters, contentEvents, failure },
  };
}

/** No chunk consists of whole events, so that every event is parsed. */
const halved = (events: readonly Uint8Array[]) =>
  events.flatMap((event) => [event.subarray(0, 7), event.subarray(7)]);

const joined = (events: readonly Uint8Array[], sizes: readonly number[]) => {
  const chunks: Uint8Array[] = [];
  for (let at = 0, index = 0; at < events.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    chunks.push(Buffer.concat(events.slice(at, at + size)));
    at += size;
  }
  return chunks;
};

const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(' fox', 'a', 'über', '漢字', '🦊🦊') },
  { weight: 3, arbitrary: fc.constantFrom('', '"', '\\', '\t', '{"content":"a"}') },
  fc.string({ unit: 'binary', maxLength: 8 }),
);

const usageOf = (tokens: number) => ({ usage: { prompt_tokens: tokens } });

/** What a provider writes around the text. */
const shape = fc.record({
  delta: fc.constantFrom<(content: string) => object>(
    (content) => ({ content }),
    (content) => ({ content: null, reasoning_content: content }),
    (content) => ({ content, reasoning: 'kept' }),
    (content) => ({ content, obfuscation: content }),
    (content) => ({ tool_calls: [{ index: 0, function: { arguments: content } }] }),
    () => ({ content: 'a' }),
    () => ({}),
  ),
  index: fc.constantFrom(0, 0, 1),
  reason: fc.constantFrom(null, null, null, '', 'stop'),
  first: fc.constantFrom<(content: string) => object>(
    () => ({}),
    (content) => ({ meta: { content } }),
  ),
  last: fc.constantFrom({}, {}, { usage: null }, usageOf(3), usageOf(4), { error: 'no' }),
  /** JSON with line breaks is sent without them; a tab is no JSON. */
  raw: fc.constantFrom('a', 'a', 'a', '\t'),
  space: fc.constantFrom('', '', ' '),
  end: fc.constantFrom('\n\n', '\n\n', '\r\n\r\n'),
  choices: fc.constantFrom(1, 1, 1, 2, 0),
});

type Shape = typeof shape extends fc.Arbitrary<infer Value> ? Value : never;

function written({ delta, index, reason, first, last, raw, space, end, choices }: Shape, content: string) {
  const choice = { index, delta: delta(content), finish_reason: reason };
  const body = {
    id: 'c',
    ...first(content),
    choices: Array.from({ length: choices }, () => choice),
    ...last,
  };
  const json = JSON.stringify(body, null, space).replaceAll('\n', '').replaceAll('"a"', `"${raw}"`);
  return eventOf(json, end);
}

/** Most events have the shape of the one before. */
const events = fc
  .tuple(shape, shape, fc.array(fc.tuple(text, fc.nat(4)), { maxLength: 20 }))
  .map(([usual, other, all]) => all.map(([content, pick]) => written(pick === 0 ? other : usual, content)));

it('reads events that differ in their text only as if they were parsed', () => {
  fc.assert(
    fc.property(
      events,
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 }),
      (given, sizes) => {
        expect(read(joined(given, sizes))).toEqual(read(halved(given)));
      },
    ),
    { numRuns: 3_000 },
  );
});

it('does not parse an event that differs from the last one in its text only', () => {
  const chunk = (content: string) =>
    eventOf(JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }));
  const reader = new StreamReader(1);
  reader.push(chunk(' one'));
  const parse = JSON.parse;
  let parsed = 0;
  JSON.parse = (...given) => {
    parsed++;
    return parse(...given) as unknown;
  };
  try {
    reader.push(chunk(' two'));
    reader.push(Buffer.concat([chunk(' drei'), chunk('四')]));
  } finally {
    JSON.parse = parse;
  }
  expect(parsed).toBe(0);
  expect([reader.characters, reader.contentEvents]).toEqual([14, 4]);
  reader.push(chunk('"'));
  expect([reader.characters, reader.contentEvents]).toEqual([15, 5]);
});
