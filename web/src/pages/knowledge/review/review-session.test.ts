import { describe, expect, it } from 'vitest';
import type { ReviewSession } from './review-session.ts';
import {
  withVerdict,
  countOf,
  emptySession,
  moved,
  withPostponedReopened,
  reopened,
  withOpenPairs,
} from './review-session.ts';

const begun = (...ids: readonly string[]): ReviewSession => withOpenPairs(emptySession, ids);
const currentOf = ({ order, at }: ReviewSession): string | null => order[at] ?? null;

describe('review session', () => {
  it('moves to the next pair, and ends', () => {
    let session = begun('a', 'b');
    expect(currentOf(session)).toBe('a');
    session = withVerdict(session, 'a', 'same');
    expect(currentOf(session)).toBe('b');
    session = withVerdict(session, 'b', 'different');
    expect(currentOf(session)).toBeNull();
    expect([countOf(session, 'same'), countOf(session, 'different')]).toEqual([1, 1]);
  });

  it('keeps the current pair when the list changes', () => {
    const session = moved(begun('a', 'b', 'c'), 1);
    expect(currentOf(withOpenPairs(session, ['new', 'c', 'b', 'a']))).toBe('b');
    expect(withOpenPairs(session, ['new', 'c', 'b', 'a']).order).toEqual(['a', 'b', 'c', 'new']);
    expect(withOpenPairs(session, ['a', 'b', 'c'])).toBe(session);
  });

  it('drops pairs decided elsewhere, except the current one', () => {
    const session = moved(begun('a', 'b', 'c', 'd'), 1);
    const after = withOpenPairs(session, ['a', 'c']);
    expect(after.order).toEqual(['a', 'b', 'c']);
    expect(currentOf(after)).toBe('b');
    expect(withOpenPairs(moved(after, 1), ['a', 'c']).order).toEqual(['a', 'c']);
    expect(currentOf(withOpenPairs(moved(after, 1), ['a', 'c']))).toBe('c');
  });

  it('keeps its own decided pairs', () => {
    const after = withOpenPairs(withVerdict(begun('a', 'b'), 'a', 'same'), ['b']);
    expect(after.order).toEqual(['a', 'b']);
    expect(currentOf(after)).toBe('b');
  });

  it('shows a pair that arrives at the end of the queue', () => {
    const through = withVerdict(begun('a'), 'a', 'same');
    expect(currentOf(withOpenPairs(through, ['b']))).toBe('b');
  });

  it('returns to skipped pairs before it ends', () => {
    const session = withVerdict(moved(begun('a', 'b'), 1), 'b', 'same');
    expect(currentOf(session)).toBe('a');
  });

  it('returns to an undone pair', () => {
    const session = withVerdict(withVerdict(begun('a', 'b', 'c'), 'a', 'same'), 'b', 'later');
    const back = reopened(session, 'b');
    expect(currentOf(back)).toBe('b');
    expect(back.verdicts).toEqual({ a: 'same' });
    expect(back.decided).toEqual(['a']);
  });

  it('reopens postponed pairs only', () => {
    const session = withVerdict(withVerdict(begun('a', 'b'), 'a', 'later'), 'b', 'same');
    const again = withPostponedReopened(session);
    expect(currentOf(again)).toBe('a');
    expect(again.verdicts).toEqual({ b: 'same' });
  });

  it('moves within its bounds', () => {
    const session = begun('a', 'b');
    expect(moved(session, -1).at).toBe(0);
    expect(moved(moved(session, 5), 5).at).toBe(2);
  });
});
