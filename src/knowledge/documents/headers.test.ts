import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import { readMailHead, readTextHead } from './headers.ts';

describe('the headers of a plain text', () => {
  it.each([
    ['2026-03-09', '2026-03-09T00:00:00Z'],
    ['March 9, 2026', '2026-03-09T00:00:00Z'],
    ['Monday, 9 March 2026 at 4 pm', '2026-03-09T00:00:00Z'],
    ['Mon, 9 Mar 2026 09:30:00 +0100', '2026-03-09T08:30:00Z'],
    ['2026-03-09T09:30:00Z', '2026-03-09T09:30:00Z'],
    ['2026-03-09 09:30', '2026-03-09T00:00:00Z'],
  ])('have the date %s in every time zone', (date, moment) => {
    expect(readTextHead(`Subject: Launch\nDate: ${date}\n\nHello.`)).toEqual({
      subject: 'Launch',
      date: new Date(moment),
      isMail: false,
    });
  });

  it('are those of an email with a sender and a recipient, with or without a blank line after them', () => {
    const mail = { subject: 'Launch', date: null, isMail: true };
    expect(readTextHead('From: Ann\r\nTo: Bob\r\nSubject: Launch\r\n\r\nSubject: quoted')).toEqual(mail);
    expect(
      readTextHead('SUBJECT: Launch\nFrom: Ann\nTo: Bob\nDate: soon\nHello Bob,\nDate: 2026-03-09'),
    ).toEqual(mail);
    expect(readTextHead('From: Ann\nDate: 2026-03-09\nSubject: Launch\nSubject: again')).toMatchObject({
      subject: 'Launch',
      isMail: false,
    });
  });

  it('have the date below a Markdown heading, also as the only line', () => {
    const dated = { subject: null, date: new Date('2026-03-02T00:00:00Z'), isMail: false };
    expect(readTextHead('# Kickoff\n\nDate: 2026-03-02\nAttendees: Ann\n\n## Decisions')).toEqual(dated);
    expect(readTextHead('\r\n## Kickoff ##\r\nDate: March 2, 2026\r\n\r\nText.')).toEqual(dated);
  });

  it.each([
    ['a heading without a date', '# Kickoff\n\nDate: soon\n\nText.'],
    ['a heading with the date elsewhere', '# Kickoff\n\nWe met.\nDate: 2026-03-02'],
    ['a heading alone', '# Kickoff'],
    ['one line only', 'Subject: Launch\n\nHello.'],
    ['prose', 'We met.\nSubject: Launch\nDate: 2026-03-09'],
    ['talk', 'Ann: Hello.\nBob: Hi.\nDate: 2026-03-09'],
    ['nothing', ''],
  ])('are not found in %s', (_, text) => {
    expect(readTextHead(text)).toBeNull();
  });
});

describe('the headers of an email', () => {
  const named = (field: string) =>
    readMailHead(`From: ${field}`).mentions.map(({ surfaceForm, contextClues: { email = '' } }) => [
      surfaceForm,
      email,
    ]);

  it.each([
    ['ann@x.org', [['ann@x.org', 'ann@x.org']]],
    [
      '"Lee, Ann" <Ann@x.org>, ben@x.org',
      [
        ['Lee, Ann', 'ann@x.org'],
        ['ben@x.org', 'ben@x.org'],
      ],
    ],
    [
      'Ann Lee <ann@x.org>, Ben <ben@x.org>',
      [
        ['Ann Lee', 'ann@x.org'],
        ['Ben', 'ben@x.org'],
      ],
    ],
    [
      'ann@x.org, Ben <ben@x.org>, carl@x.org',
      [
        ['ann@x.org', 'ann@x.org'],
        ['Ben', 'ben@x.org'],
        ['carl@x.org', 'carl@x.org'],
      ],
    ],
    ['someone', []],
    ['@', []],
  ])('list the people of %s', (field, expected) => expect(named(field)).toEqual(expected));

  /** What the fields were read with before; it takes cubic time. */
  const slow = /([^,<>\s]+@[^,<>\s]+)(?:,\s*|$)|(.*?)\s*<([^<>]*)>(?:,\s*|$)/g;

  it('list the same people as a regular expression does', () => {
    const fields = fc.string({
      unit: fc.constantFrom('a', 'B', '@', '<', '>', ',', ' ', '"'),
      maxLength: 16,
    });
    fc.assert(
      fc.property(fields, (given) => {
        const field = `x${given}`.trim();
        const expected = [...field.matchAll(slow)].flatMap(([, bare, name = '', address = '']) => {
          const email = (bare ?? address).trim().toLowerCase();
          const shown = name.trim().replace(/^["']|["']$/g, '');
          const surfaceForm = shown === '' ? email : shown;
          return surfaceForm === '' ? [] : [[surfaceForm, email]];
        });
        expect(named(field)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['spaces', `From: x${' '.repeat(100_000)}y`],
    ['angle brackets', `From: ${'< '.repeat(100_000)}y`],
    ['at signs', `From: ${'a@'.repeat(100_000)} y`],
    ['names', `To: ${'x, '.repeat(100_000)} y`],
    ['times', `Subject: x\nDate: ${'1:11 '.repeat(100_000)}`],
  ])('with a hundred thousand %s do not block the main thread (B1)', async (_, text) => {
    expect(await repeatedTaskMs(() => (readMailHead(text), readTextHead(text)))).toBeLessThan(maxTaskMs);
  });
});
