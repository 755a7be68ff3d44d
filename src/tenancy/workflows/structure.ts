// The workflow `structure`: JSON that matches the deployment's schema from each document, or from all of them together.
import type { ChatMessage, ParsedResponse } from '../../core/index.ts';
import { completeWithRepair, findJson, HeadworksError, maxResponseLength } from '../../core/index.ts';
import { SchemaCheckStopped } from '../../platform/json-schema/schema-checks.ts';
import { DeploymentError, toFailure } from '../errors.ts';
import type { ExecutionFailure } from '../executions/types.ts';
import type { DocumentSource, NamedDocument } from './documents.ts';
import {
  documentMessage,
  documentsAreData,
  fileProblems,
  mapDocuments,
  readDocuments,
  sourcesOf,
  warningsOf,
} from './documents.ts';
import {
  anything,
  checkFields,
  filesOnly,
  flag,
  isGiven,
  modelChoice,
  modelFields,
  modelWarnings,
  text,
} from './workflow.ts';
import { completePrompt } from './prompt.ts';
import type { Workflow, WorkflowDeps, WorkflowProblem, WorkflowResult, WorkflowTask } from './workflow.ts';

/** The result for one document. */
export interface StructureResult {
  /** Null for text sent as a parameter, and for documents that were combined. */
  readonly file: string | null;
  readonly status: 'completed' | 'failed';
  readonly output: unknown;
  readonly model: string | null;
  readonly error: ExecutionFailure | null;
}

const maxInstructionsLength = 20_000;
const maxTextLength = 5_000_000;
/** The gateway has already redacted the messages of providers. */
const redacted = (message: string): string => message;
/** Documents of one execution that are processed at the same time. */
const concurrency = 4;
/** Violations named in the message of a failure; `details` has all. */
const maxNamedViolations = 3;
/** How much of an invalid answer the repair prompt repeats. */
const maxRepeatedLength = 50_000;

const optionFields = {
  schema: anything,
  instructions: text(maxInstructionsLength),
  combine: flag,
  ...modelFields,
} as const;
const inputFields = {
  text: text(maxTextLength),
  instructions: text(maxInstructionsLength),
  files: filesOnly,
} as const;

export function structureWorkflow(deps: WorkflowDeps): Workflow {
  return {
    name: 'structure',
    checkOptions: async (options, organizationId) => [
      ...(await schemaProblems(deps, options['schema'], organizationId)),
      ...checkFields(options, optionFields, 'the workflow structure'),
    ],
    warnings: (options) => modelWarnings(deps.model, options),
    checkInput: async (_, { parameters, files }) => [
      ...(files.length > 0 || isGiven(parameters['text']) || isGiven(parameters['files'])
        ? []
        : [{ field: 'files', message: 'are missing: send one or more files, or "text"' }]),
      ...checkFields(parameters, inputFields, 'the workflow structure'),
      ...fileProblems(files, (file) => deps.documents.contradiction(file)),
    ],
    run: (task) => run(deps, task),
  };
}

async function schemaProblems(
  { schemas }: WorkflowDeps,
  schema: unknown,
  organizationId: string,
): Promise<readonly WorkflowProblem[]> {
  if (!isGiven(schema))
    return [{ field: 'schema', message: 'is missing: the JSON schema that results must match' }];
  const problem = await schemas.problemOf(schema, { group: organizationId });
  return problem === null ? [] : [{ field: 'schema', message: `cannot be used. ${problem}` }];
}

interface Structured {
  readonly output: unknown;
  readonly model: string;
  readonly warnings: readonly string[];
}

async function run(deps: WorkflowDeps, task: WorkflowTask): Promise<WorkflowResult> {
  const sources = sourcesOf(task.input);
  const groups = task.options['combine'] === true ? [sources] : sources.map((source) => [source]);
  const { outcomes, warnings } = await mapDocuments(groups, concurrency, task.signal, (group, signal) =>
    structureDocuments(deps, { ...task, signal }, group),
  );
  return {
    result: outcomes.map((outcome, index) => resultOf(groups[index] ?? [], outcome)),
    warnings: [...warnings, ...outcomes.flatMap((outcome) => ('output' in outcome ? outcome.warnings : []))],
  };
}

