import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJsonDocument } from './json.ts';

const people = (value: unknown) =>
  readJsonDocument(JSON.stringify(value)).mentions.map(({ surfaceForm, relation, contextClues }) => ({
    name: surfaceForm,
    relation,
    ...contextClues,
  }));

describe('JSON as a document', () => {
  it('has a line for each value, records parted by blank lines, long texts below their names', () => {
    const { text } = readJsonDocument(
      JSON.stringify([
        { a: { 'b: c': [1, 2] }, none: null },
        { text: 'one\r\ntwo', list: [{ x: true }] },
      ]),
    );
    expect(text).toBe('a.b c: 1\na.b c: 2\n\ntext:\n  one\n  two\nlist[0].x: true');
  });

  it('names those who have a name and an address, and those whom a field names in full', () => {
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

  it('takes whatever shows beside an address for a name, and the address where nothing shows', () => {
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

  it('takes neither things nor teams nor logins for people', () => {
    expect(
      people([
        { name: 'Blue Widget', price: 3 },
        { owner: 'Sales Team', assignee: 'bob', reporter: '17' },
        { name: 'Support Desk', email: 'support@acme.example' },
        { 'Created At': 'Last Monday', 'First Name': 'Alice' },
      ]),
    ).toEqual([]);
  });

  it('keeps a line that is no JSON, and says how many there are', () => {
    const { text, data, warnings } = readJsonDocument('{"a":1}\n{"a":2}\nthe log was cut off he');
    expect(text).toBe('a: 1\n\na: 2\n\n- the log was cut off he');
    expect(data).toBe('lines');
    expect(warnings).toEqual(['Lines of it that are no valid JSON were kept as they are: 1.']);
  });

  it.each([
    ['lists', '['.repeat(200_000) + ']'.repeat(200_000)],
    ['records', '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)],
    ['lists that never end', '['.repeat(200_000)],
    ['lines of lists', `{"a":1}\n${'['.repeat(9_000)}${']'.repeat(9_000)}`],
  ])('refuses %s nested without end, with a sentence', (_, text) => {
    expect(() => readJsonDocument(text)).toThrow(/nested more than 500 levels deep/);
  });

  it('reads any JSON, and brackets in texts are no nesting', () => {
    expect(readJsonDocument(JSON.stringify({ a: `"${'['.repeat(5_000)}\\` })).data).toBe('lines');
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(readJsonDocument(text).data).toBe('lines');
      }),
    );
  });
});
