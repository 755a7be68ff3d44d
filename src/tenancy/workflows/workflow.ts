// Workflows: what deployments do, what they need for it, and the field types of their options and parameters.
import { z } from 'zod';
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
  /**
   * Fails with a DeploymentError or GatewayError; the job retries retryable ones. It must end when the signal aborts: at
   * its timeout the execution ends and releases its slot without waiting, and what `run` returns later is ignored.
   */
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
  readonly state: 'queued' | 'running' | 'completed' | 'degraded';
  /** Chunks read by rules because a model failed, as far as is known at this moment. */
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

/* ---- fields, and the options `model` and `space` that several workflows have ---- */

/** Names of unknown fields are shown, and may be very long. */
const maxFieldLength = 100;

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Anything that is neither blank nor invisible. */
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

export function text(maxLength: number) {
  const rule = `must be text of 1 to ${maxLength.toLocaleString('en')} characters, not only blanks`;
  return z.custom<string>(
    (value) => typeof value === 'string' && visible.test(value) && value.length <= maxLength,
    // A field that occurs twice in a form is a list.
    { error: ({ input }) => (Array.isArray(input) ? `${rule}; send it once, not as a list` : rule) },
  );
}

export function number(min: number, max: number) {
  const error = `must be a number from ${min} to ${max}`;
  return z.number({ error }).min(min, error).max(max, error);
}

export function integer(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max.toLocaleString('en')}`;
  return z.int({ error }).min(min, error).max(max, error);
}

export const flag = z.boolean({ error: 'must be true or false' });

/** Checked elsewhere. */
export const anything = z.unknown();

/** Files are not part of the fields of a request. */
export const filesOnly = z.custom(() => false, {
  error:
    'must be sent as files of a form (multipart/form-data), each with its name; here they are JSON or text',
});

/** All problems of the fields. `owner` names what they belong to: "the workflow structure". Null counts as absent. */
export function checkFields(
  values: Fields,
  shape: Readonly<Record<string, z.ZodType>>,
  owner: string,
): readonly WorkflowProblem[] {
  const known = Object.keys(shape);
  const unknownField = `is not a field of ${owner}${known.length === 0 ? '' : `; allowed: ${known.join(', ')}`}`;
  return Object.entries(values).flatMap(([name, value]) => {
    const field = name.slice(0, maxFieldLength);
    const type = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (!type) return [{ field, message: unknownField }];
    const issue = isGiven(value) ? type.safeParse(value).error?.issues[0] : undefined;
    return issue ? [{ field, message: issue.message }] : [];
  });
}

export const modelFields = {
  model: text(2_000),
  temperature: number(0, 2),
  max_tokens: integer(1, 1_000_000),
} as const;

export interface ModelChoice {
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
}

/** The choice of models in validated options. */
export function modelChoice(options: Fields): ModelChoice {
  const { model, temperature, max_tokens: maxTokens } = options;
  return {
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof maxTokens === 'number' ? { maxTokens } : {}),
  };
}

/** An unknown model is not a reason to reject a deployment: it may be created later. */
export async function modelWarnings(
  { unknownIn }: Pick<LanguageModel, 'unknownIn'>,
  options: Fields,
): Promise<readonly string[]> {
  const { model } = modelChoice(options);
  const unknown = model === undefined ? [] : await unknownIn(model);
  return unknown.map(
    (name) =>
      `There is no model "${name}": every request will fail until one is created ("headworks models --help") or the options name another.`,
  );
}

export const spaceField = { space: text(100) } as const;

/** Without the option the default space is created on first use. */
export async function spaceProblems(
  spaces: SpaceCheck,
  { space }: Fields,
  organizationId: string,
): Promise<readonly WorkflowProblem[]> {
  if (typeof space !== 'string' || !spaceField.space.safeParse(space).success) return [];
  const message = await spaces.spaceProblem(organizationId, space);
  return message === null ? [] : [{ field: 'space', message }];
}

/** Problems as sentences, for a deployment whose space may have been deleted. */
export async function spaceWarnings(
  spaces: SpaceCheck,
  options: Fields,
  organizationId: string,
): Promise<readonly string[]> {
  const problems = await spaceProblems(spaces, options, organizationId).catch(() => []);
  return problems.map(
    ({ message }) => `The space ${JSON.stringify(options['space'])} ${message}. Calls will fail until then.`,
  );
}
