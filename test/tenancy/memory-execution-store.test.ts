// The contract of executions in memory.
import { describeExecutionStoreContract } from '../support/tenancy/execution-store.contract.ts';
import { MemoryExecutionStore } from '../support/tenancy/memory-execution-store.ts';

describeExecutionStoreContract('memory', async () => {
  const homes = [
    { organizationId: 'org_a', deploymentId: '0195a1b2-0000-7000-8000-00000000000a' },
    { organizationId: 'org_b', deploymentId: '0195a1b2-0000-7000-8000-00000000000b' },
  ] as const;
  let kept = 0;
  const store = new MemoryExecutionStore((id) => homes.some(({ deploymentId }) => deploymentId === id));
  const dispatch = store.dispatch.bind(store);
  // Jobs that were added with a transaction that did not commit are not kept.
  store.dispatch = async (...input) => {
    const done = await dispatch(...input);
    if (done.isNew) kept += 1;
    return done;
  };
  return {
    store,
    homes,
    enqueue: async () => '0195a1b2-0000-7000-8000-0000000000aa',
    keptJobs: async () => kept,
  };
});
