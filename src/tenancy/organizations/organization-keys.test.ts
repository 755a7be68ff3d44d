// Keys: shown once, known by their hash, refused when expired or revoked, worth nothing to anybody else.
import { describe, expect, it } from 'vitest';
import { moment } from '../../../test/support/tenancy/examples.ts';
import { tenantWorld } from '../../../test/support/tenancy/tenant-world.ts';

const plain = { name: 'ci', expiresAt: null };

async function setUp() {
  const world = tenantWorld();
  const tenants = await world.open();
  const acme = await tenants.organizations.add('acme');
  const other = await tenants.organizations.add('other');
  return { world, ...tenants, acme, other };
}

describe('OrganizationKeys', () => {
  it('are shown once and kept as a hash', async () => {
    const { world, keys, acme } = await setUp();
    const { key, record } = await keys.create('acme', plain);
    expect(key).toMatch(/^hwo_[\w-]{43}$/);
    expect(record).toMatchObject({ organizationId: acme.id, name: 'ci', prefix: key.slice(0, 10) });
    expect(keys.organizationOf(key)).toBe(acme.id);
    expect(keys.refusal(key)).toBeNull();
    expect(keys.list(acme.id)).toEqual([record]);
    const kept = JSON.stringify([await world.stores.keys.list(), keys.list('acme')]);
    expect(kept).not.toContain(key.slice(10));
  });

  it('belong to one organization, and another cannot even tell that they exist', async () => {
    const { keys } = await setUp();
    const { record } = await keys.create('acme', plain);
    expect(keys.list('other')).toEqual([]);
    const foreign = await keys.revoke('other', record.id).catch((error: Error) => error);
    const unknown = await keys.revoke('other', '0195a1b2-c3d4-7e5f-8a9b-000000000000').catch((e: Error) => e);
    expect(foreign).toMatchObject({ code: 'NOT_FOUND' });
    const without = (error: unknown) => (error as Error).message.replace(/"[0-9a-f-]{36}"/, 'ID');
    expect(without(foreign)).toBe(without(unknown));
    expect(keys.list('acme')).toMatchObject([{ revokedAt: null }]);
  });

  it('are not known when they are wrong in the least', async () => {
    const { keys } = await setUp();
    const { key } = await keys.create('acme', plain);
    const wrongs = [
      '',
      'hwo_',
      key.slice(0, -1),
      `${key}x`,
      key.replace('hwo_', 'hwk_'),
      `hwo_${'a'.repeat(43)}`,
    ];
    for (const wrong of wrongs)
      expect([keys.organizationOf(wrong), keys.refusal(wrong)]).toEqual([null, null]);
  });

  it('are refused from the moment they expire, and only their holder hears why', async () => {
    const { world, keys, acme } = await setUp();
    const { key } = await keys.create('acme', { name: 'ci', expiresAt: moment(1_000) });
    await world.clock.advance(999);
    expect(keys.organizationOf(key)).toBe(acme.id);
    await world.clock.advance(1);
    expect(keys.organizationOf(key)).toBeNull();
    expect(keys.refusal(key)).toBe('expired');
  });

  it('are revoked for good, in all processes', async () => {
    const { world, keys } = await setUp();
    const two = await world.open();
    const { key, record } = await keys.create('acme', plain);
    await world.clock.advance(0);
    await two.keys.revoke('acme', record.id);
    expect(two.keys.refusal(key)).toBe('revoked');
    await world.clock.advance(0);
    expect(keys.refusal(key)).toBe('revoked');
    await world.clock.advance(10);
    expect((await keys.revoke('acme', record.id)).revokedAt).toEqual(moment(0));
  });

  it.each([
    ['a name of nothing', { ...plain, name: '' }, /name: must not be empty/],
    ['a name that cannot be seen', { ...plain, name: '\u200b' }, /name: must hold no control/],
    ['an end that is over', { ...plain, expiresAt: moment(0) }, /expires_at: must lie in the future/],
    ['an end that is no time', { ...plain, expiresAt: new Date(Number.NaN) }, /expires_at: must lie/],
  ])('are not made with %s', async (_what, wish, message) => {
    const { keys } = await setUp();
    await expect(keys.create('acme', wish)).rejects.toThrow(message);
    expect(keys.list('acme')).toEqual([]);
  });

  it('are checked from memory while the store is away', async () => {
    const { world, keys, acme } = await setUp();
    const { key } = await keys.create('acme', plain);
    world.goAway();
    expect(keys.organizationOf(key)).toBe(acme.id);
    await expect(keys.create('acme', plain)).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    world.comeBack();
    await world.clock.advance(20_000);
    expect(keys.list('acme')).toHaveLength(1);
  });

  it('open nothing once their organization is known to be gone, even if news of the keys got lost', async () => {
    const { world, keys, organizations, acme } = await setUp();
    const { key } = await keys.create('acme', plain);
    const { changes } = world.stores;
    const halfDeaf = {
      isShared: true,
      watch: (onChange: (topic: 'organizations') => void) =>
        changes.watch((topic) => topic === 'organizations' && onChange(topic)),
    };
    const two = await world.open({ stores: { ...world.stores, changes: halfDeaf } });
    expect(two.keys.organizationOf(key)).toBe(acme.id);
    await organizations.remove('acme');
    await world.clock.advance(0);
    expect(two.keys.organizationOf(key)).toBeNull();
  });
});
