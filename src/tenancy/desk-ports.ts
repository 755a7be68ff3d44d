// Organizations, keys, deployments and executions as people and the door handle them.
import type {
  Deployment,
  Execution,
  ExecutionFilter,
  ExecutionInput,
  Organization,
  OrganizationKey,
  WorkflowName,
} from './ports.ts';

/** Everything here takes an organization's id or its name. */
export interface OrganizationDesk {
  /** From memory. Fails with NOT_FOUND. */
  find(reference: string): Organization;
  list(): readonly Organization[];
  /** Fails with INPUT_INVALID, or CONFLICT when the name is taken. */
  add(name: string): Promise<Organization>;
  rename(reference: string, name: string): Promise<Organization>;
  /** With keys, deployments, limit and ended executions. Fails with CONFLICT while one is under way. */
  remove(reference: string): Promise<Organization>;
}

export interface OrganizationKeyDesk {
  /** The key itself comes back once, here. */
  create(
    organization: string,
    wish: { readonly name: string; readonly expiresAt: Date | null },
  ): Promise<{ readonly key: string; readonly record: OrganizationKey }>;
  list(organization: string): readonly OrganizationKey[];
  /** Fails with NOT_FOUND, also for a key of another organization. */
  revoke(organization: string, id: string): Promise<OrganizationKey>;
  /** Whose key this is, from memory; null for any other text, and for keys that have expired or were revoked. */
  organizationOf(credential: string): string | null;
  /** Of a key that is known but refused: why, for the one who holds it. */
  refusal(credential: string): 'expired' | 'revoked' | null;
}

export interface DeploymentWish {
  readonly name: string;
  readonly workflow: WorkflowName;
  readonly options: Readonly<Record<string, unknown>>;
  readonly webhookUrl: string | null;
  readonly waitSeconds: number;
  readonly isActive: boolean;
}

export interface DeploymentDesk {
  list(organization?: string): readonly Deployment[];
  /** Fails with NOT_FOUND. */
  get(id: string): Deployment;
  /** By organization, and name or id, from memory. Fails with NOT_FOUND. */
  find(organization: string, reference: string): Deployment;
  /** Fails with INPUT_INVALID (all problems at once), CONFLICT, DEPLOYMENT_WORKFLOW_UNAVAILABLE. */
  add(organization: string, wish: DeploymentWish): Promise<Deployment>;
  change(id: string, change: Partial<Omit<DeploymentWish, 'workflow'>>): Promise<Deployment>;
  /** Fails with CONFLICT while an execution is under way. */
  remove(id: string): Promise<Deployment>;
  /** What keeps it from working now, in sentences: a model that nobody knows. Never fails. */
  warnings(deployment: Deployment): Promise<readonly string[]>;
  /** With it the deployment's webhook is signed; null when it has no webhook. */
  signingSecret(deployment: Deployment): string | null;
}

/** Where a request knocks, and who does. */
export interface DoorAddress {
  /** The organization's id or name. */
  readonly organization: string;
  /** The deployment's name or id. */
  readonly deployment: string;
  /** Whose key was shown. */
  readonly callerOrganizationId: string;
}

export interface DoorRequest extends DoorAddress {
  readonly idempotencyKey: string | null;
  /** What the request asks for; undefined: as the deployment says. */
  readonly waitMs: number | undefined;
  readonly signal: AbortSignal;
}

/** A request that was let in. Exactly one of `accept` and `leave` ends it; `leave` after `accept` does nothing. */
export interface Entry {
  readonly executionId: string;
  readonly deployment: Deployment;
  /**
   * Checks the input and dispatches the execution; gives the slot back when that fails. For a caller that has left by
   * then (the signal aborts) nothing is dispatched. Fails with STATE_UNAVAILABLE when the store does not answer soon.
   */
  accept(input: ExecutionInput, signal?: AbortSignal): Promise<Execution>;
  leave(): Promise<void>;
}

/** What a request may bring, and how fast it must come. */
export interface UploadLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  readonly maxBodyBytes: number;
  /** Of all requests together that are being read; at least one of the largest fits. */
  readonly maxUploadMemoryBytes: number;
  readonly timeoutMs: number;
  /** Over five seconds; 0 lets it take its time. */
  readonly minBytesPerSecond: number;
}

export interface Door {
  readonly uploads: UploadLimits;
  /** The most that a request may wait for a slot. */
  readonly longestWaitMs: number;
  /** From memory. Fails with NOT_FOUND, in the same words whatever is missing or foreign. */
  deploymentAt(address: DoorAddress): Deployment;
  /**
   * Organization, deployment and key first (NOT_FOUND tells no foreigner what exists), then the slot. A request whose
   * idempotency key is known needs no slot.
   */
  enter(request: DoorRequest): Promise<Entry>;
}

export interface ExecutionDesk {
  /** Of any organization. Fails with NOT_FOUND. */
  get(id: string): Promise<Execution>;
  /** Of this deployment only. Fails with NOT_FOUND. */
  getOf(deployment: Deployment, id: string): Promise<Execution>;
  list(filter: ExecutionFilter): Promise<readonly Execution[]>;
  /** Resolves with the execution as soon as it has ended, and as it is when the time is up or the caller went away. */
  whenEnded(id: string, timeoutMs: number, signal: AbortSignal): Promise<Execution>;
  /** Ends it as stopped and aborts whoever runs it; an ended one comes back as it is. Fails with NOT_FOUND. */
  stop(id: string): Promise<Execution>;
  /** Frees the slot of an execution that has ended, or that nobody knows. Fails with CONFLICT while it is under way. */
  release(id: string): Promise<{ readonly wasHeld: boolean }>;
}
