import { describe, expect, it } from 'vitest';
import { timeTexts, withLocalTimes } from './time-texts.ts';

const start = Date.parse('2026-03-01T12:00:00') / 1_000;
const marks = (step: number, count: number) =>
  Array.from({ length: count }, (_, index) => start + index * step);

describe('timeTexts', () => {
  it('has seconds when marks are closer than a minute', () =>
    expect(timeTexts(marks(15, 3))).toEqual(['12:00:00', '12:00:15', '12:00:30']));
  it('shows hours and minutes within a day', () =>
    expect(timeTexts(marks(600, 2))).toEqual(['12:00', '12:10']));
  it('names the day when there are several', () => {
    expect(timeTexts(marks(43_200, 3))[2]).toMatch(/^Mon.* 12:00$/);
    expect(timeTexts(marks(86_400, 2))).toEqual(['Mar 1', 'Mar 2']);
  });
  it('has no duplicates', () => {
    for (const step of [1, 5, 30, 60, 300, 3_600, 21_600, 86_400])
      expect(new Set(timeTexts(marks(step, 8))).size).toBe(8);
  });
  it('is empty without marks', () => expect(timeTexts([])).toEqual([]));
});

describe('withLocalTimes', () => {
  it('converts times to the local time zone', () => {
    const noon = new Date('2026-03-01T12:00:00').toISOString();
    expect(withLocalTimes(`it cools down until ${noon} (rate-limit).`)).toBe(
      'it cools down until Mar 1, 12:00:00 (rate-limit).',
    );
  });
  it('keeps the rest of the text', () =>
    expect(withLocalTimes('run 2026-03-01 of 12:00')).toBe('run 2026-03-01 of 12:00'));
});
