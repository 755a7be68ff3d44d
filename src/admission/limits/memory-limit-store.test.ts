import { seededIds, seededRandom } from '../../core/index.ts';
import { describeLimitStoreContract } from './limit-store.contract.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';

describeLimitStoreContract('memory', async () => new MemoryLimitStore(seededIds(seededRandom(1), () => 0)));
