import { describe, expect, it } from 'vitest';
import { rankOf, repairOfEntry, repairOutcome, repairSubject, repairTone } from './repair-labels.ts';

const done = (result: unknown) => ({ state: 'completed', result, reason: null }) as const;

describe('labels of a repair', () => {
  it('names the subject', () => {
    expect(repairSubject({ kind: 'gateway.key-rejected' })).toBe('gateway.key-rejected');
    expect(repairSubject({ id: '1' })).toBe('one entry');
    expect(repairSubject({ due: true })).toBe('due entries');
    expect(repairSubject(null)).toBe('all entries');
  });

  it('shows the result and marks failures', () => {
    const mixed = done({ tried: 3, repaired: 1, gone: 1, still_broken: 1 });
    expect(repairOutcome(mixed)).toBe('completed: 1 repaired, 1 no longer needed, 1 still open');
    expect(repairTone(mixed)).toBe('warning');
    expect(repairTone(done({ tried: 1, repaired: 1, gone: 0, still_broken: 0 }))).toBe('good');
    expect(repairOutcome(done({ tried: 0, repaired: 0, gone: 0, still_broken: 0 }))).toBe(
      'completed: nothing repaired',
    );
    const failed = { state: 'failed', result: null, reason: 'The store is down.' } as const;
    expect(repairOutcome(failed)).toBe('failed: The store is down.');
    expect(repairTone(failed)).toBe('bad');
  });

  it('shows the repair of an entry and what it is queued behind', () => {
    const job = (state: 'running' | 'queued' | 'completed', payload: unknown) => ({ state, payload });
    expect(repairOfEntry('7', [job('completed', { id: '7' }), job('queued', { id: '8' })])).toBeNull();
    expect(repairOfEntry('7', [job('running', { id: '7' })])).toBe('Repair running.');
    expect(repairOfEntry('7', [job('queued', { id: '7' })])).toBe('Repair queued.');
    expect(repairOfEntry('7', [job('queued', { id: '7' }), job('running', { due: true })])).toBe(
      'Repair queued behind the repair of due entries.',
    );
  });

  it('sorts running repairs first', () => {
    const states = ['completed', 'queued', 'running'] as const;
    expect(states.toSorted((a, b) => rankOf({ state: a }) - rankOf({ state: b }))).toEqual([
      'running',
      'queued',
      'completed',
    ]);
  });
});
