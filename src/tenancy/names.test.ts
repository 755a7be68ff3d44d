// Names: validation and comparison.
import { assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deploymentNameProblem, displayName, quoteName } from './names.ts';
import { nameKey, organizationName } from './organizations/organizations.ts';

describe('the name of an organization', () => {
  it.each([
    'acme-corp',
    'Acme Corp. (Zürich)',
    '3M',
    '株式会社',
    'a'.repeat(100),
    'O’Neil & Søns',
    'organic',
  ])('may be %s', (name) => expect(organizationName(name)).toBe(name));

  it('is normalized', () => {
    expect(organizationName('Zu\u0308rich')).toBe('Zürich');
    expect(organizationName('u\u0308'.repeat(100))).toHaveLength(100);
  });

  it.each([
    ['nothing', ''],
    ['spaces', '   '],
    ['a space before', ' acme'],
    ['a space behind', 'acme '],
    ['101 characters', 'a'.repeat(101)],
    ['10,000 characters', 'a'.repeat(10_000)],
    ['101 characters of two units', '𝒜'.repeat(101)],
    ['a line break', 'ac\nme'],
    ['NUL', 'ac\0me'],
    ['an escape', 'ac\u001b[31mme'],
    ['a zero width space', 'ac\u200bme'],
    ['a zero width joiner', 'ac\u200dme'],
    ['text from right to left', 'ac\u202eme'],
    ['a byte order mark', '\ufeffacme'],
    ['half a character', 'ac\ud800me'],
    ['a space that does not break', 'ac\u00a0me'],
    ['a line separator', 'ac\u2028me'],
    ['a filler that shows nothing', 'ac\u3164me'],
    ['an empty braille pattern', 'ac\u2800me'],
    ['a variation selector', 'ac\ufe0fme'],
    ['a private character', 'ac\ue000me'],
    ['a tag', 'ac\u{e0041}me'],
    ['dots', '..'],
    ['signs only', '&-!'],
    ['a slash', 'acme/eu'],
    ['a backslash', 'acme\\eu'],
    ['an id', 'org_a1b2c3d4e5f6g7h8'],
    ['the beginning of an id', 'ORG_x'],
    ['the beginning of an id, wide', 'ｏｒｇ_x'],
  ])('is rejected with %s', (_what, name) => {
    const rejected = () => organizationName(name);
    expect(rejected).toThrowError(expect.objectContaining({ code: 'INPUT_INVALID' }));
    expect(rejected).toThrow(/name: must/);
    expect(rejected).toThrow(/^.{1,200}$/);
  });
});

it('a key may have names that an organization may not', () => {
  expect(displayName('ci/cd')).toBe('ci/cd');
  expect(() => displayName('')).toThrow('name: must not be empty');
});

describe('the name of a deployment', () => {
  it.each(['invoices', 'Invoices_2.v3-b', '7', 'x'.repeat(100)])('may be %s', (name) =>
    expect(deploymentNameProblem(name)).toBeNull(),
  );

  it.each([
    '',
    '.',
    '..',
    '-x',
    '_x',
    'a b',
    'a/b',
    'a%2fb',
    'ä',
    'a\n',
    '\u202ea',
    'x'.repeat(101),
    'x?y',
    'x#',
    '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
    '0195A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B',
  ])('is rejected: %j', (name) => expect(deploymentNameProblem(name)).toMatch(/^must /));
});

describe('the key of a name', () => {
  it('is idempotent for any name', () => {
    assert(property(string({ unit: 'grapheme' }), (name) => nameKey(nameKey(name)) === nameKey(name)));
  });

  it.each(['STRASSE', 'Straße', 'STRAẞE'])('is the same for every spelling of sharp s: %s', (name) =>
    expect(nameKey(name)).toBe('strasse'),
  );

  it('is the same for other spellings of a name', () => {
    assert(
      property(string({ unit: 'grapheme' }), (name) => {
        const key = nameKey(name);
        return key === nameKey(name.normalize('NFD')) && key === nameKey(name.normalize('NFKC'));
      }),
    );
  });

  it('differs for different names', () => {
    expect(nameKey('acme')).not.toBe(nameKey('acmé'));
    expect(nameKey('a b')).not.toBe(nameKey('ab'));
  });
});

it('a quoted name is short and safe on a terminal', () => {
  expect(quoteName('x'.repeat(10_000)).length).toBeLessThan(70);
  expect(quoteName('a\u001b]0;"\ud800')).toBe('"a�]0;\\"�"');
});
