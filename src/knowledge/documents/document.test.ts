import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import { readByRules } from '../reading/rules-reader.ts';
import { chunkText } from './chunk.ts';
import { DocumentModel } from './document.ts';
import { parseText } from './parse-text.ts';
import { readJsonDocument } from './json.ts';

const minutes =
  'Attendees: Ann Lee (PM, Acme), Ben Roth <ben@acme.example>\nDate: 2026-03-02\n\nAnn agreed to call.';
const source = { title: 'Minutes', type: 'note', sourceTs: null, text: minutes };

describe('DocumentModel', () => {
  it('does not change the text, and masks data without moving offsets', () => {
    const { text, data } = readJsonDocument('{"id": 7, "note": "Ann Lee agreed to send the contract."}');
    const model = new DocumentModel({ ...source, text, metadata: { data } });
    expect(model.text).toBe(text);
    expect(model.prose).toHaveLength(text.length);
    const start = text.indexOf('Ann Lee');
    expect(model.prose.indexOf('Ann Lee')).toBe(start);
    expect(model.hasProse({ startChar: 0, endChar: text.indexOf('note') })).toBe(false);
    expect(model.hasProse({ startChar: start, endChar: text.length })).toBe(true);
  });

  it('treats a text that is not data as prose', () => {
    expect(new DocumentModel(source).prose).toBe(minutes);
  });

  it('annotates people, date and lower-case words once for all chunks', () => {
    const model = new DocumentModel(source);
    const { annotations } = model;
    expect(model.annotations).toBe(annotations);
    expect(annotations.roster.byPart('ann')).toEqual({
      name: 'Ann Lee',
      clues: { role: 'PM', organization: 'Acme' },
    });
    expect(annotations.roster.byEmail('ben@acme.example')?.name).toBe('Ben Roth');
    expect(annotations.date).toEqual(new Date('2026-03-02'));
    expect(annotations.lowercaseWords).toContain('agreed');
  });

  it('prefers the source date to the date in the text', () => {
    const sourceTs = new Date('2025-01-01');
    expect(new DocumentModel({ ...source, sourceTs }).annotations.date).toBe(sourceTs);
  });
});

describe('a document of 45,000 characters', () => {
  const read = (name: string, text: string): void => {
    const parsed = parseText({ content: { name, mediaType: '', text, warnings: [] } });
    const document = new DocumentModel(parsed);
    for (const chunk of chunkText(parsed.text)) readByRules({ chunk, document });
  };

  it.each([
    ['spaces behind a time', 'a.txt', `1:11${' '.repeat(45_000)}x`],
    ['spaces behind a role', 'a.txt', `Ann Lee\nmanager${' '.repeat(4_000)}.\n`.repeat(11)],
    [
      'parts of a field name',
      'a.json',
      JSON.stringify({ [`${'sql_'.repeat(11_000)}!`]: 'we met at the port' }),
    ],
    ['quotes in a word', 'a.json', JSON.stringify({ note: `a${"'".repeat(45_000)}x is a word of it` })],
    ['dots', 'a.txt', `${'.'.repeat(45_000)}x`],
    ['dashes', 'a.txt', 'a - '.repeat(11_000)],
  ])('with thousands of %s does not block the main thread (B1)', async (_, name, text) => {
    read('a.txt', 'Ann Lee met Ben.'); // loads the word list
    expect(await repeatedTaskMs(() => read(name, text))).toBeLessThan(maxTaskMs);
  });
});
