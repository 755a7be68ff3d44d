// Workflows: what deployments do, and what they need for it.
import type { TextCompletion, TextRequest, IdSource } from '../../core/index.ts';
import type { Documents } from '../../platform/documents/documents.ts';
import type { SchemaChecks } from '../../platform/json-schema/schema-checks.ts';
import type { ExecutionInput, UploadedFile } from '../executions/types.ts';
import type { WorkflowName } from '../vocabulary.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface WorkflowProblem {
  readonly field: string;
  readonly message: string;
}

export interface WorkflowTask {
  readonly organizationId: string;
  readonly executionId: string;
  readonly options: Fields;
  readonly input: ExecutionInput;
  readonly signal: AbortSignal;
}

export interface WorkflowResult {
  /** Any JSON value. */
  readonly result: unknown;
  readonly warnings: readonly string[];
}

export interface Workflow {
  readonly name: WorkflowName;
  /** All problems of a deployment's options; `organizationId` is its owner. */
  checkOptions(options: Fields, organizationId: string): Promise<readonly WorkflowProblem[]>;
  /** Sentences about what keeps a deployment with these options from working now. */
  warnings?(options: Fields, organizationId: string): Promise<readonly string[]>;
  /** All problems of a request, files included; fast, before anything is stored. */
  checkInput(options: Fields, input: ExecutionInput): Promise<readonly WorkflowProblem[]>;
  /** Fails with a DeploymentError or GatewayError; the job retries retryable ones. */
  run(task: WorkflowTask): Promise<WorkflowResult>;
}

/** The gateway as workflows use it; retries and fallbacks are the gateway's. */
export interface LanguageModel {
  /** Those of these names (comma-separated; `auto` matches any) that match no model now. Never fails. */
  unknownIn(model: string): Promise<readonly string[]>;
  complete(request: TextRequest): Promise<TextCompletion>;
}

/** Which spaces an organization has. One implementation: knowledge, which is another domain. */
export interface SpaceCheck {
  /** Why this space cannot be used, to follow the name of the option; null when it can. */
  spaceProblem(organizationId: string, space: string): Promise<string | null>;
}

/** One implementation: knowledge, which is another domain. */
export interface KnowledgeSearch extends SpaceCheck {
  /** All problems of search filters. */
  filterProblems(fields: {
    readonly filters: unknown;
    readonly graph_filters: unknown;
  }): readonly WorkflowProblem[];
  /** In this space of the organization; null: its default space. */
  search(request: {
    readonly organizationId: string;
    readonly space: string | null;
    readonly query: string;
    /** Validated, named as in an HTTP request; absent ones have the defaults of knowledge. */
    readonly parameters: Fields;
    readonly signal: AbortSignal;
  }): Promise<{ readonly answer: unknown; readonly warning: string | null }>;
}

export interface DocumentIntake extends SpaceCheck {
  /** Why a file cannot be ingested, from its first bytes: an image, a program, another type than declared. */
  problemOf(file: UploadedFile): string | null;
  /** Into this space of the organization; null: its default space. */
  ingest(request: {
    readonly organizationId: string;
    readonly space: string | null;
    readonly document:
      | { readonly text: string }
      | { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array };
    readonly signal: AbortSignal;
  }): Promise<IngestedDocument>;
}

export interface IngestedDocument {
  readonly outcome: string;
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly chunks: number;
  /** Progress of extraction at this moment. */
  readonly state: 'processing' | 'complete' | 'partial';
  /** Chunks extracted by rules because a model failed, as far as is known at this moment. */
  readonly fallbackChunks: number;
}

export interface WorkflowDeps {
  readonly model: LanguageModel;
  readonly documents: Pick<Documents, 'contradiction' | 'read'>;
  readonly schemas: Pick<SchemaChecks, 'problemOf' | 'violations'>;
  /** Each model call has an id of its own. */
  readonly ids: IdSource;
  readonly ingest: DocumentIntake;
  readonly search: KnowledgeSearch;
}
