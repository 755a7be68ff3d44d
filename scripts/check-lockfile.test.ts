import { expect, it } from 'vitest';
import { findLockfileProblems } from './check-lockfile.ts';

it('finds addresses of a registry', () => {
  const packages = { '': {}, 'node_modules/a': { resolved: 'https://registry.example/a.tgz' } };
  expect(findLockfileProblems({ packages })).toEqual([expect.stringContaining('node_modules/a is bound to')]);
});

it("finds another platform's binary that npm left out", () => {
  const packages = {
    '': { optionalDependencies: { 'a-top': '1' } },
    'node_modules/a': { optionalDependencies: { 'a-linux': '1', 'a-darwin': '1' } },
    'node_modules/a-linux': {},
    'node_modules/a-top': {},
  };
  expect(findLockfileProblems({ packages })).toEqual([expect.stringContaining('optional a-darwin')]);
});

it('finds optional packages where Node would: nested, and further up', () => {
  const packages = {
    'node_modules/@s/b': { optionalDependencies: { one: '1', two: '1' } },
    'node_modules/@s/b/node_modules/one': { optionalDependencies: { three: '1' } },
    'node_modules/@s/b/node_modules/three': {},
    'node_modules/two': {},
  };
  expect(findLockfileProblems({ packages })).toEqual([]);
});