function resultOf(sources: readonly DocumentSource[], outcome: Structured | HeadworksError): StructureResult {
  const file = sources.length === 1 ? (sources[0]?.name ?? null) : null;
  if (outcome instanceof HeadworksError)
    return { file, status: 'failed', output: null, model: null, error: toFailure(outcome, redacted) };
  return { file, status: 'completed', output: outcome.output, model: outcome.model, error: null };
}

/**
 * One completion, and one repair if it does not match. Fails with DEPLOYMENT_RESPONSE_INVALID, …_DOCUMENT_UNREADABLE,
 * …_SCHEMA_TOO_SLOW, or as the gateway does.
 */
async function structureDocuments(
  deps: WorkflowDeps,
  task: WorkflowTask,
  sources: readonly DocumentSource[],
): Promise<Structured> {
  const { options, input } = task;
  const documents = await readDocuments(deps, sources, task);
  const instructions = [options['instructions'], input.parameters['instructions']].filter(
    (each) => typeof each === 'string',
  );
  const schema = options['schema'];
  const { value, model } = await completeWithRepair({
    messages: structurePrompt(schema, instructions, documents),
    maxAnswerLength: maxResponseLength,
    maxRepeatedLength,
    signal: task.signal,
    complete: (messages) =>
      completePrompt(deps, task, {
        temperature: 0,
        ...modelChoice(options),
        messages,
        json: expectsObject(schema),
      }),
    parse: async (answer): Promise<ParsedResponse<unknown>> => {
      const found = findJson(answer);
      if (!found) return { problems: ['the answer has no complete JSON value'] };
      const problems = await deps.schemas
        .violations(schema, found.value, { signal: task.signal, group: task.organizationId })
        .catch((error: unknown) =>
          Promise.reject(error instanceof SchemaCheckStopped ? schemaTooSlow(error) : error),
        );
      return problems.length === 0 ? found : { problems };
    },
    unusable: answerInvalid,
  });
  return { output: value, model, warnings: documents.flatMap(warningsOf) };
}

const schemaTooSlow = (cause: SchemaCheckStopped): DeploymentError =>
  new DeploymentError(
    'DEPLOYMENT_SCHEMA_TOO_SLOW',
    `The answer could not be validated against the JSON schema. ${cause.message} Simplify the schema, its patterns first.`,
    {
      cause,
      tenantMessage:
        'The answer could not be validated against the JSON schema in time. Please contact the provider of this API.',
    },
  );

function answerInvalid(violations: readonly string[], model: string): DeploymentError {
  const named = violations.slice(0, maxNamedViolations).join('; ');
  const more =
    violations.length > maxNamedViolations ? `; and ${violations.length - maxNamedViolations} more` : '';
  const problem = `returned no JSON that matches the schema, even after one repair: ${named}${more}.`;
  return new DeploymentError(
    'DEPLOYMENT_RESPONSE_INVALID',
    `${model} ${problem} Use a more capable model, simplify the schema, or extend the instructions.`,
    {
      details: { model, violations },
      tenantMessage: `The model ${problem} Please try again with more "instructions".`,
    },
  );
}

function structurePrompt(
  schema: unknown,
  instructions: readonly string[],
  documents: readonly NamedDocument[],
): readonly ChatMessage[] {
  const system = [
    'You take data out of documents. Answer with one JSON value that is valid against the JSON schema below, and with nothing else: no explanation, no code fence.',
    'Say only what the documents say. Where they say nothing: null if the schema allows it, else leave the field out if it is optional.',
    documentsAreData,
    `JSON schema:\n${JSON.stringify(schema)}`,
    ...instructions.map((each) => `Instructions:\n${each}`),
  ];
  return [{ role: 'system', content: system.join('\n\n') }, documentMessage('', documents)];
}

/** The JSON mode of models returns objects; for other schemas it is not requested. */
function expectsObject(schema: unknown): boolean {
  const type: unknown = (schema as { readonly type?: unknown } | null)?.type;
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}
