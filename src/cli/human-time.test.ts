import { describe, expect, it } from 'vitest';
import { humanDuration, humanMoment } from './output.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

describe('humanDuration', () => {
  it.each([
    [-5, '0 ms'],
    [0, '0 ms'],
    [850.7, '850 ms'],
    [1000, '1 s'],
    [61_000, '1 min 1 s'],
    [60_000, '1 min'],
    [3_600_000 + 59_000, '1 h'],
    [2 * 86_400_000 + 4 * 3_600_000 + 5000, '2 d 4 h'],
  ])('formats %d ms as %s', (ms, text) => expect(humanDuration(ms)).toBe(text));
});

describe('humanMoment', () => {
  it.each([
    ['2026-03-01T12:00:00.400Z', 'now'],
    ['2026-03-01T11:57:01Z', '2 min ago'],
    ['2026-03-01T14:30:00Z', 'in 2 h'],
    ['2026-02-01T12:00:00Z', '28 d ago'],
    [null, '–'],
    ['nonsense', '–'],
  ])('formats %s as %s', (iso, text) => expect(humanMoment(iso, now)).toBe(text));
});
