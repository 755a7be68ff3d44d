import { describe, expect, it } from 'vitest';
import { readByRules } from '../reading/rules-reader.ts';
import { DocumentModel } from './document.ts';
import { isProse, maskData, readJsonDocument } from './json.ts';

const proseLines = (value: unknown): readonly string[] => {
  const { text, data } = readJsonDocument(JSON.stringify(value));
  const prose = maskData(text, data);
  expect(prose).toHaveLength(text.length);
  return prose
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
};

describe('prose of data', () => {
  it.each([
    ['description', 'Kept by Ann Lee.', true],
    ['noteText', 'Numbers are old.', true],
    ['what happened', 'Bob Ray promised to call on Monday.', true],
    ['Beschreibung', 'Anna Schmidt hat den Bericht am Montag freigegeben.', true],
    ['memo', '昨日の会議で田中さんが新しい計画を承認しました。', true],
    ['title', 'Bob Ray promised to call on Monday.', false],
    ['tiles[0].label', 'Revenue by region and by month of the year', false],
    ['created_at', '2026-03-01T10:00:00Z', false],
    ['caption', 'Weekly Sales Review For All Regions', false],
    ['sql', 'select first name from people where a is b', false],
    ['url', 'https://a.example/b c d e f g', false],
    ['value', '12 14 15 90 days 17 a 5', false],
  ])('%s: %s — %s', (path, value, expected) => {
    expect(isProse(path, value)).toBe(expected);
  });

  it('keeps sentences at their places and blanks names of fields and what is no sentence', () => {
    const record = {
      'First Name': 'Alice',
      'Created At': '2026-03-01',
      Comment: 'Bob Ray promised to send the report.',
      body: 'First line of it is here.\nSecond: it goes on as well.',
    };
    expect(proseLines(record)).toEqual([
      'Bob Ray promised to send the report.',
      'First line of it is here.',
      'Second: it goes on as well.',
    ]);
  });

  it('is all of a text that is no data, and nothing of what is broken', () => {
    expect(maskData('Note: Ann came.', undefined)).toBe('Note: Ann came.');
    const broken = readJsonDocument('{"Created At": "Ann Lee came to see us today"');
    expect(broken.data).toBe('raw');
    expect(maskData(broken.text, broken.data).trim()).toBe('');
  });

  it('lets rules find nobody whose name is the name of a field', () => {
    const rows = Array.from({ length: 20 }, (_, index) => ({
      'First Name': 'Dana',
      'Last Updated': '2026-03-01',
      OrderStatus: 'Shipped Today',
      Region: 'Northern Europe',
      comment: `Eve Adams agreed to refund order ${index}.`,
    }));
    const { text, data } = readJsonDocument(rows.map((row) => JSON.stringify(row)).join('\n'));
    const document = new DocumentModel({
      title: 'orders',
      type: 'doc',
      sourceTs: null,
      text,
      metadata: { data },
    });
    const chunk = { text, startChar: 0, heading: null };
    const { mentions, events } = readByRules({ chunk, document, caller: 'admin' });
    expect(new Set(mentions.map(({ surfaceForm }) => surfaceForm))).toEqual(new Set(['Eve Adams']));
    expect(events.length).toBeGreaterThan(0);
    for (const { evidence } of events)
      for (const { quote, startChar, endChar } of evidence)
        expect(text.slice(startChar, endChar)).toBe(quote);
  });
});
