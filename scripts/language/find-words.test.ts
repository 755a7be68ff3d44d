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

  it('finds British spelling and accepts the American form', () => {
    expect(wordsIn('the colour of cancelled behaviour')).toEqual(['colour', 'cancelled', 'behaviour']);
    expect(wordsIn('the color of canceled behavior, analyses, organization')).toEqual([]);
  });

  it('does not match inside longer words', () => {
    expect(wordsIn('warehouse desktop indoors greyhound unheard')).toEqual([]);
  });

  it('reports line and replacement of a word', () => {
    expect(findWords('src/x.ts', 'a\nthe desk')).toEqual([
      { path: 'src/x.ts', line: 2, word: 'desk', instead: 'service' },
    ]);
  });

  it('skips files that are excepted', () => {
    expect(wordsIn('the desk', 'CHANGELOG.md')).toEqual([]);
  });
});
