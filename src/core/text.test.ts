import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  camelCaseKeys,
  counted,
  formatBytes,
  formatDuration,
  formatWholeSeconds,
  shellWord,
  snakeCaseKeys,
  toCamelCase,
  toSnakeCase,
  nearest,
  nearNames,
  hasMoreValues,
} from './text.ts';

describe('formatBytes', () => {
  it.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [1_023, '1023 bytes'],
    [1_024, '1 KiB'],
    [1_536, '1.5 KiB'],
    [10 * 1_048_576, '10 MiB'],
    [1_048_575, '1 MiB'],
    [2_684_354_560, '2.5 GiB'],
    [5_000 * 1_024 ** 4, '5000 TiB'],
  ])('formats %i as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});

describe('case conversion', () => {
  it.each([
    ['id', 'id'],
    ['retryAfterMs', 'retry_after_ms'],
    ['p95Ms', 'p95_ms'],
  ])('converts %s to %s and back', (camel, snake) => {
    expect(toSnakeCase(camel)).toBe(snake);
    expect(toCamelCase(snake)).toBe(camel);
  });

  it('keeps names that are in another case', () => {
    expect(['Total Count', 'content-type', 'Äpfel', '2nd'].map(toSnakeCase)).toEqual([
      'Total Count',
      'content-type',
      'Äpfel',
      '2nd',
    ]);
    expect(toCamelCase('Total_Count')).toBe('Total_Count');
  });

  it('converts keys at every depth, keeps dates and values', () => {
    const createdAt = new Date(0);
    const wire = { page_size: 2, rows: [{ created_at: createdAt, note: 'a_b' }], next: null };
    const own = { pageSize: 2, rows: [{ createdAt, note: 'a_b' }], next: null };
    expect(snakeCaseKeys(own)).toEqual(wire);
    expect(camelCaseKeys(wire)).toEqual(own);
  });

  it('ends at a cycle', () => {
    const loop: Record<string, unknown> = {};
    loop['innerLoop'] = loop;
    expect(snakeCaseKeys(loop)).toHaveProperty('inner_loop');
  });
});

describe('shellWord', () => {
  it('quotes only what a shell would split or expand', () => {
    expect(shellWord('/data/own-1.db')).toBe('/data/own-1.db');
    expect(shellWord("it's here")).toBe(String.raw`'it'\''s here'`);
    expect(shellWord('')).toBe("''");
  });
});

const names = [
  'groq/llama-3.3-70b-versatile',
  'openai/gpt-4o-mini',
  'mistral/mistral-small-latest',
  'acme/large',
];

describe('nearNames', () => {
  it.each([
    ['llama', ['groq/llama-3.3-70b-versatile']],
    ['LLAMA_3.3', ['groq/llama-3.3-70b-versatile']],
    ['groq/lama-3.3-70b', ['groq/llama-3.3-70b-versatile']],
    ['openai/gpt-4-mini', ['openai/gpt-4o-mini']],
    ['acme/larg', ['acme/large']],
    ['', []],
    ['a', []],
    ['al', []],
    ['claude-3-opus', []],
    ['mistake', []],
  ])('of "%s" are %j', (typed, near) => {
    expect(nearNames(typed, names)).toEqual(near);
  });

  it('returns at most three names, those that contain the typed text first', () => {
    const many = ['xabcx', 'abdc', 'abc-1', 'abc-22', 'abc-333', 'ab-c'];
    expect(nearNames('abc', many)).toEqual(['ab-c', 'abc-1', 'abc-22']);
  });
});

const optionNames = ['port', 'host', 'allowedHosts', 'adminToken'];

describe('nearest', () => {
  it.each([
    ['prot', 'port'],
    ['allowed_hosts', 'allowedHosts'],
    ['allowed-host', 'allowedHosts'],
    ['admintoken', 'adminToken'],
    ['adminTokn', 'adminToken'],
  ])('corrects %s to %s', (typed, meant) => expect(nearest(typed, optionNames)).toBe(meant));

  it.each(['x', 'zzzz', 'somethingElse', ''])('suggests nothing for %j', (typed) =>
    expect(nearest(typed, optionNames)).toBeUndefined(),
  );

  it('finds every name with two adjacent letters swapped', () => {
    fc.assert(
      fc.property(fc.constantFrom(...optionNames), fc.nat(), (name, seed) => {
        const at = seed % (name.length - 1);
        const typed = name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2);
        expect(nearest(typed, optionNames)).toBe(name);
      }),
    );
  });
});

it.each([
  [0, '0 ms'],
  [69.6, '70 ms'],
  [2_060, '2.1 s'],
  [9_960, '10 s'],
  [40_000, '40 s'],
  [3_659_000, '1 h'],
  [187_205_000, '2 d 4 h'],
  [848_000, '14 min 8 s'],
  [7_500_000, '2 h 5 min'],
])('formats a duration of %d ms as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

it('shows a time that moves on in whole seconds, and only its largest unit on request', () => {
  expect(formatWholeSeconds(-5)).toBe('0 s');
  expect(formatWholeSeconds(2_060)).toBe('2 s');
  expect(formatWholeSeconds(848_000, 1)).toBe('14 min');
});

it('counts one and many', () => {
  expect([counted(1, 'event'), counted(1200, 'event'), counted(0, 'entity', 'entities')]).toEqual([
    '1 event',
    '1,200 events',
    '0 entities',
  ]);
});

/** Commas, and opening brackets and braces, outside of strings. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return 1 + Math.max(0, inner.length - 1) + inner.reduce<number>((sum, each) => sum + countOf(each), 0);
}

it('counts the values of any JSON, whatever its strings contain', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value);
      expect(hasMoreValues(json, countOf(value))).toBe(false);
      if (countOf(value) > 0) expect(hasMoreValues(json, countOf(value) - 1)).toBe(true);
    }),
  );
});

it.each(['"', '"\\', '"\\\\"', '[', ''])('ends with text that is not JSON (%s)', (text) => {
  expect(hasMoreValues(text, 5)).toBe(false);
});
