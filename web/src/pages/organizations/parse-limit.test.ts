import { expect, it } from 'vitest';
import { highestLimit, parseLimit } from './parse-limit.ts';

it.each([
  ['7', 7],
  [' 20 ', 20],
  ['2147483647', highestLimit],
])('takes %j as it is', (text, limit) => expect(parseLimit(text)).toBe(limit));

it.each(['', '0', '-1', '1.5', '1,5', '1e9', '1 000', '2147483648', '99999999999', 'ten'])(
  'makes no number of %j',
  (text) => expect(parseLimit(text)).toBeNull(),
);
