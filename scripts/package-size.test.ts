import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { purposes } from './package-size.ts';

it('states the purpose of every dependency, and of no other package', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Readonly<
    Record<'dependencies' | 'optionalDependencies', Readonly<Record<string, string>>>
  >;
  const { dependencies, optionalDependencies } = manifest;
  expect(Object.keys(purposes).sort()).toEqual(
    Object.keys({ ...dependencies, ...optionalDependencies }).sort(),
  );
});
