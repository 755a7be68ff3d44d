import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isUuid, seededIds, seededRandom, uuidV7, AccessKeyKind, KeyRegistry } from './ids.ts';

const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });
const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });

describe('uuidV7', () => {
  it('has the layout of RFC 9562: time, version 7, variant 10', () => {
    fc.assert(
      fc.property(time, bytes, (now, random) => {
        const uuid = uuidV7(now, random);
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)).toBe(now);
      }),
    );
  });

  it('sorts by time', () => {
    fc.assert(
      fc.property(time, time, bytes, bytes, (first, second, a, b) => {
        fc.pre(first !== second);
        expect(uuidV7(first, a) < uuidV7(second, b)).toBe(first < second);
      }),
    );
  });

  it('uses every random bit that is not version or variant', () => {
    const zero = new Uint8Array(10);
    const ids = new Set([uuidV7(0, zero)]);
    let usable = 0;
    for (let bit = 0; bit < 80; bit += 1) {
      const flipped = Uint8Array.from(zero);
      flipped[bit >> 3] = 1 << (bit & 7);
      const id = uuidV7(0, flipped);
      if (!ids.has(id)) usable += 1;
      ids.add(id);
    }
    expect(usable).toBe(74);
  });
});

describe('isUuid', () => {
  it('distinguishes ids from other text', () => {
    expect(isUuid(uuidV7(0, new Uint8Array(10)))).toBe(true);
    for (const text of [
      '',
      'nonsense',
      `${uuidV7(0, new Uint8Array(10))}\n`,
      `x${uuidV7(0, new Uint8Array(10))}`,
    ])
      expect(isUuid(text)).toBe(false);
  });
});

describe('seededIds', () => {
  it('returns the same ids for the same seed, each once', () => {
    const make = () => seededIds(seededRandom(5), () => 1_700_000_000_000);
    const ids = make();
    const first = Array.from({ length: 1_000 }, () => ids.uuid());
    expect(new Set(first).size).toBe(1_000);
    const again = make();
    expect(Array.from({ length: 1_000 }, () => again.uuid())).toEqual(first);
  });

  it('creates tokens of the given length', () => {
    const token = seededIds(seededRandom(5), () => 0).token(32);
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect(token).toMatch(/^[\w-]+$/);
  });
});

const take = (seed: number, count: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.next());
};

describe('seededRandom', () => {
  it('returns the same numbers for the same seed and others for another', () => {
    expect(take(1, 20)).toEqual(take(1, 20));
    expect(take(1, 20)).not.toEqual(take(2, 20));
  });

  it('stays in [0, 1) and spreads evenly', () => {
    const numbers = take(42, 20_000);
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    const tenths = Array.from({ length: 10 }, () => 0);
    for (const number of numbers)
      tenths[Math.floor(number * 10)] = (tenths[Math.floor(number * 10)] ?? 0) + 1;
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(200);
  });
});

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
