import { describe, expect, it } from 'vitest';
import { knownAs, likelyText, rangesText } from './labels.ts';

describe('likelyText', () => {
  it('never shows certainty for a pair under review', () =>
    expect([0.0004, 0.5, 0.62, 0.999].map(likelyText)).toEqual(['< 1%', '50%', '62%', '> 99%']));
});

describe('labels', () => {
  it('join adjacent chunks', () => {
    expect(rangesText([9, 2, 3, 0, 4])).toBe('0, 2–4, 9');
    expect(rangesText([])).toBe('');
  });

  it('distinguish entities of the same name', () => {
    const of = (email: string | null, organization: string | null) =>
      knownAs({ canonical_name: 'Alice Chen', email, organization });
    expect([of(null, null), of('a@x.example', null), of('a@x.example', 'Acme')]).toEqual([
      'Alice Chen',
      'Alice Chen (a@x.example)',
      'Alice Chen (Acme)',
    ]);
  });
});
