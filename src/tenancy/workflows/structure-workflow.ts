// The workflow `structure`: documents or text in, JSON by the deployment's schema out; a result for each document.
import { HeadworksError } from '../../core/index.ts';
import { failureOf } from '../executions/failure-of.ts';
import type {
  ExecutionFailure,
  ExecutionInput,
  Workflow,
  WorkflowAnswer,
  WorkflowProblem,
  WorkflowTask,
} from '../ports.ts';
import type { FieldCheck } from './check-fields.ts';
import { anything, checkFields, flag, isGiven, notAsField, text } from './check-fields.ts';
import type { DocumentSource } from './documents.ts';
import { fileProblems } from './documents.ts';
import { eachAtOnce } from './each-at-once.ts';
import { modelChecks, modelWarnings } from './model-options.ts';
import type { Structured } from './structure-document.ts';
import { structureDocument } from './structure-document.ts';
import type { WorkflowParts } from './workflow-parts.ts';

/** What becomes of one document. */
export interface StructureResult {
  /** Null for text that was sent as it is, and for documents that were taken together. */
  readonly file: string | null;
  readonly status: 'completed' | 'error';
  readonly output: unknown;
  readonly model: string | null;
  readonly error: ExecutionFailure | null;
}

const longestInstructions = 20_000;
const longestText = 5_000_000;
/** The gateway has redacted what providers said. */
const asItIs = (text: string): string => text;
/** Documents of one execution that are with a model at the same time. */
const atOnce = 4;

const optionChecks: Readonly<Record<string, FieldCheck>> = {
  schema: anything,
  instructions: text(longestInstructions),
  combine: flag,
  ...modelChecks,
};
const inputChecks: Readonly<Record<string, FieldCheck>> = {
  text: text(longestText),
  instructions: text(longestInstructions),
  files: notAsField,
};

export function structureWorkflow(parts: WorkflowParts): Workflow {
  return {
    name: 'structure',
    unavailable: null,
    checkOptions: async (options) => [
      ...(await schemaProblems(parts, options['schema'])),
      ...checkFields(options, optionChecks, 'the workflow structure'),
    ],
    warnings: (options) => modelWarnings(parts.model, options),
    checkInput: async (_, { parameters, files }) => [
      ...(files.length > 0 || isGiven(parameters['text']) || isGiven(parameters['files'])
        ? []
        : [{ field: 'files', message: 'are missing: send a file or more, or "text"' }]),
      ...checkFields(parameters, inputChecks, 'the workflow structure'),
      ...fileProblems(parts.documents, files),
    ],
    run: (task) => run(parts, task),
  };
}

async function schemaProblems(
  { schemas }: WorkflowParts,
  schema: unknown,
): Promise<readonly WorkflowProblem[]> {
  if (!isGiven(schema))
    return [{ field: 'schema', message: 'is missing: the JSON schema that answers must fit' }];
  const problem = await schemas.problemOf(schema);
  return problem === null ? [] : [{ field: 'schema', message: `cannot be used. ${problem}` }];
}

type Outcome = { readonly done: Structured } | { readonly error: HeadworksError };

async function run(parts: WorkflowParts, task: WorkflowTask): Promise<WorkflowAnswer> {
  const groups = groupsOf(task.input, task.options['combine'] === true);
  const outcomes = await eachAtOnce(
    groups,
    atOnce,
    task.signal,
    async (sources, signal): Promise<Outcome> => {
      try {
        return { done: await structureDocument(parts, { ...task, signal }, sources) };
      } catch (error) {
        // What may pass by itself fails the whole, which is then tried again; a stopped task is no answer either.
        if (!(error instanceof HeadworksError) || error.isRetryable || signal.aborted) throw error;
        return { error };
      }
    },
  );
  const failures = outcomes.filter((outcome) => 'error' in outcome);
  const [first] = failures;
  if (first && failures.length === outcomes.length) throw first.error;
  return {
    result: outcomes.map((outcome, index) => resultOf(groups[index] ?? [], outcome)),
    warnings: [
      ...(failures.length > 0 ? [`${failures.length} of ${outcomes.length} documents failed.`] : []),
      ...outcomes.flatMap((outcome) => ('done' in outcome ? outcome.done.warnings : [])),
    ],
  };
}

/** The text first, then the files in order, each by itself unless all are to be taken together. */
function groupsOf(
  { parameters, files }: ExecutionInput,
  isCombined: boolean,
): readonly (readonly DocumentSource[])[] {
  const sent = parameters['text'];
  const sources: readonly DocumentSource[] = [
    ...(typeof sent === 'string' ? [{ name: null, text: sent }] : []),
    ...files.map((file) => ({ name: file.name, file })),
  ];
  return isCombined ? [sources] : sources.map((source) => [source]);
}

function resultOf(sources: readonly DocumentSource[], outcome: Outcome): StructureResult {
  const file = sources.length === 1 ? (sources[0]?.name ?? null) : null;
  if ('done' in outcome)
    return { file, status: 'completed', output: outcome.done.output, model: outcome.done.model, error: null };
  return { file, status: 'error', output: null, model: null, error: failureOf(outcome.error, asItIs) };
}
