import { describe, expect, it } from 'vitest';
import type { ReviewPair } from './match-reasons.ts';
import { alsoCompared, matchReasons } from './match-reasons.ts';

type Clues = Partial<Pick<ReviewPair['a'], 'organization' | 'email' | 'role'>>;
const side = (clues: Clues) => ({ organization: null, email: null, role: null, ...clues });
const pairOf = (reasons: unknown, a: Clues = {}, b: Clues = {}) =>
  ({ evidence: { points: 3, reasons }, a: side(a), b: side(b) }) as unknown as ReviewPair;

describe('matchReasons', () => {
  it('lists reasons for and against as sentences', () => {
    const words = matchReasons(
      pairOf(['the same name', 'cosine 0.91', 'they belong to different organizations', 'the names differ']),
    );
    expect(words.reasonsFor).toEqual(['The same name.', 'Embedding similarity 0.91.']);
    expect(words.reasonsAgainst).toEqual(['They belong to different organizations.', 'The names differ.']);
  });

  it('separates attributes of one side from differing ones', () => {
    const words = matchReasons(
      pairOf([], { organization: 'OtherCorp', role: 'CFO' }, { role: 'Engineer', email: 'a@acme.example' }),
    );
    expect(words.onOneSide).toEqual(['Organization: OtherCorp (left).', 'Email: a@acme.example (right).']);
    expect(words.reasonsAgainst).toEqual(['Role: CFO (left), Engineer (right).']);
  });

  it('ignores case, and evidence of an unknown form', () => {
    const words = matchReasons(pairOf('nothing', { role: 'Finance' }, { role: 'finance' }));
    expect(words).toEqual({ reasonsFor: [], reasonsAgainst: [], onOneSide: [] });
  });
});

describe('alsoCompared', () => {
  const entity = (name: string) => ({ ...side({}), id: name, canonical_name: name });
  const pairNamed = (a: string, b: string) =>
    ({ id: `${a} ${b}`, a: entity(a), b: entity(b) }) as unknown as ReviewPair;

  it('names the other candidates of either side', () => {
    const pairs = [pairNamed('S.', 'Sara'), pairNamed('Sam', 'S.'), pairNamed('Ann', 'Anna')];
    expect(pairs.map((pair) => alsoCompared(pair, pairs))).toEqual([
      ['S. may also be Sam.'],
      ['S. may also be Sara.'],
      [],
    ]);
  });
});
