import { VirtualClock } from '../support/core/virtual-clock.ts';
import {
  describeAttemptStoreContract,
  describeContentStoreContract,
} from '../support/gateway/attempt-store.contract.ts';
import { describeCooldownStoreContract } from '../support/gateway/cooldown-store.contract.ts';
import { describeDiscoveryStoreContract } from '../support/gateway/discovery-store.contract.ts';
import { describeGatewayKeyStoreContract } from '../support/gateway/gateway-key-store.contract.ts';
import {
  MemoryAttemptStore,
  MemoryContentStore,
  MemoryCooldownStore,
  MemoryDiscoveryStore,
  MemoryGatewayKeyStore,
  MemoryModelStore,
  MemoryUsageStore,
} from '../support/gateway/memory-stores.ts';
import { describeModelStoreContract } from '../support/gateway/model-store.contract.ts';
import { describeUsageStoreContract } from '../support/gateway/usage-store.contract.ts';

const modelIds = [1, 2] as const;

describeModelStoreContract('memory', async () => new MemoryModelStore(new VirtualClock()));
describeCooldownStoreContract('memory', async () => ({ store: new MemoryCooldownStore(), modelIds }));
describeAttemptStoreContract('memory', async () => ({ store: new MemoryAttemptStore(), modelIds }));
describeContentStoreContract('memory', async () => new MemoryContentStore());
describeGatewayKeyStoreContract('memory', async () => new MemoryGatewayKeyStore());
describeUsageStoreContract('memory', async () => ({ store: new MemoryUsageStore(), modelIds }));
describeDiscoveryStoreContract('memory', async () => new MemoryDiscoveryStore());
