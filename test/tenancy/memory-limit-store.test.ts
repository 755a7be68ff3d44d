// Contracts of the doubles in memory: limits and servers.
import { seededIds, seededRandom } from '../../src/core/index.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import { describeLimitStoreContract } from '../support/tenancy/limit-store.contract.ts';
import { MemoryLimitStore } from '../support/tenancy/memory-limit-store.ts';
import { MemoryServerRegistry } from '../support/tenancy/memory-server-registry.ts';
import { describeServerRegistryContract } from '../support/tenancy/server-registry.contract.ts';

describeLimitStoreContract('memory', async () => new MemoryLimitStore(seededIds(seededRandom(1), () => 0)));

describeServerRegistryContract('memory', async () => {
  const clock = new VirtualClock();
  return { registry: new MemoryServerRegistry(clock, 60), passLease: () => clock.advance(61_000) };
});
