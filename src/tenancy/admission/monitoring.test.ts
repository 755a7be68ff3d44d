import { describe, expect, it } from 'vitest';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';

const names = (world: Awaited<ReturnType<typeof admissionWorld>>) =>
  world.admission.alerts.list().map(({ name, state, organizationId }) => [name, state, organizationId]);

describe('alerts', () => {
  it('fire when an organization is above 90% for five minutes, and resolve when it is not', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 10 } });
    for (let index = 0; index < 9; index++) await world.acquire('a', `a-${index}`);
    await world.clock.advance(15_000);
    expect(names(world)).toEqual([]);
    await world.acquire('a', 'a-9');
    await world.clock.advance(15_000);
    expect(names(world)).toEqual([['HeadworksAdmissionOrganizationUsageHigh', 'pending', 'a']]);
    await world.clock.advance(300_000);
    expect(names(world)).toEqual([['HeadworksAdmissionOrganizationUsageHigh', 'firing', 'a']]);
    expect(world.admission.alerts.list()[0]?.message).toContain('uses 10 of its 10');
    await world.admission.controller.release({ organizationId: 'a', executionId: 'a-9' });
    await world.clock.advance(15_000);
    expect(names(world)).toEqual([]);
    await world.admission.close();
  });

  it('fire when global usage is above 80% for five minutes', async () => {
    const world = await admissionWorld({ options: { globalLimit: 10, defaultLimit: 100 } });
    for (let index = 0; index < 8; index++) await world.acquire('a', `a-${index}`);
    await world.clock.advance(15_000);
    expect(names(world)).toEqual([]);
    await world.acquire('b', 'b-1');
    await world.clock.advance(315_001);
    expect(names(world)).toEqual([['HeadworksAdmissionGlobalUsageHigh', 'firing', null]]);
    await world.admission.close();
  });

  it('fire at a burst of rejections, not at as many over a longer time', async () => {
    const world = await admissionWorld({ options: { defaultLimit: 1 } });
    await world.acquire('a', '0');
    const reject = () => world.acquire('a', 'x').catch(() => undefined);
    for (let index = 0; index < 70; index++) {
      await reject();
      await world.clock.advance(1_100);
    }
    expect(names(world).filter(([name]) => name === 'HeadworksAdmissionRejectionBurst')).toEqual([]);
    for (let index = 0; index < 61; index++) await reject();
    await world.clock.advance(15_000);
    expect(names(world)).toContainEqual(['HeadworksAdmissionRejectionBurst', 'firing', null]);
    await world.clock.advance(75_000);
    expect(names(world).filter(([name]) => name === 'HeadworksAdmissionRejectionBurst')).toEqual([]);
    await world.admission.close();
  });

  it('fire at once when an outage of Redis is confirmed', async () => {
    const world = await admissionWorld();
    world.faulty.state = 'down';
    await world.clock.run(world.acquire('a', '1'));
    await world.clock.advance(0);
    expect(names(world)).toEqual([['HeadworksAdmissionRedisDown', 'firing', null]]);
    world.faulty.goUp();
    await world.clock.advance(3_000);
    expect(names(world)).toEqual([]);
    await world.admission.close();
  });
});
