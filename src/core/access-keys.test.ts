// Keys that Headworks issues.
import { describe, expect, it } from 'vitest';
import { AccessKeyKind, KeyRegistry } from './access-keys.ts';
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
    const registry = new KeyRegistry<typeof life>(kind);
    const { key, hash } = kind.make(ids);
    registry.add(hash, life);
    registry.replace({ ...life, revokedAt: new Date(5) });
    registry.add(hash, life);
    expect(registry.find(key)?.revokedAt).toEqual(new Date(5));
    expect(registry.byId('1')).toBe(registry.find(key));
  });

  it('removes other keys, and lists the oldest first', () => {
    const registry = new KeyRegistry<typeof life>(kind);
    registry.add('gone', { ...life, id: '0' });
    registry.keepOnly(
      new Map([
        ['young', { ...life, id: '3', createdAt: new Date(3) }],
        ['old', { ...life, id: '2', createdAt: new Date(2) }],
      ]),
    );
    expect(registry.list().map(({ id }) => id)).toEqual(['2', '3']);
    expect(registry.byId('0')).toBeUndefined();
  });

  it('rejects a key from the moment it expires, and when it was revoked', () => {
    const checkAt = (now: number, expiresAt: Date | null, revokedAt: Date | null = null) => {
      const registry = new KeyRegistry<Omit<typeof life, 'expiresAt'> & { expiresAt: Date | null }>(kind);
      const { key, hash } = kind.make(ids);
      registry.add(hash, { ...life, expiresAt, revokedAt });
      expect(registry.check(`${key}x`, now)).toBeNull();
      return registry.check(key, now)?.kind;
    };
    expect(checkAt(999, new Date(1_000))).toBe('valid');
    expect(checkAt(1_000, new Date(1_000))).toBe('expired');
    expect(checkAt(1_000, new Date(1_000), new Date(0))).toBe('revoked');
    expect(checkAt(1e15, null)).toBe('valid');
  });
});
