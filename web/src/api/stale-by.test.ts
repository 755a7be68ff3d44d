import { expect, it } from 'vitest';
import { staleBy } from './stale-by.ts';

const changed = (operation: unknown) => staleBy({ name: 'http:changed', payload: { operation } });

it('maps events to queries by the prefix of their name', () => {
  expect(staleBy({ name: 'ledger:lost', payload: {} })).toEqual(['ledger', 'alerts', 'flow']);
  expect(staleBy({ name: 'job:completed', payload: {} })).toContain('knowledge');
  expect(staleBy({ name: 'http:request-finished', payload: {} })).toEqual([]);
});

it.each([
  ['entities.decide', 'knowledge'],
  ['entities.undo-merge', 'knowledge'],
  ['limits.set', 'tenants'],
  ['organizations.keys.revoke', 'tenants'],
  ['deployments.add', 'tenants'],
  ['models.set-active', 'models'],
  ['extraction.sources.change', 'extraction'],
  ['ledger.resolve', 'ledger'],
])('knows that %s changes what is shown of %s', (operation, key) => {
  expect(changed(operation)).toContain(key);
});

it('ignores unknown operations', () => {
  expect(changed('presence.attach')).toEqual([]);
  expect(changed(undefined)).toEqual([]);
});
