// Keys that Headworks issues.
import { describe, expect, it } from 'vitest';
import { AccessKeyKind, KeyRegistry, keyRefusal } from './access-keys.ts';
import { seededIds, seededRandom } from './ids.ts';

const ids = seededIds(seededRandom(1), () => 0);
const kind = new AccessKeyKind('a.b_');
const life = {
  id: '1',
  createdAt: new Date(1),
  expiresAt: null,
  revokedAt: null as Date | null,
};

describe('AccessKeyKind', () => {
  it('creates keys that only the same kind accepts', () => {
    const { key, prefix, hash } = kind.make(ids);
    expect(key).toMatch(/^a\.b_[\w-]{43}$/);
    expect(prefix).toBe(key.slice(0, 10));
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(kind.hashOf(key)).toBe(hash);
    for (const wrong of ['', key.slice(1), `${key}x`, `${key}\n`, key.replace('.', 'x')])
      expect(kind.hashOf(wrong)).toBeUndefined();
  });
});

describe('KeyRegistry', () => {
  it('keeps a revoked key revoked', () => {
    const book = new KeyRegistry<typeof life>(kind);
    const { key, hash } = kind.make(ids);
    book.learn(hash, life);
    book.replace({ ...life, revokedAt: new Date(5) });
    book.learn(hash, life);
    expect(book.find(key)?.revokedAt).toEqual(new Date(5));
    expect(book.byId('1')).toBe(book.find(key));
  });

  it('removes other keys, and lists the oldest first', () => {
    const book = new KeyRegistry<typeof life>(kind);
    book.learn('gone', { ...life, id: '0' });
    book.keepOnly(
      new Map([
        ['young', { ...life, id: '3', createdAt: new Date(3) }],
        ['old', { ...life, id: '2', createdAt: new Date(2) }],
      ]),
    );
    expect(book.list().map(({ id }) => id)).toEqual(['2', '3']);
    expect(book.byId('0')).toBeUndefined();
  });
});

it('rejects a key from the moment it expires, and when it was revoked', () => {
  const expiresAt = new Date(1_000);
  expect(keyRefusal({ expiresAt, revokedAt: null }, 999)).toBeUndefined();
  expect(keyRefusal({ expiresAt, revokedAt: null }, 1_000)).toBe('expired');
  expect(keyRefusal({ expiresAt, revokedAt: new Date(0) }, 1_000)).toBe('revoked');
  expect(keyRefusal({ expiresAt: null, revokedAt: null }, 1e15)).toBeUndefined();
});
