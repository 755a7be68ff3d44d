import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearest, nearNames } from './names.ts';

const names = [
  'groq/llama-3.3-70b-versatile',
  'openai/gpt-4o-mini',
  'mistral/mistral-small-latest',
  'acme/large',
];

describe('nearNames', () => {
  it.each([
    ['llama', ['groq/llama-3.3-70b-versatile']],
    ['LLAMA_3.3', ['groq/llama-3.3-70b-versatile']],
    ['groq/lama-3.3-70b', ['groq/llama-3.3-70b-versatile']],
    ['openai/gpt-4-mini', ['openai/gpt-4o-mini']],
    ['acme/larg', ['acme/large']],
    ['', []],
    ['a', []],
    ['al', []],
    ['claude-3-opus', []],
    ['mistake', []],
  ])('of "%s" are %j', (typed, near) => {
    expect(nearNames(typed, names)).toEqual(near);
  });

  it('returns at most three names, those that contain the typed text first', () => {
    const many = ['xabcx', 'abdc', 'abc-1', 'abc-22', 'abc-333', 'ab-c'];
    expect(nearNames('abc', many)).toEqual(['ab-c', 'abc-1', 'abc-22']);
  });
});

const optionNames = ['port', 'host', 'allowedHosts', 'adminToken'];

describe('nearest', () => {
  it.each([
    ['prot', 'port'],
    ['allowed_hosts', 'allowedHosts'],
    ['allowed-host', 'allowedHosts'],
    ['admintoken', 'adminToken'],
    ['adminTokn', 'adminToken'],
  ])('corrects %s to %s', (typed, meant) => expect(nearest(typed, optionNames)).toBe(meant));

  it.each(['x', 'zzzz', 'somethingElse', ''])('suggests nothing for %j', (typed) =>
    expect(nearest(typed, optionNames)).toBeUndefined(),
  );

  it('finds every name with two adjacent letters swapped', () => {
    fc.assert(
      fc.property(fc.constantFrom(...optionNames), fc.nat(), (name, seed) => {
        const at = seed % (name.length - 1);
        const typed = name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2);
        expect(nearest(typed, optionNames)).toBe(name);
      }),
    );
  });
});
