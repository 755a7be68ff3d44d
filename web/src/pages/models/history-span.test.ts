import { expect, it } from 'vitest';
import { hoursToShow } from './history-span.ts';

const interval = (at: string) => ({ at, requests: 1, successes: 1, average_seconds: 1 });
const until = '2026-03-01T12:00:00Z';

it('selects the last hour if all requests are in it', () => {
  const intervals = [interval('2026-03-01T11:15:00Z'), interval('2026-03-01T11:45:00Z')];
  expect(hoursToShow({ until, intervals })).toBe('1');
});

it('selects the day for older requests and without data', () => {
  const intervals = [interval('2026-03-01T03:15:00Z'), interval('2026-03-01T11:45:00Z')];
  expect(hoursToShow({ until, intervals })).toBe('24');
  expect(hoursToShow({ until, intervals: [] })).toBe('24');
  expect(hoursToShow(undefined)).toBe('24');
});
