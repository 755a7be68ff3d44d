// Streamed responses, however the network splits them.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SseSplitter } from '../dialects/wire.ts';
import { StreamReader } from './stream-reader.ts';

const chunk = (delta: object, finish: string | null = null, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
const read = (...pieces: string[]) => {
  const reader = new StreamReader(1);
  const out = pieces.map((piece) => Buffer.from(reader.push(Buffer.from(piece)) ?? '').toString());
  return { reader, out };
};

describe('the end of a stream', () => {
  it('is a finish reason that is not empty', () => {
    expect(read(chunk({ content: 'a' }, ''), chunk({}, '')).reader.isComplete).toBe(false);
    expect(read(chunk({ content: 'a' }, ''), chunk({}, 'stop')).reader.isComplete).toBe(true);
  });

  it('is awaited when only usage can follow', () => {
    expect(read(chunk({ content: 'a' })).reader.isAwaitingDone).toBe(false);
    expect(read(chunk({ content: 'a' }, 'stop')).reader.isAwaitingDone).toBe(false);
    expect(read(chunk({ content: 'a' }, 'stop'), 'data: {"choices":[]}\n\n').reader.isAwaitingDone).toBe(
      true,
    );
    expect(read(chunk({ content: 'a' }), chunk({}, 'stop')).reader.isAwaitingDone).toBe(true);
  });
});

describe('events', () => {
  const events = (...pieces: (string | Uint8Array)[]) => {
    const splitter = new SseSplitter();
    const found = pieces.flatMap((piece) => splitter.push(Buffer.from(piece)));
    const last = splitter.end();
    return [...found, ...(last ? [last] : [])].map(({ name, data }) => [name, data]);
  };

  it.each<[string, string, unknown]>([
    ['a plain one', 'data: a\n\n', [['', 'a']]],
    ['no blank after the colon', 'data:a\n\n', [['', 'a']]],
    ['only one blank is taken', 'data:  a\n\n', [['', ' a']]],
    [
      'CRLF',
      'data: a\r\n\r\ndata: b\r\n\r\n',
      [
        ['', 'a'],
        ['', 'b'],
      ],
    ],
    [
      'CR alone',
      'data: a\r\r: c\revent: e\rdata: b\r\r',
      [
        ['', 'a'],
        ['e', 'b'],
      ],
    ],
    [
      'CR alone after a blank line',
      '\rdata: a\r\r',
      [
        ['', undefined],
        ['', 'a'],
      ],
    ],
    ['several lines', 'data: a\ndata:\ndata: b\n\n', [['', 'a\n\nb']]],
    ['a name', 'event: error\ndata: a\n\n', [['error', 'a']]],
    ['a comment', ': keep-alive\n\n', [['', undefined]]],
    ['a comment before data', ': hi\nid: 3\nretry: 5\ndata: a\n\n', [['', 'a']]],
    [
      'no blank line at the end',
      'data: a\n\ndata: b',
      [
        ['', 'a'],
        ['', 'b'],
      ],
    ],
    ['a field without a colon', 'data\n\n', [['', '']]],
    ['a byte order mark', '\uFEFFdata: a\n\n', [['', 'a']]],
  ])('are parsed: %s', (_what, text, expected) => {
    expect(events(text)).toEqual(expected);
  });

  it('are the same however the stream is cut, and their bytes add up to the stream', () => {
    const textWith = (...lineEnds: readonly string[]) =>
      fc.array(fc.constantFrom('data: ', 'я', '😀', ': c', 'event: e', 'x', ...lineEnds), { maxLength: 40 });
    const text = fc.oneof(textWith('\n', '\r\n', '\n\n', '\r\n\r\n'), textWith('\r', '\r\r'));
    fc.assert(
      fc.property(text, fc.array(fc.nat(200), { maxLength: 12 }), (parts, cuts) => {
        const whole = Buffer.from(parts.join(''));
        const at = [...new Set(cuts.map((cut) => Math.min(cut, whole.length)))].sort((a, b) => a - b);
        const pieces = [...at, whole.length].map((to, index) => whole.subarray(at[index - 1] ?? 0, to));
        expect(events(...pieces)).toEqual(events(whole));
        const splitter = new SseSplitter();
        const bytes = pieces.flatMap((piece) => splitter.push(piece)).map((event) => event.bytes);
        expect(Buffer.concat([...bytes, splitter.end()?.bytes ?? Buffer.of()])).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });
});

it('returns an event with CR line ends as soon as it is complete', () => {
  const { reader, out } = read('data: {"choices":[{"delta":{"content":"a"}}]}\r\r', 'data: [DONE]\r\r');
  expect(out.map((bytes) => bytes.length)).toEqual([47, 14]);
  expect([reader.isCommitted, reader.isDone]).toEqual([true, true]);
});

describe('a streamed response', () => {
  it.each<[string, object]>([
    ['text', { content: 'h' }],
    ['reasoning', { reasoning_content: 'hm' }],
    ['reasoning as OpenRouter calls it', { reasoning: 'hm' }],
    ['a refusal', { refusal: 'no' }],
    ['a call of a tool', { tool_calls: [{ index: 0, function: { name: 'f' } }] }],
    ['a call of a function', { function_call: { name: 'f' } }],
  ])('is committed by %s', (_what, delta) => {
    expect(read(chunk({ role: 'assistant' }), chunk(delta)).reader.isCommitted).toBe(true);
  });

  it.each<[string, string]>([
    ['a role', chunk({ role: 'assistant' })],
    ['an empty delta', chunk({ content: '' })],
    ['nulls', chunk({ content: null, tool_calls: null })],
    ['an empty list of tools', chunk({ tool_calls: [] })],
    ['a comment', ': OPENROUTER PROCESSING\n\n'],
    ['no choices', 'data: {"choices":[]}\n\n'],
    ['the filter results of a prompt', 'data: {"choices":[],"prompt_filter_results":[{}]}\n\n'],
    ['an event without data', 'event: ping\n\n'],
  ])('is not committed by %s', (_what, event) => {
    const { reader, out } = read(event);
    expect(reader.isCommitted).toBe(false);
    expect(reader.failure).toBeUndefined();
    expect(out).toEqual([event]);
  });

  it('is complete with [DONE] or a finish reason, and cut without', () => {
    expect(read(chunk({ content: 'a' })).reader.isComplete).toBe(false);
    expect(read(chunk({ content: 'a' }), chunk({}, 'stop')).reader.isComplete).toBe(true);
    expect(read(chunk({ content: 'a' }), 'data: [DONE]\n\n').reader).toMatchObject({
      isComplete: true,
      isDone: true,
    });
  });

  it('cut off by max_tokens before its first content is valid', () => {
    expect(read(chunk({}, 'length')).reader).toMatchObject({ isCommitted: true, isComplete: true });
  });

  it('stopped by the content filter before its first content is content-refused', () => {
    expect(read(chunk({}, 'content_filter')).reader.failure).toEqual({ failureClass: 'content-refused' });
    expect(read(chunk({ content: 'a' }), chunk({}, 'content_filter')).reader.failure).toBeUndefined();
  });

  it.each<[string, string]>([
    ['data', 'data: {"error":{"message":"no"}}\n\n'],
    ['an event named error', 'event: error\ndata: {"message":"no"}\n\n'],
    ['a list', 'data: [{"error":{"message":"no"}}]\n\n'],
    ['a choice', 'data: {"choices":[{"delta":{},"finish_reason":"error","error":{"message":"no"}}]}\n\n'],
  ])('fails with an error as %s, before and after content', (_what, event) => {
    expect(read(event).reader.failure).toEqual({ errorBody: expect.stringContaining('no') as string });
    const { reader, out } = read(
      chunk({ content: 'a' }) + event + chunk({ content: 'b' }),
      chunk({ content: 'c' }),
    );
    expect(reader.failure).toBeDefined();
    expect(out).toEqual([chunk({ content: 'a' }), '']);
  });

  it('fails with an event that is not JSON', () => {
    expect(read('data: {"choices":[{"del\n\n').reader.failure).toEqual({ failureClass: 'invalid-response' });
  });

  it('fails with an event that never ends, and accepts one with an image', () => {
    const megabyte = 'A'.repeat(1024 * 1024);
    const picture = chunk({ content: megabyte.repeat(3) });
    const good = read(chunk({ content: 'a' }), picture.slice(0, 100), picture.slice(100));
    expect([good.reader.failure, good.out.join('').length]).toEqual([
      undefined,
      chunk({ content: 'a' }).length + picture.length,
    ]);
    const piece = megabyte.repeat(8);
    const endless = read(chunk({ content: 'a' }), `data: ${piece}`, piece, piece, piece, piece);
    expect(endless.reader.failure).toEqual({ failureClass: 'invalid-response' });
    expect(endless.out).toEqual([chunk({ content: 'a' }), '', '', '', '', '']);
  });

  it('reports usage, or characters without it', () => {
    const usage = { prompt_tokens: 4, completion_tokens: 2 };
    const last = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
    expect(read(chunk({ content: 'ab' }, null, { usage: null }), last).reader).toMatchObject({
      usage: { prompt: 4, completion: 2 },
      characters: 2,
    });
    expect(read(chunk({}, 'stop', { x_groq: { usage } })).reader.usage).toMatchObject({
      prompt: 4,
      completion: 2,
    });
  });

  it('passes every byte on once, in whole events, however it is cut', () => {
    const stream = Buffer.from(
      `: hi\r\n\r\n${chunk({ role: 'assistant' })}${chunk({ content: 'жук 😀' })}${chunk({ content: 'b' })}${chunk({}, 'stop')}data: [DONE]\n\n`,
    );
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 20 }), (cuts) => {
        const at = [...new Set(cuts)].sort((a, b) => a - b);
        const reader = new StreamReader(1);
        const out = [...at, stream.length].map((to, index) =>
          reader.push(stream.subarray(at[index - 1] ?? 0, to)),
        );
        for (const bytes of out) if (bytes) expect(Buffer.from(bytes).toString()).toMatch(/\n\r?\n$/);
        expect(Buffer.concat(out.map((bytes) => bytes ?? Buffer.of()))).toEqual(stream);
        expect(reader).toMatchObject({ isCommitted: true, isDone: true, characters: 'жук 😀b'.length });
      }),
    );
  });
});
