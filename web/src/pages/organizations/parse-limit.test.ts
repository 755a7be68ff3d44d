import { expect, it } from 'vitest';
import { highestLimit, parseLimit } from './parse-limit.ts';

it.each([
  ['7', 7],
  [' 20 ', 20],
  ['2147483647', highestLimit],
])('parses %j', (text, limit) => expect(parseLimit(text)).toBe(limit));

it.each(['', '0', '-1', '1.5', '1,5', '1e9', '1 000', '2147483648', '99999999999', 'ten'])(
  'rejects %j',
  (text) => expect(parseLimit(text)).toBeNull(),
);
