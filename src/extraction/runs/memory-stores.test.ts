import { MemoryRunStore, MemorySourceStore } from './memory-stores.ts';
import { describeRunStoresContract } from './stores.contract.ts';

describeRunStoresContract('memory', async () => ({
  sources: new MemorySourceStore(),
  runs: new MemoryRunStore(),
  inTransaction: (work) => work(undefined),
}));
