// Deployments: organizations, their keys, published workflows and executions; and what these need of others.
import type { Slot } from './admission/types.ts';

export interface Organization {
  /** `org_` and 16 letters and digits. */
  readonly id: string;
  /** Unique, whatever the case of its letters; every place takes it instead of the id. */
  readonly name: string;
  readonly createdAt: Date;
}

/** The key itself is shown once and kept nowhere. */
export interface OrganizationKey {
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  /** The first characters, to tell keys apart. */
  readonly prefix: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface StoredOrganizationKey extends OrganizationKey {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
}

export const workflowNames = ['structure', 'prompt', 'search', 'ingest'] as const;
export type WorkflowName = (typeof workflowNames)[number];

export interface Deployment {
  readonly id: string;
  readonly organizationId: string;
  /** Unique within its organization; it is part of the address. */
  readonly name: string;
  readonly workflow: WorkflowName;
  /** What the workflow needs, as it was checked by the workflow. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Told of every execution that ends, signed. */
  readonly webhookUrl: string | null;
  /** Requests wait this long for a slot unless they say otherwise; 0 answers at once. */
  readonly waitSeconds: number;
  readonly isActive: boolean;
  readonly createdAt: Date;
  readonly modifiedAt: Date;
}

/** queued → executing → completed | error | stopped. A crash takes it back to nothing: it is executed again. */
export type ExecutionStatus = 'queued' | 'executing' | 'completed' | 'error' | 'stopped';
export const endedStatuses = ['completed', 'error', 'stopped'] as const satisfies readonly ExecutionStatus[];

export interface ExecutionFailure {
  /** An error code of ours. */
  readonly code: string;
  /** For whoever runs the house: models by name, and what to set. */
  readonly message: string;
  /** What the organization hears instead; absent where the message is for it as well. */
  readonly tenantMessage?: string;
}

export interface Execution extends Slot {
  readonly deploymentId: string;
  readonly status: ExecutionStatus;
  readonly idempotencyKey: string | null;
  /** Of parameters and files: the same key with another request is refused. */
  readonly requestHash: string;
  readonly jobId: string;
  readonly acceptedAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly result: unknown;
  readonly failure: ExecutionFailure | null;
  /** What was left out or done by a lesser way, in sentences. */
  readonly warnings: readonly string[];
}

export interface UploadedFile {
  readonly name: string;
  /** As declared, and found to be true. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export interface ExecutionInput {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly files: readonly UploadedFile[];
}

export interface OrganizationStore {
  /** Fails with CONFLICT when the name is taken. */
  add(organization: Organization): Promise<void>;
  list(): Promise<readonly Organization[]>;
  /** Fails with CONFLICT when the name is taken; null when there is no such organization. */
  rename(id: string, name: string): Promise<Organization | null>;
  /** With its keys, deployments, limit and ended executions. Fails with CONFLICT while one is under way. */
  remove(id: string): Promise<boolean>;
}

export interface OrganizationKeyStore {
  add(key: StoredOrganizationKey): Promise<void>;
  /** All of all organizations, oldest first. */
  list(): Promise<readonly StoredOrganizationKey[]>;
  revoke(id: string, at: Date): Promise<OrganizationKey | null>;
}

export type DeploymentChange = Partial<
  Pick<Deployment, 'name' | 'options' | 'webhookUrl' | 'waitSeconds' | 'isActive'>
>;

export interface DeploymentStore {
  /** Fails with CONFLICT when the organization has one of this name, NOT_FOUND without the organization. */
  add(deployment: Deployment): Promise<void>;
  list(): Promise<readonly Deployment[]>;
  /** Changes what is given and nothing else. Fails with CONFLICT when the name is taken; null when there is none. */
  change(id: string, change: DeploymentChange, at: Date): Promise<Deployment | null>;
  /** With its ended executions. Fails with CONFLICT while one is under way. */
  remove(id: string): Promise<boolean>;
}

export interface ExecutionFilter {
  readonly organizationId?: string;
  readonly deploymentId?: string;
  readonly statuses?: readonly ExecutionStatus[];
  readonly limit: number;
  /** Only executions before this one (its id). */
  readonly before?: string;
}

export type ExecutionOutcome =
  | { readonly status: 'completed'; readonly result: unknown; readonly warnings: readonly string[] }
  | { readonly status: 'error'; readonly failure: ExecutionFailure }
  | { readonly status: 'stopped' };

export interface ExecutionStore {
  /**
   * Adds execution, files and job in one transaction, all or nothing. When the deployment has an execution with the
   * same idempotency key, that one comes back and nothing is added; nor is it once the signal aborts. Only a commit that
   * has begun is waited for, `withinMs`: what fails with STATE_UNAVAILABLE then may have been added.
   */
  dispatch(
    execution: Omit<Execution, 'jobId'>,
    input: ExecutionInput,
    enqueue: (transaction: unknown) => Promise<string>,
    limits?: { readonly signal: AbortSignal; readonly withinMs: number },
  ): Promise<{ readonly execution: Execution; readonly isNew: boolean }>;
  get(executionId: string, signal?: AbortSignal): Promise<Execution | null>;
  byIdempotencyKey(deploymentId: string, key: string, signal?: AbortSignal): Promise<Execution | null>;
  /** Newest first; without results. */
  list(filter: ExecutionFilter): Promise<readonly Execution[]>;
  input(executionId: string): Promise<ExecutionInput | null>;
  /** queued or executing → executing. False when it has ended. */
  begin(executionId: string, at: Date): Promise<boolean>;
  /**
   * Ends it, once: null when it had ended before (or is no more). Tells everybody who listens. What `alongside` adds
   * to the transaction happens if, and only if, the execution ended here.
   */
  end(
    executionId: string,
    outcome: ExecutionOutcome,
    at: Date,
    alongside?: (execution: Execution, transaction: unknown) => Promise<unknown>,
  ): Promise<Execution | null>;
  unfinished(): Promise<readonly (Slot & { readonly acceptedAt: Date; readonly jobId: string })[]>;
  /** Those of these ids that have ended. */
  ended(executionIds: readonly string[]): Promise<readonly string[]>;
  /** Calls back with the id of every execution that ends, in any process. */
  onEnded(listener: (executionId: string) => void): Promise<() => Promise<void>>;
  /** Deletes executions that ended before `before`, with their files, at most `limit`; how many went. */
  purge(before: Date, limit: number): Promise<number>;
  /** Deletes the files of executions that ended before `before`; how many executions lost some. */
  purgeFiles(before: Date, limit: number): Promise<number>;
}

export interface WorkflowProblem {
  readonly field: string;
  readonly message: string;
}

export interface WorkflowTask {
  readonly organizationId: string;
  readonly executionId: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly input: ExecutionInput;
  readonly signal: AbortSignal;
}

export interface WorkflowAnswer {
  /** Anything that JSON can say. */
  readonly result: unknown;
  readonly warnings: readonly string[];
}

/** What a deployment does. */
export interface Workflow {
  readonly name: WorkflowName;
  /** Why it cannot be used in this house; null when it can. */
  readonly unavailable: string | null;
  /** All problems of a deployment's options at once; `organizationId` says whose it is or is to be. */
  checkOptions(
    options: Readonly<Record<string, unknown>>,
    organizationId: string,
  ): Promise<readonly WorkflowProblem[]>;
  /** What keeps a deployment with these options from working now, in sentences. It may change by itself. */
  warnings?(options: Readonly<Record<string, unknown>>, organizationId: string): Promise<readonly string[]>;
  /** All problems of a request at once, files included; quick, before anything is stored. */
  checkInput(
    options: Readonly<Record<string, unknown>>,
    input: ExecutionInput,
  ): Promise<readonly WorkflowProblem[]>;
  /** Fails with a DeploymentError or GatewayError; retryable ones are tried again by the job. */
  run(task: WorkflowTask): Promise<WorkflowAnswer>;
}

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content:
    | string
    | readonly (
        | { readonly type: 'text'; readonly text: string }
        | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
      )[];
}

