// Bursts of 1,000 requests over three server processes beside two processes that use all of both cores.
import { expect, it, onTestFinished } from 'vitest';
import { BurstServers, burnCpu } from '../support/tenancy/burst-servers.ts';

it('admits exactly the limits in each of 100 bursts (L3)', async () => {
  const world = new BurstServers();
  onTestFinished(() => world.stop());
  await world.start(3);
  await world.addTenants();
  burnCpu(2);
  for (let round = 0; round < 100; round++) expect((await world.burst(1_000)).admitted).toHaveLength(4);
});

it('admits exactly the limits in the first burst after each of 20 starts (L3)', async () => {
  const world = new BurstServers();
  onTestFinished(() => world.stop());
  await world.start(3);
  await world.addTenants();
  burnCpu(2);
  for (let round = 0; round < 20; round++) {
    await world.stop();
    await world.start(3);
    expect((await world.burst(1_000)).admitted).toHaveLength(4);
  }
});
