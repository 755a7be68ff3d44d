import { MemoryRunStore, MemorySourceStore } from '../../../test/support/extraction/memory-stores.ts';
import { describeRunStoresContract } from '../../../test/support/extraction/run-stores.contract.ts';

describeRunStoresContract('memory', async () => ({
  sources: new MemorySourceStore(),
  runs: new MemoryRunStore(),
  inTransaction: (work) => work(undefined),
}));
