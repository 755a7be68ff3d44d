// What organizations, keys and the catalogue need: stores, and news of what other processes changed.
import type { Clock, Emitter, IdSource, Random } from '../core/index.ts';
import { kindOf } from '../core/index.ts';
import type { ChangeFeed } from '../resilience/index.ts';
import { Mirror } from '../resilience/index.ts';
import type { DeploymentStore, OrganizationKeyStore, OrganizationStore } from './ports.ts';
import type { TenantEvents } from './tenant-events.ts';

/** What a process holds in memory and others may change. */
export const tenantTopics = ['organizations', 'keys', 'deployments'] as const;
export type TenantTopic = (typeof tenantTopics)[number];

export interface TenantStores {
  readonly organizations: OrganizationStore;
  readonly keys: OrganizationKeyStore;
  readonly deployments: DeploymentStore;
  readonly changes: ChangeFeed<TenantTopic>;
}

export interface TenantParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<TenantEvents>;
}

/** A copy in memory of one of the stores. */
export function mirrorOf<Row>(
  { clock, random, events }: TenantParts,
  topic: TenantTopic,
  list: () => Promise<readonly Row[]>,
  show: (rows: readonly Row[]) => void,
): Mirror<Row> {
  const onFailure = (error: unknown): void =>
    events.emit('tenants:store-failed', { what: topic, cause: kindOf(error) });
  return new Mirror({ clock, random }, { list, show, onFailure });
}

/** Rows with this one in the place of the one with the same id, or at the end. */
export function withRow<Row extends { readonly id: string }>(rows: readonly Row[], row: Row): readonly Row[] {
  const at = rows.findIndex(({ id }) => id === row.id);
  return at === -1 ? [...rows, row] : rows.with(at, row);
}
