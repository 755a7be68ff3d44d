// The channel on which processes of one installation hear of changes to organizations, keys and deployments.
import type { Transaction } from '../../platform/postgres/ports.ts';
import type { TenantTopic } from '../tenant-stores.ts';

/** Channels belong to the whole database. A schema has at most 50 characters, a channel 63. */
export const tenantChannel = (schema: string): string => `${schema}_tenants`;

/** Told when, and only if, the transaction commits. */
export async function tellTenants(
  transaction: Transaction,
  schema: string,
  ...topics: readonly TenantTopic[]
): Promise<void> {
  for (const topic of topics) await transaction.notify(tenantChannel(schema), topic);
}
