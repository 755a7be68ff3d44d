// Organizations, keys and deployments in Postgres, embedded or on a server.
import type { Database } from '../../platform/postgres/ports.ts';
import { ChangeFeed } from '../../platform/postgres/change-feed.ts';
import type { TenantStores } from '../tenant-stores.ts';
import { tenantTopics } from '../tenant-stores.ts';
import { PostgresDeploymentStore } from './postgres-deployment-store.ts';
import { PostgresOrganizationKeyStore } from './postgres-organization-key-store.ts';
import { PostgresOrganizationStore } from './postgres-organization-store.ts';
import { tenantChannel } from './tenant-channel.ts';

export function postgresTenantStores(database: Database): TenantStores {
  return {
    organizations: new PostgresOrganizationStore(database),
    keys: new PostgresOrganizationKeyStore(database),
    deployments: new PostgresDeploymentStore(database),
    changes: new ChangeFeed(database, tenantChannel(database.schema), tenantTopics),
  };
}