/** The gateway, as workflows see it: retries and fallbacks are its own. */
export interface LanguageModel {
  /** Those of these names (separated by commas; `auto` takes any) that mean no model now. Never fails. */
  unknownIn(model: string): Promise<readonly string[]>;
  complete(request: {
    readonly requestId: string;
    /** Who is charged: `org:ID`. */
    readonly caller: string;
    readonly messages: readonly ModelMessage[];
    /** `auto` when absent. */
    readonly model?: string;
    readonly temperature?: number;
    readonly maxTokens?: number;
    /** Asks for one JSON object. */
    readonly json?: boolean;
    readonly signal: AbortSignal;
  }): Promise<{ readonly text: string; readonly model: string }>;
}

/** What a document says, as text, or as a picture for models that see. */
export type ReadDocument =
  | { readonly kind: 'text'; readonly text: string; readonly warnings: readonly string[] }
  | { readonly kind: 'image'; readonly dataUrl: string };

export interface DocumentReader {
  /** The media types it reads; other text/* types are read as plain text. */
  readonly mediaTypes: readonly string[];
  /** Why the declared type cannot be true, or cannot be read, judged by its first bytes; null when it can. */
  contradiction(file: UploadedFile): string | null;
  /** Off the main thread, under a time limit. Fails with DEPLOYMENT_DOCUMENT_UNREADABLE. */
  read(file: UploadedFile, signal: AbortSignal): Promise<ReadDocument>;
}

/** JSON schemas of tenants: compiled and run off the main thread under a time limit. */
export interface SchemaChecker {
  /** What is wrong with the schema itself; null when it can be used. */
  problemOf(schema: unknown): Promise<string | null>;
  /** What is wrong with the value, in sentences; empty when it is valid. Fails with DEPLOYMENT_SCHEMA_TOO_SLOW. */
  violations(schema: unknown, value: unknown, signal: AbortSignal): Promise<readonly string[]>;
}
