import { describe, expect, it } from 'vitest';
import { nearNames } from './near-names.ts';

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

  it('are three at most, those that hold what was typed first', () => {
    const many = ['xabcx', 'abdc', 'abc-1', 'abc-22', 'abc-333', 'ab-c'];
    expect(nearNames('abc', many)).toEqual(['ab-c', 'abc-1', 'abc-22']);
  });
});
