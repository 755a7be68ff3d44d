import { expect, it } from 'vitest';
import { counted, durationText, wholeText } from './format.ts';

it.each([
  [0, '0 ms'],
  [69.6, '70 ms'],
  [2_060, '2.1 s'],
  [40_000, '40 s'],
  [848_000, '14 min 8 s'],
  [7_500_000, '2 h 5 min'],
])('formats a duration of %d ms as %s', (ms, text) => expect(durationText(ms)).toBe(text));

it('shows a time that moves on in whole seconds, and only its largest unit on request', () => {
  expect(wholeText(-5)).toBe('0 s');
  expect(wholeText(2_060)).toBe('2 s');
  expect(wholeText(848_000, 1)).toBe('14 min');
});

it('counts one and many', () => {
  expect([counted(1, 'event'), counted(1200, 'event'), counted(0, 'entity', 'entities')]).toEqual([
    '1 event',
    '1,200 events',
    '0 entities',
  ]);
});
