import { seededIds, seededRandom } from '../../../src/core/index.ts';
import { itKeepsTheLedgerModel } from './ledger-model.contract.ts';
import { describeLedgerStoreContract } from './ledger-store.contract.ts';
import { MemoryLedgerStore } from './memory-ledger-store.ts';

let now = 0;
const ids = seededIds(seededRandom(1), () => (now += 1));

describeLedgerStoreContract('memory', async () => new MemoryLedgerStore(ids));
itKeepsTheLedgerModel('memory', async () => new MemoryLedgerStore(ids), 300);
