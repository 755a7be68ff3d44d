import { describe, expect, it } from 'vitest';
import { rankOf, repairOfRow, repairOutcome, repairSubject, repairTone } from './repair-words.ts';

const done = (result: unknown) => ({ state: 'completed', result, reason: null }) as const;

describe('what is said of a repair', () => {
  it('names what it is about', () => {
    expect(repairSubject({ kind: 'gateway.key-rejected' })).toBe('gateway.key-rejected');
    expect(repairSubject({ id: '1' })).toBe('one row');
    expect(repairSubject({ due: true })).toBe('what is due');
    expect(repairSubject(null)).toBe('everything');
  });

  it('counts what came of it, and does not call a failure a success', () => {
    const mixed = done({ tried: 3, repaired: 1, gone: 1, stillBroken: 1 });
    expect(repairOutcome(mixed)).toBe('ended: 1 repaired, 1 not needed any more, 1 still open');
    expect(repairTone(mixed)).toBe('warning');
    expect(repairTone(done({ tried: 1, repaired: 1, gone: 0, stillBroken: 0 }))).toBe('good');
    expect(repairOutcome(done({ tried: 0, repaired: 0, gone: 0, stillBroken: 0 }))).toBe(
      'ended: none could be repaired',
    );
    const failed = { state: 'failed', result: null, reason: 'The store is away.' } as const;
    expect(repairOutcome(failed)).toBe('failed: The store is away.');
    expect(repairTone(failed)).toBe('bad');
  });

  it('tells at a row what becomes of its repair, and behind what it waits', () => {
    const job = (state: 'running' | 'queued' | 'completed', payload: unknown) => ({ state, payload });
    expect(repairOfRow('7', [job('completed', { id: '7' }), job('queued', { id: '8' })])).toBeNull();
    expect(repairOfRow('7', [job('running', { id: '7' })])).toBe('Its repair goes on.');
    expect(repairOfRow('7', [job('queued', { id: '7' })])).toBe('Its repair waits.');
    expect(repairOfRow('7', [job('queued', { id: '7' }), job('running', { due: true })])).toBe(
      'Its repair waits until the repair of what is due has ended.',
    );
  });

  it('puts what goes on first', () => {
    const states = ['completed', 'queued', 'running'] as const;
    expect(states.toSorted((a, b) => rankOf({ state: a }) - rankOf({ state: b }))).toEqual([
      'running',
      'queued',
      'completed',
    ]);
  });
});
