// Organizations, their API keys and deployments, and the stores that hold them. Executions: executions/types.ts.
import type { ChangeFeed } from '../resilience/index.ts';
import type { WorkflowName } from './vocabulary.ts';

export interface Organization {
  /** `org_` and 16 letters and digits. */
  readonly id: string;
  /** Unique regardless of case; accepted in place of the id. */
  readonly name: string;
  readonly createdAt: Date;
}

/** The key itself is returned once and not stored. */
export interface OrganizationKey {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  /** Its first characters, to distinguish keys in lists. */
  readonly prefix: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface StoredOrganizationKey extends OrganizationKey {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
}

export interface Deployment {
  readonly id: string;
  readonly organizationId: string;
  /** Unique within its organization; part of the URL. */
  readonly name: string;
  readonly workflow: WorkflowName;
  /** Validated by the workflow. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Receives a signed message when an execution ends. */
  readonly webhookUrl: string | null;
  /** Longest time requests wait for a slot by default; 0 rejects at once. */
  readonly waitSeconds: number;
  readonly isActive: boolean;
  readonly createdAt: Date;
  readonly modifiedAt: Date;
}

export type DeploymentInput = Omit<Deployment, 'id' | 'organizationId' | 'createdAt' | 'modifiedAt'>;
export type DeploymentUpdate = Partial<Omit<DeploymentInput, 'workflow'>>;

export interface OrganizationStore {
  /** Fails with CONFLICT when the name is taken. */
  create(organization: Organization): Promise<void>;
  list(): Promise<readonly Organization[]>;
  /** Fails with CONFLICT when the name is taken; null when there is no such organization. */
  rename(id: string, name: string): Promise<Organization | null>;
  /** Deletes it with its keys, deployments, limit and ended executions. Fails with CONFLICT while one is unfinished. */
  delete(id: string): Promise<boolean>;
}

export interface ApiKeyStore {
  create(key: StoredOrganizationKey): Promise<void>;
  /** Keys of all organizations, oldest first. */
  list(): Promise<readonly StoredOrganizationKey[]>;
  revoke(id: string, at: Date): Promise<OrganizationKey | null>;
}

export interface DeploymentStore {
  /** Fails with CONFLICT when the name is taken in its organization, NOT_FOUND without the organization. */
  create(deployment: Deployment): Promise<void>;
  list(): Promise<readonly Deployment[]>;
  /** Changes only the given fields. Fails with CONFLICT when the name is taken; null when there is none. */
  update(id: string, update: DeploymentUpdate, at: Date): Promise<Deployment | null>;
  /** Deletes it with its ended executions. Fails with CONFLICT while one is unfinished. */
  delete(id: string): Promise<boolean>;
}

/** What every process keeps a copy of in memory. */
export const tenantTopics = ['organizations', 'keys', 'deployments'] as const;
export type TenantTopic = (typeof tenantTopics)[number];

export interface TenantStores {
  readonly organizations: OrganizationStore;
  readonly keys: ApiKeyStore;
  readonly deployments: DeploymentStore;
  readonly changes: ChangeFeed<TenantTopic>;
}
