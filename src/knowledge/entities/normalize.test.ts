import { describe, expect, it } from 'vitest';
import { isUnnamed, unnamedEntityName, normalizeName, visibleName } from './normalize.ts';

describe('normalizeName', () => {
  it('normalizes case, accents, order, titles and invisible characters of person names', () => {
    for (const name of [
      'Alice Chen',
      'ALICE  CHEN',
      'Chen, Alice',
      'Dr. Alice Chen',
      'Ms Alice Chen, PhD',
      'Alicé Chén',
      'Alice\u200b\u00a0Chen\u202e',
      'Alice Chen’s',
      'alice.chen@acme.com',
      '@alice.chen',
      'alice_chen',
    ])
      expect(normalizeName(name, 'person'), name).toBe('alice chen');
    expect(normalizeName('O’Brien, Łukasz', 'person')).toBe('lukasz obrien');
    expect(normalizeName('John Smith, Jr.', 'person')).toBe('john smith jr');
    expect(normalizeName('Dr.', 'person')).toBe('dr');
  });

  it('unifies company forms and keeps them', () => {
    expect(normalizeName('Acme Corporation', 'organization')).toBe('acme corp');
    expect(normalizeName('ACME, Corp.', 'organization')).toBe('acme corp');
    expect(normalizeName('Acme GmbH', 'organization')).toBe('acme gmbh');
    expect(normalizeName('Smith & Sons', 'organization')).toBe('smith and sons');
  });

  it('keeps distinctive characters: trailing signs, other scripts, emoji', () => {
    expect(normalizeName('C++', 'object')).not.toBe(normalizeName('C#', 'object'));
    expect(normalizeName('हिन्दी', 'other')).toBe('हिन्दी');
    expect(normalizeName('🚀', 'project')).toBe('🚀');
    expect(normalizeName('!!!', 'project')).toBe('!!!');
  });

  it('never returns an empty key, and limits long ones without collisions', () => {
    for (const name of ['', '   ', '\u200b\u200d\ufeff', '\0\u0007', '\ud800', '\u3164']) {
      expect(isUnnamed(name)).toBe(true);
      expect(visibleName(name)).toBe(unnamedEntityName);
      expect(normalizeName(name, 'person')).toBe(unnamedEntityName);
    }
    const long = 'x'.repeat(5_000);
    expect(normalizeName(`${long}a`, 'other')).not.toBe(normalizeName(`${long}b`, 'other'));
    expect(normalizeName(long, 'other').length).toBeLessThanOrEqual(300);
    expect(visibleName('a\0b\u0007c\nd')).toBe('abc d');
  });
});
