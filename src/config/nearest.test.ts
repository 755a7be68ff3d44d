import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const names = ['port', 'host', 'allowedHosts', 'adminToken'];

describe('nearest', () => {
  it.each([
    ['prot', 'port'],
    ['allowed_hosts', 'allowedHosts'],
    ['allowed-host', 'allowedHosts'],
    ['admintoken', 'adminToken'],
    ['adminTokn', 'adminToken'],
  ])('takes %s for %s', (typed, meant) => expect(nearest(typed, names)).toBe(meant));

  it.each(['x', 'zzzz', 'somethingElse', ''])('takes %j for nothing', (typed) =>
    expect(nearest(typed, names)).toBeUndefined(),
  );

  it('finds every name that has two neighbouring letters swapped', () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.nat(), (name, seed) => {
        const at = seed % (name.length - 1);
        const typed = name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2);
        expect(nearest(typed, names)).toBe(name);
      }),
    );
  });
});
