import { describeTenantStoresContract } from '../support/tenancy/tenant-stores.contract.ts';
import { memoryTenantStores } from '../support/tenancy/memory-tenant-stores.ts';

describeTenantStoresContract('memory', async () => {
  const unfinished = new Set<string>();
  return {
    stores: memoryTenantStores((id) => unfinished.has(id)),
    beginExecution: async ({ id, organizationId }) => {
      for (const each of [id, organizationId]) unfinished.add(each);
      return async () => unfinished.clear();
    },
  };
});
