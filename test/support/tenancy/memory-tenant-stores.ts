// Organizations, keys and deployments in memory, for tests.
import { MemoryChangeFeed } from '../resilience/memory-change-feed.ts';
import { nameKey } from '../../../src/tenancy/organizations/organizations.ts';
import type {
  Deployment,
  DeploymentStore,
  Organization,
  ApiKeyStore,
  OrganizationStore,
  StoredOrganizationKey,
} from '../../../src/tenancy/index.ts';
import { organizationDeleted, nameTaken, hasRunningExecutions } from '../../../src/tenancy/names.ts';
import type { TenantStores, TenantTopic } from '../../../src/tenancy/types.ts';
import { tenantTopics } from '../../../src/tenancy/types.ts';

export interface MemoryTenantStores extends TenantStores {
  readonly changes: MemoryChangeFeed<TenantTopic>;
}

const byAge = <Row extends { readonly id: string; readonly createdAt: Date }>(rows: Iterable<Row>): Row[] =>
  [...rows].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));

interface Tables {
  readonly organizations: Map<string, Organization>;
  readonly keys: Map<string, StoredOrganizationKey>;
  readonly deployments: Map<string, Deployment>;
  readonly hasUnfinished: (id: string) => boolean;
  readonly notify: (topic: TenantTopic) => void;
}

/** `hasUnfinished` returns whether an execution of the organization, or of the deployment, is unfinished. */
export function memoryTenantStores(hasUnfinished: (id: string) => boolean = () => false): MemoryTenantStores {
  const changes = new MemoryChangeFeed<TenantTopic>();
  const tables: Tables = {
    organizations: new Map(),
    keys: new Map(),
    deployments: new Map(),
    hasUnfinished,
    notify: (topic) => changes.notify(topic),
  };
  return {
    organizations: organizationStore(tables),
    keys: keyStore(tables),
    deployments: deploymentStore(tables),
    changes,
  };
}

function organizationStore({
  organizations,
  keys,
  deployments,
  hasUnfinished,
  notify,
}: Tables): OrganizationStore {
  const checkNameFree = (name: string, id: string): void => {
    for (const other of organizations.values())
      if (other.id !== id && nameKey(other.name) === nameKey(name))
        throw nameTaken('organization', other.name);
  };
  return {
    create: async (organization) => {
      checkNameFree(organization.name, organization.id);
      organizations.set(organization.id, organization);
      notify('organizations');
    },
    list: async () => byAge(organizations.values()),
    rename: async (id, name) => {
      const known = organizations.get(id);
      if (!known) return null;
      checkNameFree(name, id);
      organizations.set(id, { ...known, name });
      notify('organizations');
      return { ...known, name };
    },
    delete: async (id) => {
      if (!organizations.has(id)) return false;
      if (hasUnfinished(id)) throw hasRunningExecutions('organization');
      organizations.delete(id);
      for (const own of [keys, deployments])
        for (const [rowId, { organizationId }] of own) if (organizationId === id) own.delete(rowId);
      for (const topic of tenantTopics) notify(topic);
      return true;
    },
  };
}

function keyStore({ organizations, keys, notify }: Tables): ApiKeyStore {
  return {
    create: async (key) => {
      if (!organizations.has(key.organizationId)) throw organizationDeleted();
      keys.set(key.id, key);
      notify('keys');
    },
    list: async () => byAge(keys.values()),
    revoke: async (id, at) => {
      const known = keys.get(id);
      if (!known) return null;
      const { hash, ...key } = { ...known, revokedAt: known.revokedAt ?? at };
      keys.set(id, { ...key, hash });
      notify('keys');
      return key;
    },
  };
}

function deploymentStore({ organizations, deployments, hasUnfinished, notify }: Tables): DeploymentStore {
  const checkNameFree = ({ id, organizationId, name }: Deployment): void => {
    const isSame = (other: Deployment): boolean =>
      other.organizationId === organizationId && other.name.toLowerCase() === name.toLowerCase();
    for (const other of deployments.values())
      if (other.id !== id && isSame(other)) throw nameTaken('deployment', other.name);
  };
  return {
    create: async (deployment) => {
      if (!organizations.has(deployment.organizationId)) throw organizationDeleted();
      checkNameFree(deployment);
      deployments.set(deployment.id, deployment);
      notify('deployments');
    },
    list: async () => byAge(deployments.values()),
    update: async (id, update, at) => {
      const known = deployments.get(id);
      if (!known) return null;
      const updated = { ...known, ...update, modifiedAt: at };
      checkNameFree(updated);
      deployments.set(id, updated);
      notify('deployments');
      return updated;
    },
    delete: async (id) => {
      if (!deployments.has(id)) return false;
      if (hasUnfinished(id)) throw hasRunningExecutions('deployment');
      deployments.delete(id);
      notify('deployments');
      return true;
    },
  };
}
