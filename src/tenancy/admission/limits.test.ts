import { describe, expect, it } from 'vitest';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';

async function burst(world: Awaited<ReturnType<typeof admissionWorld>>, tag: string): Promise<number> {
  const tries = Array.from({ length: 8 }, (_, index) => world.acquire('a', `${tag}-${index}`));
  return (await Promise.allSettled(tries)).filter(({ status }) => status === 'fulfilled').length;
}

describe('limits', () => {
  it('apply at once on all servers', async () => {
    const one = await admissionWorld({ options: { defaultLimit: 2 } });
    const two = await admissionWorld({ options: { defaultLimit: 2 }, beside: one });
    expect(await burst(one, 'default')).toBe(2);
    expect(await one.admission.limits.set('a', 5)).toMatchObject({
      isNew: true,
      view: {
        customLimit: 5,
        limit: 5,
        cachedLimit: null,
        usage: { organization: 2, organizationLimit: 5, global: 2, globalLimit: 100 },
      },
    });
    expect(await burst(two, 'raised')).toBe(3);
    expect((await two.admission.limits.set('a', 1)).isNew).toBe(false);
    expect(await burst(one, 'lowered')).toBe(0);
    await Promise.all([one.admission.close(), two.admission.close()]);
  });

  it('are not cached after a change when read before it', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    const get = world.limits.get.bind(world.limits);
    let isFirst = true;
    world.limits.get = async (organizationId) => {
      const read = await get(organizationId);
      if (!isFirst) return read;
      isFirst = false;
      // A change is committed and invalidated while the old value is on its way to the cache.
      await world.admission.limits.set('a', 1);
      return read;
    };
    await world.acquire('a', '1');
    await expect(world.acquire('a', '2')).rejects.toMatchObject({ usage: { organizationLimit: 1 } });
    await world.admission.close();
  });

  it('are not cached after a change when a request comes while it is stored', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    const { limits } = world.admission;
    const set = world.limits.set.bind(world.limits);
    world.limits.set = async (...change) => {
      await world.acquire('a', '1');
      return set(...change);
    };
    await limits.set('a', 1);
    await expect(world.acquire('a', '2')).rejects.toMatchObject({ usage: { organizationLimit: 1 } });
    const remove = world.limits.delete.bind(world.limits);
    world.limits.delete = async (organizationId) => {
      await world.acquire('a', '3').catch(() => undefined);
      return remove(organizationId);
    };
    await limits.delete('a');
    await world.acquire('a', '4');
    await world.admission.close();
  });

  it('are corrected when a process died between the change and its invalidation', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await world.acquire('a', '1');
    await world.limits.set('a', 1, new Date(0));
    await world.acquire('a', '2');
    await world.clock.advance(20_001);
    await expect(world.acquire('a', '3')).rejects.toMatchObject({ usage: { organizationLimit: 1 } });
    expect(world.count('admission:limits-corrected')).toBe(1);
    await world.admission.close();
  });

  it('are the same in an overview as one by one', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    const { limits } = world.admission;
    await limits.set('b', 5);
    await world.acquire('a', '1');
    await world.acquire('b', '2');
    const { globalUsed, limits: views } = await limits.overview(['b', 'a', 'unknown']);
    expect(globalUsed).toBe(2);
    expect(views).toEqual(await Promise.all(['b', 'a', 'unknown'].map((id) => limits.get(id))));
    expect(await limits.overview([])).toEqual({ globalUsed: 2, limits: [] });
    await world.admission.close();
  });

  it('include the cached limit and the usage', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await world.acquire('a', '1');
    expect(await world.admission.limits.get('a')).toEqual({
      organizationId: 'a',
      customLimit: null,
      createdAt: null,
      modifiedAt: null,
      limit: 2,
      cachedLimit: 2,
      isCacheKnown: true,
      usage: { organization: 1, organizationLimit: 2, global: 1, globalLimit: 100, countedBy: 'slots' },
    });
    // Changed without an invalidation: the cache still has the old one.
    await world.limits.set('a', 9, new Date(0));
    expect(await world.admission.limits.get('a')).toMatchObject({ limit: 9, cachedLimit: 2 });
    const { usage } = await world.admission.limits.get('a');
    expect(await world.admission.limits.get('a', { clearCache: true })).toMatchObject({
      limit: 9,
      cachedLimit: 9,
      usage: { ...usage, organizationLimit: 9 },
    });
    await world.admission.close();
  });

  it('are listed with usage only on request', async () => {
    const world = await admissionWorld();
    await world.admission.limits.set('b', 7);
    await world.clock.advance(1);
    await world.admission.limits.set('a', 5);
    await world.acquire('a', '1');
    expect(await world.admission.limits.list()).toMatchObject([
      { organizationId: 'b', limit: 7, usage: null },
      { organizationId: 'a', limit: 5, cachedLimit: 5, usage: null },
    ]);
    expect(await world.admission.limits.list({ withUsage: true })).toMatchObject([
      { usage: { organization: 0, organizationLimit: 7, global: 1 } },
      { usage: { organization: 1, organizationLimit: 5, global: 1 } },
    ]);
    await world.admission.close();
  });

  it('count unfinished executions as usage while Redis is down', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    const { limits } = world.admission;
    await limits.set('a', 5);
    world.executions.begin({ organizationId: 'a', executionId: '1' }, new Date(0));
    world.executions.begin({ organizationId: 'b', executionId: '2' }, new Date(0));
    world.faulty.state = 'down';
    const usage = { organization: 1, organizationLimit: 5, global: 2, countedBy: 'executions' };
    const shown = { cachedLimit: null, isCacheKnown: false, usage };
    expect(await limits.get('a')).toMatchObject(shown);
    expect(await limits.list({ withUsage: true })).toMatchObject([shown]);
    expect(await limits.set('a', 6)).toMatchObject({
      view: { ...shown, usage: { ...usage, organizationLimit: 6 } },
    });
    await world.admission.close();
  });

  it('cannot be cleared from the cache where another process counts slots', async () => {
    const world = await admissionWorld({ countsSlots: false });
    const { limits } = world.admission;
    const rejected = {
      code: 'ADMISSION_NEEDS_REDIS',
      message: expect.stringContaining('REDIS_URL') as string,
    };
    for (const which of [['a'], 'custom', 'all'] as const)
      await expect(limits.clearCache(which)).rejects.toMatchObject(rejected);
    await expect(limits.get('a', { clearCache: true })).rejects.toMatchObject(rejected);
    expect(await limits.set('a', 5)).toMatchObject({
      view: { limit: 5, cachedLimit: null, isCacheKnown: false, usage: { countedBy: 'executions' } },
    });
    await world.admission.close();
  });

  it('can be deleted once; the default applies again', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 2 } });
    await world.admission.limits.set('a', 5);
    await world.acquire('a', '1');
    expect(await world.admission.limits.delete('a')).toMatchObject({
      customLimit: null,
      limit: 2,
      usage: { organization: 1, organizationLimit: 2 },
    });
    expect(await burst(world, 'after')).toBe(1);
    await expect(world.admission.limits.delete('a')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await world.admission.close();
  });

  it('are cleared from the cache for one, for custom ones and for all, with their number', async () => {
    const world = await admissionWorld();
    const { limits } = world.admission;
    const fill = async (tag: string) => {
      for (const id of ['a', 'b', 'c']) await world.acquire(id, `${tag}-${id}`);
    };
    await limits.set('a', 5);
    await limits.set('b', 5);
    await fill('1');
    expect(await limits.clearCache(['a'])).toBe(1);
    expect(await limits.clearCache(['a'])).toBe(0);
    await fill('2');
    expect(await limits.clearCache('custom')).toBe(2);
    await fill('3');
    expect(await limits.clearCache('all')).toBe(3);
    await world.admission.close();
  });

  it('are cached again on request without a slot, also at the global limit', async () => {
    const world = await admissionWorld({ options: { globalLimit: 1 } });
    await world.limits.set('a', 7, new Date());
    expect(await world.admission.limits.get('a', { clearCache: true })).toMatchObject({ cachedLimit: 7 });
    expect(await world.slots.holders()).toEqual([]);
    await world.acquire('b', '1');
    expect(await world.admission.limits.get('a', { clearCache: true })).toMatchObject({ cachedLimit: 7 });
    await world.admission.close();
  });

  it.each([0, -1, 1.5, 1e12, Number.NaN, 'ten' as unknown as number])('rejects %s', async (limit) => {
    const world = await admissionWorld();
    await expect(world.admission.limits.set('a', limit)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('whole number from 1 to 2147483647') as string,
    });
    expect(await world.limits.list()).toEqual([]);
    await world.admission.close();
  });
});
