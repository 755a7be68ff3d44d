import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describeAttemptStoreContract } from './attempt-store.contract.ts';
import { describeCooldownStoreContract } from './cooldown-store.contract.ts';
import { describeGatewayKeyStoreContract } from './gateway-key-store.contract.ts';
import {
  MemoryAttemptStore,
  MemoryCooldownStore,
  MemoryGatewayKeyStore,
  MemoryModelStore,
  MemoryUsageStore,
} from './memory-stores.ts';
import { describeModelStoreContract } from './model-store.contract.ts';
import { describeUsageStoreContract } from './usage-store.contract.ts';

const modelIds = [1, 2] as const;

describeModelStoreContract('memory', async () => new MemoryModelStore(new VirtualClock()));
describeCooldownStoreContract('memory', async () => ({ store: new MemoryCooldownStore(), modelIds }));
describeAttemptStoreContract('memory', async () => ({ store: new MemoryAttemptStore(), modelIds }));
describeGatewayKeyStoreContract('memory', async () => new MemoryGatewayKeyStore());
describeUsageStoreContract('memory', async () => ({ store: new MemoryUsageStore(), modelIds }));
