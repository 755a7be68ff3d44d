import { describe, expect, it } from 'vitest';
import { findDate } from './dates.ts';

/** A Wednesday. */
const base = new Date('2025-12-17T15:30:00Z');
const day = (text: string, from: Date | null = base) =>
  findDate(text, from)?.toISOString().slice(0, 10) ?? null;

describe('findDate', () => {
  it.each([
    ['due 2026-01-05', '2026-01-05'],
    ['am 05.01.2026 fertig', '2026-01-05'],
    ['by January 5th', '2026-01-05'],
    ['by Dec. 3', '2025-12-03'],
    ['on 3 November 2024', '2024-11-03'],
    ['the 2nd of February', '2026-02-02'],
    ['by end of February', '2026-02-28'],
    ['in Q1 2026', '2026-03-31'],
    ['by Q4', '2025-12-31'],
    ['by EOD', '2025-12-17'],
    ['tomorrow', '2025-12-18'],
    ['yesterday', '2025-12-16'],
    ['in two weeks', '2025-12-31'],
    ['by Friday', '2025-12-19'],
    ['last Friday', '2025-12-12'],
    ['by Wednesday', '2025-12-17'],
    ['last Wednesday', '2025-12-10'],
    ['end of the week', '2025-12-19'],
    ['in May we may march', null],
    ['on February 31st', null],
    ['version 1.2.3', null],
    ['nothing here', null],
  ])('reads %j as %s', (text, expected) => expect(day(text)).toBe(expected));

  it("returns null for a date that only the document's date could complete", () => {
    expect(day('by Friday', null)).toBeNull();
    expect(day('by March 3rd', null)).toBeNull();
    expect(day('by March 3rd, 2026', null)).toBe('2026-03-03');
  });
});
