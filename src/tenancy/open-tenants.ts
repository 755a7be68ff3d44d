// Organizations, keys and the catalogue together: opened at start, kept in step, closed before the store is.
import { every } from '../resilience/index.ts';
import type { CatalogueRules } from './deployments/deployment-catalogue.ts';
import { DeploymentCatalogue } from './deployments/deployment-catalogue.ts';
import type { DeploymentDesk, OrganizationDesk, OrganizationKeyDesk } from './desk-ports.ts';
import { OrganizationKeys } from './organizations/organization-keys.ts';
import { Organizations } from './organizations/organizations.ts';
import type { TenantParts, TenantStores } from './tenant-stores.ts';

export interface OpenTenantsOptions extends TenantParts, CatalogueRules {
  readonly stores: TenantStores;
}

export interface OpenTenants {
  readonly organizations: OrganizationDesk;
  readonly keys: OrganizationKeyDesk;
  readonly deployments: DeploymentDesk;
  /** Reads everything again. False when the store did not give it; memory stays as it is. Never rejects. */
  refresh(): Promise<boolean>;
  close(): Promise<void>;
}

/** A notification can get lost: then a revoked key is refused a quarter of a minute later. */
const safetyPollMs = 15_000;
/** Deployments are large and seldom change. */
const cataloguePollMs = 60_000;

/** Ready when it resolves. Fails with STATE_UNAVAILABLE. */
export async function openTenants(options: OpenTenantsOptions): Promise<OpenTenants> {
  const { stores, clock, random, ids, events } = options;
  const parts: TenantParts = { clock, random, ids, events };
  const organizations = new Organizations({
    ...parts,
    store: stores.organizations,
    onRemoved: (id) => {
      keys.forgetOrganization(id);
      deployments.forgetOrganization(id);
    },
  });
  const keys = new OrganizationKeys({ ...parts, store: stores.keys, organizations });
  const deployments = new DeploymentCatalogue({
    ...parts,
    store: stores.deployments,
    organizations,
    workflows: options.workflows,
    longestWaitSeconds: options.longestWaitSeconds,
    webhookSecret: options.webhookSecret,
    isForbiddenHost: options.isForbiddenHost,
  });
  const mirrors = {
    organizations: organizations.mirror,
    keys: keys.mirror,
    deployments: deployments.mirror,
  };
  const refreshAll = async (...which: readonly (keyof typeof mirrors)[]): Promise<boolean> =>
    (await Promise.all(which.map((name) => mirrors[name].refresh()))).every(Boolean);
  const refresh = (): Promise<boolean> => refreshAll('organizations', 'keys', 'deployments');

  const closing = new AsyncDisposableStack();
  for (const mirror of Object.values(mirrors)) closing.defer(() => mirror.close());
  try {
    // First listen, then load: what changes between the two is heard.
    const unwatch = await stores.changes.watch(
      (topic) => void (topic === 'everything' ? refresh() : mirrors[topic].refresh()),
    );
    closing.defer(() => unwatch().catch(() => undefined));
    for (const mirror of Object.values(mirrors)) await mirror.start();
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
  if (stores.changes.isShared) {
    closing.defer(every(clock, safetyPollMs, () => refreshAll('organizations', 'keys')));
    closing.defer(every(clock, cataloguePollMs, () => refreshAll('deployments')));
  }
  return { organizations, keys, deployments, refresh, close: () => closing.disposeAsync() };
}
