import { describe, expect, it } from 'vitest';
import type { SimulatorBehavior } from './types.ts';
import { Faults, permanentFailure } from './responses.ts';
import { readListingQuery } from './requests.ts';

const settings: SimulatorBehavior['faults'] = {
  '500': { probability: 0.2 },
  slow: { probability: 0.1, ms: 50 },
};
const addresses = Array.from({ length: 2_000 }, (_, index) => `/dashboards/search?offset=${index}`);

const faultsOf = (order: readonly string[], seed = 1) => {
  const faults = new Faults(seed);
  return new Map(order.map((address) => [address, faults.of(address, settings)?.name]));
};

describe('faults', () => {
  it('affect the same calls in whatever order they are made', () => {
    expect(faultsOf(addresses.toReversed())).toEqual(new Map([...faultsOf(addresses)].toReversed()));
  });

  it('affect other calls with another seed, and not every call of an address', () => {
    expect(faultsOf(addresses, 2)).not.toEqual(faultsOf(addresses));
    const faults = new Faults(1);
    const tries = Array.from({ length: 40 }, () => faults.of('/one', settings));
    expect(tries).toContain(null);
    expect(tries.some((fault) => fault !== null)).toBe(true);
  });

  it('occur as often as configured', () => {
    const all = [...faultsOf(addresses).values()];
    const share = (name: string) => all.filter((fault) => fault === name).length / all.length;
    expect(share('500')).toBeCloseTo(0.2, 1);
    expect(share('slow')).toBeCloseTo(0.08, 1);
    expect(new Faults(1).of('/x', { '503': { probability: 1 }, slow: { probability: 1 } })).toEqual({
      name: '503',
      ms: 1_000,
      kind: expect.any(Number),
    });
  });
});

describe('a permanent failure', () => {
  const query = (text: string) => {
    const read = readListingQuery('dashboards', new URLSearchParams(text));
    if ('problems' in read) throw new Error('The query is wrong.');
    return read.query;
  };
  const at200 = [{ type: 'dashboards', offset: 200 }] as const;

  it.each([
    ['limit=100&offset=200', true],
    ['limit=100&offset=150', true],
    ['limit=100&offset=101', true],
    ['limit=100&offset=100', false],
    ['limit=100&offset=201', false],
    ['', true],
    ['page=3&per_page=100', true],
  ])('applies to the page %s that covers its position: %s', (text, isMet) => {
    const found = permanentFailure({ type: 'dashboards', query: query(text) }, at200);
    expect(found !== undefined).toBe(isMet);
  });

  it('does not affect other types and other items', () => {
    const failures = [...at200, { type: 'looks', id: '17' } as const];
    expect(
      permanentFailure({ type: 'looks', query: query('limit=100&offset=200') }, failures),
    ).toBeUndefined();
    expect(permanentFailure({ type: 'looks', id: '18' }, failures)).toBeUndefined();
    expect(permanentFailure({ type: 'looks', id: '17' }, failures)).toEqual({ type: 'looks', id: '17' });
  });
});
