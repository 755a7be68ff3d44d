// A burst over three server processes, two of them right after their start: a sample of test/slow/admission-bursts.test.ts.
import { expect, it, onTestFinished } from 'vitest';
import { BurstServers } from '../support/tenancy/burst-servers.ts';

it('admits exactly the limits in the first burst over three servers (L3)', async () => {
  const world = new BurstServers();
  onTestFinished(() => world.stop());
  await world.start(1);
  await world.addTenants();
  await world.start(2);
  expect((await world.burst(200)).admitted).toHaveLength(4);
});
