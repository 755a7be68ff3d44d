import { describe, expect, it } from 'vitest';
import { findWords } from './find-words.ts';

const wordsIn = (text: string, path = 'src/x.ts') => findWords(path, text).map(({ word }) => word);

describe('findWords', () => {
  it('finds dialect in prose and in identifiers of every case', () => {
    expect(wordsIn('const readWish = ledger_desk; // at the door')).toEqual(['Wish', 'desk', 'door']);
    expect(wordsIn("import './read-wish.ts'")).toEqual(['wish']);
  });

  it('finds dialect suffixes of types, and not the plain word', () => {
    expect(wordsIn('interface RoutingParts { parts: string[] }')).toEqual(['RoutingParts']);
  });

  it('finds programs that know, tell, forget or want something', () => {
    expect(wordsIn('// the server knows its limit, answers in 5 ms and tells the client')).toEqual([
      'knows',
      'answers in',
      'tells',
    ]);
    expect(wordsIn('// forgets what it remembered, wants more, talks to Redis; you want to')).toEqual([
      'forgets',
      'remembered',
      'wants',
      'talks to',
    ]);
  });

  it('finds names that are ordinary words in prose wherever code has them', () => {
    expect(wordsIn('interface Standing {} const told = ledger.hold(); function within() {}')).toEqual([
      'Standing',
      'told',
      'hold',
      'within',
    ]);
    const code = 'class Gate { leave() {} } const wait = (within: number) => ({ told: { hold: within } });';
    expect(wordsIn(code)).toEqual(['leave', 'within', 'told', 'hold', 'within']);
    expect(wordsIn('export const Page = () => <Text c={looks}>hold, or leave</Text>;', 'web/x.tsx')).toEqual([
      'looks',
    ]);
    expect(findWords('src/x.ts', '// é\n\nconst told = 1;')).toMatchObject([{ line: 3, word: 'told' }]);
    expect(wordsIn('this.#inTime(); class StoreWatch {}')).toEqual(['inTime', 'StoreWatch']);
    expect(wordsIn('// Slots hold until callers leave, within a minute. Parts of it are missing.')).toEqual(
      [],
    );
  });

  it('finds British spelling and accepts the American form', () => {
    expect(wordsIn('// the colour of cancelled behaviour')).toEqual(['colour', 'cancelled', 'behaviour']);
    expect(wordsIn('// the color of canceled behavior, analyses, organization')).toEqual([]);
  });

  it('does not match inside longer words', () => {
    expect(wordsIn('// warehouse desktop indoors greyhound unheard')).toEqual([]);
  });

  it('reports line and replacement of a word', () => {
    expect(findWords('x.md', 'a\nthe desk')).toEqual([
      { path: 'x.md', line: 2, word: 'desk', instead: 'service' },
    ]);
  });

  it('skips files that are excepted', () => {
    expect(wordsIn('the desk', 'CHANGELOG.md')).toEqual([]);
  });
});
