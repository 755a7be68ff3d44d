import { seededIds, seededRandom } from '../../src/core/index.ts';
import { describeLimitStoreContract } from '../support/tenancy/limit-store.contract.ts';
import { MemoryLimitStore } from '../support/tenancy/memory-limit-store.ts';

describeLimitStoreContract('memory', async () => new MemoryLimitStore(seededIds(seededRandom(1), () => 0)));
