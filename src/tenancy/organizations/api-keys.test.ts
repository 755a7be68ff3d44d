// API keys: returned once, stored as a hash, rejected when expired or revoked.
import { describe, expect, it } from 'vitest';
import { moment } from '../../../test/support/tenancy/examples.ts';
import { tenantWorld, keyProblem, organizationOf } from '../../../test/support/tenancy/tenant-world.ts';

const plain = { name: 'ci', expiresAt: null };

async function setUp() {
  const world = tenantWorld();
  const tenants = await world.open();
  const acme = await tenants.organizations.create('acme');
  const other = await tenants.organizations.create('other');
  return { world, ...tenants, acme, other };
}

describe('API keys', () => {
  it('are returned once and stored as a hash', async () => {
    const { world, keys, acme } = await setUp();
    const { key, record } = await keys.create('acme', plain);
    expect(key).toMatch(/^hwo_[\w-]{43}$/);
    expect(record).toMatchObject({ organizationId: acme.id, name: 'ci', prefix: key.slice(0, 10) });
    expect(organizationOf(keys, key)).toBe(acme.id);
    expect(keyProblem(keys, key)).toBeNull();
    expect(keys.list(acme.id)).toEqual([record]);
    const kept = JSON.stringify([await world.stores.keys.list(), keys.list('acme')]);
    expect(kept).not.toContain(key.slice(10));
  });

  it('belong to one organization; another cannot detect that they exist', async () => {
    const { keys } = await setUp();
    const { record } = await keys.create('acme', plain);
    expect(keys.list('other')).toEqual([]);
    const ofOther = await keys.revoke('other', record.id).catch((error: Error) => error);
    const unknown = await keys.revoke('other', '0195a1b2-c3d4-7e5f-8a9b-000000000000').catch((e: Error) => e);
    expect(ofOther).toMatchObject({ code: 'NOT_FOUND' });
    const without = (error: unknown) => (error as Error).message.replace(/"[0-9a-f-]{36}"/, 'ID');
    expect(without(ofOther)).toBe(without(unknown));
    expect(keys.list('acme')).toMatchObject([{ revokedAt: null }]);
  });

  it('are unknown when a single character differs', async () => {
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
      expect([organizationOf(keys, wrong), keyProblem(keys, wrong)]).toEqual([null, null]);
  });

  it('are rejected from the moment they expire, with the reason for their holder only', async () => {
    const { world, keys, acme } = await setUp();
    const { key } = await keys.create('acme', { name: 'ci', expiresAt: moment(1_000) });
    await world.clock.advance(999);
    expect(organizationOf(keys, key)).toBe(acme.id);
    await world.clock.advance(1);
    expect(organizationOf(keys, key)).toBeNull();
    expect(keyProblem(keys, key)).toBe('expired');
  });

  it('are revoked permanently, in all processes', async () => {
    const { world, keys } = await setUp();
    const two = await world.open();
    const { key, record } = await keys.create('acme', plain);
    await world.clock.advance(0);
    await two.keys.revoke('acme', record.id);
    expect(keyProblem(two.keys, key)).toBe('revoked');
    await world.clock.advance(0);
    expect(keyProblem(keys, key)).toBe('revoked');
    await world.clock.advance(10);
    expect((await keys.revoke('acme', record.id)).revokedAt).toEqual(moment(0));
  });

  it.each([
    ['an empty name', { ...plain, name: '' }, /name: must not be empty/],
    ['an invisible name', { ...plain, name: '\u200b' }, /name: must not contain control/],
    ['an expiry in the past', { ...plain, expiresAt: moment(0) }, /expires_at: must be in the future/],
    ['an invalid expiry', { ...plain, expiresAt: new Date(Number.NaN) }, /expires_at: must be/],
  ])('are not created with %s', async (_what, input, message) => {
    const { keys } = await setUp();
    await expect(keys.create('acme', input)).rejects.toThrow(message);
    expect(keys.list('acme')).toEqual([]);
  });

  it('are authenticated from memory while the store is down', async () => {
    const { world, keys, acme } = await setUp();
    const { key } = await keys.create('acme', plain);
    world.goAway();
    expect(organizationOf(keys, key)).toBe(acme.id);
    await expect(keys.create('acme', plain)).rejects.toMatchObject({ code: 'STATE_UNAVAILABLE' });
    world.comeBack();
    await world.clock.advance(20_000);
    expect(keys.list('acme')).toHaveLength(1);
  });

  it('are rejected once their organization is known to be deleted, even if the notification for keys was lost', async () => {
    const { world, keys, organizations, acme } = await setUp();
    const { key } = await keys.create('acme', plain);
    const { changes } = world.stores;
    const halfDeaf = {
      isShared: true,
      watch: (onChange: (topic: 'organizations') => void) =>
        changes.watch((topic) => topic === 'organizations' && onChange(topic)),
    };
    const two = await world.open({ stores: { ...world.stores, changes: halfDeaf } });
    expect(organizationOf(two.keys, key)).toBe(acme.id);
    await organizations.delete('acme');
    await world.clock.advance(0);
    expect(organizationOf(two.keys, key)).toBeNull();
  });
});
