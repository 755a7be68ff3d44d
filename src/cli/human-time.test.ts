import { describe, expect, it } from 'vitest';
import { humanMoment } from './output.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

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
