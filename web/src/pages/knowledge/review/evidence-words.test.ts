import { describe, expect, it } from 'vitest';
import type { ReviewPair } from './evidence-words.ts';
import { alsoCompared, evidenceWords } from './evidence-words.ts';

type Clues = Partial<Pick<ReviewPair['a'], 'organization' | 'email' | 'role'>>;
const side = (clues: Clues) => ({ organization: null, email: null, role: null, ...clues });
const pairOf = (reasons: unknown, a: Clues = {}, b: Clues = {}) =>
  ({ evidence: { points: 3, reasons }, a: side(a), b: side(b) }) as unknown as ReviewPair;

describe('evidenceWords', () => {
  it('says for and against in sentences', () => {
    const words = evidenceWords(
      pairOf(['the same name', 'cosine 0.91', 'they belong to different organizations', 'the names differ']),
    );
    expect(words.speaksFor).toEqual(['The same name.', 'Their vectors are alike (0.91 of 1).']);
    expect(words.speaksAgainst).toEqual(['They belong to different organizations.', 'The names differ.']);
  });

  it('tells what only one is known by from what differs', () => {
    const words = evidenceWords(
      pairOf([], { organization: 'OtherCorp', role: 'CFO' }, { role: 'Engineer', email: 'a@acme.example' }),
    );
    expect(words.notKnown).toEqual(['Organization: OtherCorp (left).', 'Mail: a@acme.example (right).']);
    expect(words.speaksAgainst).toEqual(['Role: CFO (left), Engineer (right).']);
  });

  it('takes what agrees but for capitals as no difference, and odd evidence as none', () => {
    const words = evidenceWords(pairOf('nothing', { role: 'Finance' }, { role: 'finance' }));
    expect(words).toEqual({ speaksFor: [], speaksAgainst: [], notKnown: [] });
  });
});

describe('alsoCompared', () => {
  const entity = (name: string) => ({ ...side({}), entity_id: name, canonical_name: name });
  const pairNamed = (a: string, b: string) =>
    ({ pair_id: `${a} ${b}`, a: entity(a), b: entity(b) }) as unknown as ReviewPair;

  it('names whom else either side is compared with, whichever side it stands on', () => {
    const pairs = [pairNamed('S.', 'Sara'), pairNamed('Sam', 'S.'), pairNamed('Ann', 'Anna')];
    expect(pairs.map((pair) => alsoCompared(pair, pairs))).toEqual([
      ['S. may also be Sam.'],
      ['S. may also be Sara.'],
      [],
    ]);
  });
});
