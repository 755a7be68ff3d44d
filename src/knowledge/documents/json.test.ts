import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readByRules } from '../reading/rules-reader.ts';
import { DocumentModel } from './document.ts';
import { isProse, maskData, readJsonDocument } from './json.ts';

const people = (value: unknown) =>
  readJsonDocument(JSON.stringify(value)).mentions.map(({ surfaceForm, relation, contextClues }) => ({
    name: surfaceForm,
    relation,
    ...contextClues,
  }));

describe('JSON as a document', () => {
  it('has a line per value, a blank line between records, and long texts below their names', () => {
    const { text } = readJsonDocument(
      JSON.stringify([
        { a: { 'b: c': [1, 2] }, none: null },
        { text: 'one\r\ntwo', list: [{ x: true }] },
      ]),
    );
    expect(text).toBe('a.b c: 1\na.b c: 2\n\ntext:\n  one\n  two\nlist[0].x: true');
  });

  it('mentions people with a name and an address, and full names in person fields', () => {
    expect(
      people([
        { name: 'Alice Chen', email: 'Alice@Acme.example', role: 'CFO', company: 'Acme' },
        { assignee: 'Ray, Bob', createdBy: { firstName: 'Ana', lastName: 'de la Cruz' } },
        { name: 'Alice Chen', email: 'alice@acme.example' },
      ]),
    ).toEqual([
      {
        name: 'Alice Chen',
        relation: 'person',
        email: 'alice@acme.example',
        role: 'CFO',
        organization: 'Acme',
      },
      { name: 'Bob Ray', relation: 'assignee' },
      { name: 'Ana de la Cruz', relation: 'created_by' },
    ]);
  });

  it('accepts any visible name beside an address, and uses the address for an invisible one', () => {
    const names = [
      '王小明',
      'Madonna',
      'jane doe',
      '<b>Eve</b> Adams',
      "Robert'); DROP TABLE people;--",
      'X Æ A-12',
    ];
    const records = [...names, '\u200b\u2060'].map((name, index) => ({ name, email: `p${index}@x.org` }));
    expect(people(records).map(({ name, email }) => [name, email])).toEqual([
      ...names.map((name, index) => [name, `p${index}@x.org`]),
      ['p6@x.org', 'p6@x.org'],
    ]);
    expect(people([...names, '\u200b'].map((name) => ({ name, owner: name })))).toEqual([]);
  });

  it('does not mention things, teams or logins as people', () => {
    expect(
      people([
        { name: 'Blue Widget', price: 3 },
        { owner: 'Sales Team', assignee: 'bob', reporter: '17' },
        { name: 'Support Team', email: 'support@acme.example' },
        { 'Created At': 'Last Monday', 'First Name': 'Alice' },
      ]),
    ).toEqual([]);
  });

  it('keeps lines that are not JSON, and warns how many there are', () => {
    const { text, data, warnings } = readJsonDocument('{"a":1}\n{"a":2}\nthe log was cut off he');
    expect(text).toBe('a: 1\n\na: 2\n\n- the log was cut off he');
    expect(data).toBe('lines');
    expect(warnings).toEqual(['Lines that are not valid JSON were kept as they are: 1.']);
  });

  it.each([
    ['lists', '['.repeat(200_000) + ']'.repeat(200_000)],
    ['records', '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)],
    ['lists that never end', '['.repeat(200_000)],
    ['lines of lists', `{"a":1}\n${'['.repeat(9_000)}${']'.repeat(9_000)}`],
  ])('rejects %s nested too deeply, with a message', (_, text) => {
    expect(() => readJsonDocument(text)).toThrow(/nested more than 500 levels deep/);
  });

  it('reads any JSON, and does not count brackets in texts as nesting', () => {
    expect(readJsonDocument(JSON.stringify({ a: `"${'['.repeat(5_000)}\\` })).data).toBe('lines');
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(readJsonDocument(text).data).toBe('lines');
      }),
    );
  });
});

const proseLines = (value: unknown): readonly string[] => {
  const { text, data } = readJsonDocument(JSON.stringify(value));
  const prose = maskData(text, data);
  expect(prose).toHaveLength(text.length);
  return prose
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
};

describe('prose in data', () => {
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

  it('keeps sentences at their offsets and blanks field names and other values', () => {
    const record = {
      'First Name': 'Alice',
      'Created At': '2026-03-01',
      Comment: 'Bob Ray promised to send the report.',
      body: 'First line of it is here.\nSecond: it has more text.',
    };
    expect(proseLines(record)).toEqual([
      'Bob Ray promised to send the report.',
      'First line of it is here.',
      'Second: it has more text.',
    ]);
  });

  it('is all of a text that is not data, and nothing of invalid JSON', () => {
    expect(maskData('Note: Ann came.', undefined)).toBe('Note: Ann came.');
    const broken = readJsonDocument('{"Created At": "Ann Lee came to see us today"');
    expect(broken.data).toBe('raw');
    expect(maskData(broken.text, broken.data).trim()).toBe('');
  });

  it('keeps rules from finding a person in the name of a field', () => {
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
    const { mentions, events } = readByRules({ chunk, document });
    expect(new Set(mentions.map(({ surfaceForm }) => surfaceForm))).toEqual(new Set(['Eve Adams']));
    expect(events.length).toBeGreaterThan(0);
    for (const { evidence } of events)
      for (const { quote, startChar, endChar } of evidence)
        expect(text.slice(startChar, endChar)).toBe(quote);
  });
});
