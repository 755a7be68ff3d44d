import { describe, expect, it } from 'vitest';
import type { StructuredMention } from '../reading/types.ts';
import { cleanMentions, contentHash, parseText } from './parse-text.ts';

const ann = (relation: string, contextClues: StructuredMention['contextClues']): StructuredMention => ({
  surfaceForm: 'Ann Lee',
  type: 'person',
  relation,
  contextClues,
});

describe('structured mentions', () => {
  it('mention a person once per relation, without the unspecified one, with all clues', () => {
    const record = ann('person', { email: 'ann@x.org', role: 'Analyst' });
    const given = [record, ann('user', { email: 'Ann@x.org' }), ann('owner', { email: 'ann@x.org' }), record];
    expect(cleanMentions(given).mentions).toEqual([
      ann('user', { email: 'ann@x.org', role: 'Analyst' }),
      ann('owner', { email: 'ann@x.org', role: 'Analyst' }),
    ]);
    expect(cleanMentions([record, record]).mentions).toEqual([record]);
  });

  it('keep two people of one name with different addresses', () => {
    const two = [ann('person', { email: 'ann@x.org' }), ann('owner', { email: 'ann@y.org' })];
    expect(cleanMentions(two).mentions).toEqual(two);
  });
});

describe('contentHash', () => {
  const content = {
    type: 'note',
    title: 'Boat',
    text: 'We bought the boat.',
    mentions: [ann('author', { email: 'ann@x.org' })],
  } as const;

  it('never changes for equal content: a change would re-read and re-bill every stored document', () => {
    expect(contentHash(content)).toBe('57ff432056ff55d94e409e906c07af0765572717c7bae3920f901a089640e5dd');
  });

  it('covers type, title, mentions and text', () => {
    const others = [
      { ...content, type: 'doc' as const },
      { ...content, title: 'Ship' },
      { ...content, mentions: [] },
      { ...content, text: 'We sold the boat.' },
    ];
    const hashes = [content, ...others].map(contentHash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe('metadata', () => {
  it('loses the reserved keys, under which the parser stores its own', () => {
    const content = { text: '{"owner": "Ann Lee", "note": "We bought the boat."}' };
    const given = { mentions: 'x', data: 'x', mentions_truncated: 9, color: 'red' };
    expect(parseText({ content, metadata: given }).metadata).toEqual({ color: 'red', data: 'lines' });
  });
});
