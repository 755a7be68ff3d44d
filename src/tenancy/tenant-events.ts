// What organizations, keys and the catalogue tell the rest of the house.
import { event } from '../core/index.ts';

export const tenantEvents = {
  'tenants:store-failed': event<{ what: string; cause: string }>({
    level: 'warn',
    message: 'organizations, keys or deployments could not be read; those in memory go on',
    counter: {
      name: 'headworks_tenants_store_failures_total',
      help: 'Reads of organizations, keys or deployments that failed.',
      labels: ['what'],
    },
  }),
} as const;

export type TenantEvents = typeof tenantEvents;
