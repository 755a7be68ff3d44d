// Organizations, keys and deployments in memory: for tests, and as the plainest statement of what stores do.
import { MemoryChangeFeed } from '../../../src/resilience/index.ts';
import { nameKey } from '../../../src/tenancy/names.ts';
import type {
  Deployment,
  DeploymentStore,
  Organization,
  OrganizationKeyStore,
  OrganizationStore,
  StoredOrganizationKey,
} from '../../../src/tenancy/ports.ts';
import { noOrganization, takenName, underWay } from '../../../src/tenancy/refusals.ts';
import type { TenantStores, TenantTopic } from '../../../src/tenancy/tenant-stores.ts';
import { tenantTopics } from '../../../src/tenancy/tenant-stores.ts';

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
  readonly tell: (topic: TenantTopic) => void;
}

/** `hasUnfinished` says whether an execution of the organization, or of the deployment, is under way. */
export function memoryTenantStores(hasUnfinished: (id: string) => boolean = () => false): MemoryTenantStores {
  const changes = new MemoryChangeFeed<TenantTopic>();
  const tables: Tables = {
    organizations: new Map(),
    keys: new Map(),
    deployments: new Map(),
    hasUnfinished,
    tell: (topic) => changes.notify(topic),
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
  tell,
}: Tables): OrganizationStore {
  const refuseTaken = (name: string, id: string): void => {
    for (const other of organizations.values())
      if (other.id !== id && nameKey(other.name) === nameKey(name))
        throw takenName('organization', other.name);
  };
  return {
    add: async (organization) => {
      refuseTaken(organization.name, organization.id);
      organizations.set(organization.id, organization);
      tell('organizations');
    },
    list: async () => byAge(organizations.values()),
    rename: async (id, name) => {
      const known = organizations.get(id);
      if (!known) return null;
      refuseTaken(name, id);
      organizations.set(id, { ...known, name });
      tell('organizations');
      return { ...known, name };
    },
    remove: async (id) => {
      if (!organizations.has(id)) return false;
      if (hasUnfinished(id)) throw underWay('organization');
      organizations.delete(id);
      for (const own of [keys, deployments])
        for (const [rowId, { organizationId }] of own) if (organizationId === id) own.delete(rowId);
      for (const topic of tenantTopics) tell(topic);
      return true;
    },
  };
}

function keyStore({ organizations, keys, tell }: Tables): OrganizationKeyStore {
  return {
    add: async (key) => {
      if (!organizations.has(key.organizationId)) throw noOrganization();
      keys.set(key.id, key);
      tell('keys');
    },
    list: async () => byAge(keys.values()),
    revoke: async (id, at) => {
      const known = keys.get(id);
      if (!known) return null;
      const { hash, ...key } = { ...known, revokedAt: known.revokedAt ?? at };
      keys.set(id, { ...key, hash });
      tell('keys');
      return key;
    },
  };
}

function deploymentStore({ organizations, deployments, hasUnfinished, tell }: Tables): DeploymentStore {
  const refuseTaken = ({ id, organizationId, name }: Deployment): void => {
    const isSame = (other: Deployment): boolean =>
      other.organizationId === organizationId && other.name.toLowerCase() === name.toLowerCase();
    for (const other of deployments.values())
      if (other.id !== id && isSame(other)) throw takenName('deployment', other.name);
  };
  return {
    add: async (deployment) => {
      if (!organizations.has(deployment.organizationId)) throw noOrganization();
      refuseTaken(deployment);
      deployments.set(deployment.id, deployment);
      tell('deployments');
    },
    list: async () => byAge(deployments.values()),
    change: async (id, change, at) => {
      const known = deployments.get(id);
      if (!known) return null;
      const changed = { ...known, ...change, modifiedAt: at };
      refuseTaken(changed);
      deployments.set(id, changed);
      tell('deployments');
      return changed;
    },
    remove: async (id) => {
      if (!deployments.has(id)) return false;
      if (hasUnfinished(id)) throw underWay('deployment');
      deployments.delete(id);
      tell('deployments');
      return true;
    },
  };
}
