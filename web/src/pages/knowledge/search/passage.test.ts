import { describe, expect, it } from 'vitest';
import { passageOf } from './passage.ts';

const filler = (words: number): string => 'lorem '.repeat(words);
const markOf = (text: string, word: string) => {
  const start = text.indexOf(word);
  return { start, end: start + word.length };
};
const markedIn = ({ text, marks }: ReturnType<typeof passageOf>): readonly string[] =>
  marks.map(({ start, end }) => text.slice(start, end));

describe('passageOf', () => {
  it('returns a short text unchanged', () => {
    const passage = passageOf('The launch moved.', [{ start: 4, end: 10 }]);
    expect(passage).toMatchObject({ text: 'The launch moved.', isCutBefore: false, isCutAfter: false });
  });

  it('selects the excerpt with the most matches', () => {
    const text = `${filler(30)}launch ${filler(100)}the launch of the pricing page moved ${filler(100)}`;
    const second = text.indexOf('the launch of');
    const marks = [
      markOf(text, 'launch'),
      { start: second + 4, end: second + 10 },
      markOf(text, 'pricing'),
      markOf(text, 'moved'),
    ];
    const passage = passageOf(text, marks);
    expect(markedIn(passage)).toEqual(['launch', 'pricing', 'moved']);
    expect(passage).toMatchObject({ isCutBefore: true, isCutAfter: true });
    expect(passage.text.length).toBeLessThanOrEqual(360);
    expect(passage.text).toMatch(/^lorem .* lorem$/s);
  });

  it('starts at the beginning without matches', () => {
    const passage = passageOf(filler(200), []);
    expect(passage).toMatchObject({ isCutBefore: false, isCutAfter: true, marks: [] });
  });

  it('reaches the end of the text', () => {
    const text = `${filler(200)}launch`;
    const passage = passageOf(text, [markOf(text, 'launch')]);
    expect(markedIn(passage)).toEqual(['launch']);
    expect(passage.isCutAfter).toBe(false);
  });
});
