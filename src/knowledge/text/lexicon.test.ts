import { describe, expect, it } from 'vitest';
import { isAmbiguousName, isEveryday, isGivenName, wordKind } from './lexicon.ts';

describe('the lexicon of compromise', () => {
  it('has the same kinds after an upgrade: they change what rules read', () => {
    const words = ['alice', 'smith', 'berlin', 'microsoft', 'decide', 'decided', 'quick', 'the', 'zorblax'];
    expect(words.map((word) => [word, wordKind(word)])).toEqual([
      ['alice', 'given'],
      ['smith', 'surname'],
      ['berlin', 'place'],
      ['microsoft', 'organization'],
      ['decide', 'verb'],
      ['decided', 'past'],
      ['quick', 'adjective'],
      ['the', 'function'],
      ['zorblax', undefined],
    ]);
    expect([isAmbiguousName('grace'), isGivenName('maría'), isEveryday('launch')]).toEqual([
      true,
      true,
      true,
    ]);
  });
});
