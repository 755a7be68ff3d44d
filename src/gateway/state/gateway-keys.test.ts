// Gateway keys: shown once, stored as a hash, rejected when expired or revoked.
import { describe, expect, it } from 'vitest';
import { seededIds, seededRandom } from '../../core/index.ts';
import type { GatewayKeyStore } from '../stores.ts';
import { moment } from '../../../test/support/gateway/examples.ts';
import { GatewayKeys } from './gateway-keys.ts';
import { stateWorld } from '../../../test/support/gateway/state-world.ts';

const plain = { name: 'ci', expiresAt: null };

describe('GatewayKeys', () => {
  it('creates a key that is shown once and stored as a hash', async () => {
    const { open, memory } = stateWorld();
    const { keys } = await open();
    const { key, record } = await keys.create({ ...plain, tokensPerDay: 5 });
    expect(key).toMatch(/^hwk_[\w-]{43}$/);
    expect(record).toMatchObject({ name: 'ci', prefix: key.slice(0, 10), tokensPerDay: 5, revokedAt: null });
    expect(keys.check(key)).toEqual({ kind: 'valid', key: record });
    expect(keys.list()).toEqual([record]);
    expect(JSON.stringify([await memory.keys.list(), record])).not.toContain(key.slice(10));
  });

  it('rejects unknown keys, and reports the reason only for a known key', async () => {
    const { keys } = await stateWorld().open();
    const { key } = await keys.create(plain);
    for (const wrong of [
      '',
      'hwk_',
      key.slice(0, -1),
      `${key}x`,
      key.replace('hwk_', 'hwx_'),
      `hwk_${'a'.repeat(43)}`,
    ])
      expect(keys.check(wrong)).toBeNull();
    expect(keys.check(key)?.kind).toBe('valid');
  });

  it('rejects a key from the moment it expires', async () => {
    const { open, clock } = stateWorld();
    const { keys } = await open();
    const { key } = await keys.create({ ...plain, expiresAt: new Date(moment(1_000)) });
    await clock.advance(999);
    expect(keys.check(key)?.kind).toBe('valid');
    await clock.advance(1);
    expect(keys.check(key)).toEqual({ kind: 'expired' });
  });

  it('shares created and revoked keys between processes', async () => {
    const world = stateWorld();
    const [one, two] = [await world.open(), await world.open()];
    const { key, record } = await one.keys.create(plain);
    await world.clock.advance(0);
    expect(two.keys.check(key)).toEqual({ kind: 'valid', key: record });
    await two.keys.revoke(record.id);
    expect(two.keys.check(key)).toEqual({ kind: 'revoked' });
    await world.clock.advance(0);
    expect(one.keys.check(key)).toEqual({ kind: 'revoked' });
    expect(one.keys.list()).toMatchObject([{ revokedAt: new Date(moment(0)) }]);
    await expect(one.keys.revoke('nonsense')).rejects.toMatchObject({ code: 'GATEWAY_KEY_NOT_FOUND' });
  });

  it('keeps a key revoked when an older read completes later', async () => {
    const { parts, memory, clock } = stateWorld();
    const store: GatewayKeyStore = {
      add: (key) => memory.keys.add(key),
      list: async () => {
        const found = await memory.keys.list();
        await clock.sleep(10);
        return found;
      },
      revoke: (id, at) => memory.keys.revoke(id, at),
      setLimits: (id, limits) => memory.keys.setLimits(id, limits),
    };
    const ids = seededIds(seededRandom(1), () => clock.now());
    const keys = new GatewayKeys({ ...parts, store, ids });
    const { key, record } = await keys.create(plain);
    const read = keys.reload.refresh();
    await clock.advance(5);
    await keys.revoke(record.id);
    await clock.advance(10);
    await read;
    expect(keys.check(key)).toEqual({ kind: 'revoked' });
  });

  it('verifies from memory while the store is unavailable, and creates no key then', async () => {
    const { open, goAway } = stateWorld();
    const { keys } = await open();
    const { key } = await keys.create(plain);
    goAway();
    expect(keys.check(key)?.kind).toBe('valid');
    await expect(keys.create(plain)).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(keys.list()).toHaveLength(1);
  });
});
