// The workflows `search` and `ingest`, on the knowledge of the organization.
import { HeadworksError } from '../../core/index.ts';
import { toFailure } from '../executions/failure.ts';
import type { ExecutionFailure } from '../executions/types.ts';
import {
  anything,
  checkFields,
  flag,
  integer,
  isGiven,
  spaceField,
  spaceProblems,
  spaceWarnings,
  text,
} from './fields.ts';
import type {
  DocumentIntake,
  Fields,
  KnowledgeSearch,
  Workflow,
  WorkflowProblem,
  WorkflowResult,
  WorkflowTask,
} from './workflow.ts';

const maxQueryLength = 10_000;
const maxTextLength = 5_000_000;

/** A deployment may fix these; a caller may set those that it does not fix. */
const searchFields = {
  limit: integer(1, 50),
  filters: anything,
  graph_expand: flag,
  graph_budget: integer(0, 50),
  graph_seed_limit: integer(0, 50),
  graph_filters: anything,
  include_entities: flag,
} as const;

export function searchWorkflow(knowledge: KnowledgeSearch): Workflow {
  const check = (fields: Fields, more: Parameters<typeof checkFields>[1]): readonly WorkflowProblem[] => {
    const { filters, graph_filters } = givenOnly(fields);
    return [
      ...checkFields(fields, { ...more, ...searchFields }, 'the workflow search'),
      ...knowledge.filterProblems({ filters, graph_filters }),
    ];
  };
  return {
    name: 'search',
    checkOptions: async (options, organizationId) => [
      ...check(options, spaceField),
      ...(await spaceProblems(knowledge, options, organizationId)),
    ],
    warnings: (options, organizationId) => spaceWarnings(knowledge, options, organizationId),
    checkInput: async (_, { parameters, files }) => [
      ...(isGiven(parameters['query'])
        ? []
        : [{ field: 'query', message: 'is missing: the text to search for' }]),
      ...check(parameters, { query: text(maxQueryLength) }),
      ...(files.length > 0 ? [{ field: 'files', message: 'are not accepted by the workflow search' }] : []),
    ],
    run: async ({ organizationId, options, input, signal }) => {
      const { answer, warning } = await knowledge.search({
        organizationId,
        space: spaceOf(options),
        query: String(input.parameters['query']),
        parameters: searchParameters(givenOnly(input.parameters), givenOnly(options)),
        signal,
      });
      return { result: answer, warnings: warning === null ? [] : [warning] };
    },
  };
}

const givenOnly = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));

const spaceOf = ({ space }: Fields): string | null => (typeof space === 'string' ? space : null);

/** Options win over parameters; filters are merged one by one, so that a caller may narrow a search further. */
function searchParameters(given: Fields, fixed: Fields): Fields {
  const filters = { ...(given['filters'] as Fields), ...(fixed['filters'] as Fields) };
  const merged: Fields = { ...given, ...fixed, filters };
  return Object.fromEntries(Object.entries(merged).filter(([field]) => Object.hasOwn(searchFields, field)));
}

/** The result for one document. */
export interface IngestResult {
  /** Null for text sent as a parameter. */
  readonly file: string | null;
  readonly status: 'accepted' | 'error';
  readonly outcome: string | null;
  readonly artifact_id: string | null;
  readonly revision_id: string | null;
  readonly chunks: number | null;
  /** Progress of extraction at this moment; it continues in the background. */
  readonly state: string | null;
  /** Chunks extracted by rules because a model failed, as far as is known at this moment. */
  readonly fallback_chunks: number | null;
  readonly error: ExecutionFailure | null;
}

export function ingestWorkflow(intake: DocumentIntake): Workflow {
  return {
    name: 'ingest',
    checkOptions: async (options, organizationId) => [
      ...checkFields(options, spaceField, 'the workflow ingest'),
      ...(await spaceProblems(intake, options, organizationId)),
    ],
    warnings: (options, organizationId) => spaceWarnings(intake, options, organizationId),
    checkInput: async (_, { parameters, files }) => [
      ...(files.length > 0 || isGiven(parameters['text'])
        ? []
        : [{ field: 'files', message: 'are missing: send one or more files, or "text"' }]),
      ...checkFields(parameters, { text: text(maxTextLength) }, 'the workflow ingest'),
      ...files.flatMap((file, index) => {
        const message = intake.problemOf(file);
        return message === null ? [] : [{ field: `files[${index}]`, message }];
      }),
    ],
    run: (task) => ingestAll(intake, task),
  };
}

type Document = Parameters<DocumentIntake['ingest']>[0]['document'];

async function ingestAll(intake: DocumentIntake, task: WorkflowTask): Promise<WorkflowResult> {
  const sent = task.input.parameters['text'];
  const documents: readonly Document[] = [
    ...(typeof sent === 'string' ? [{ text: sent }] : []),
    ...task.input.files,
  ];
  const results: IngestResult[] = [];
  const failures: HeadworksError[] = [];
  for (const document of documents)
    results.push(
      await ingestOne(intake, task, document).catch((error: unknown) => {
        // A retryable error fails the whole attempt, which is then repeated: documents already ingested stay unchanged.
        if (!(error instanceof HeadworksError) || error.isRetryable || task.signal.aborted) throw error;
        failures.push(error);
        return failedResult(document, error);
      }),
    );
  const [first] = failures;
  if (first && failures.length === documents.length) throw first;
  const fallbackChunks = results.reduce((sum, { fallback_chunks }) => sum + (fallback_chunks ?? 0), 0);
  return {
    result: results,
    warnings: [
      ...(failures.length > 0 ? [`${failures.length} of ${documents.length} documents failed.`] : []),
      ...(fallbackChunks > 0
        ? [
            `A model failed, so ${fallbackChunks} chunks were extracted by rules: fewer mentions and events. They are extracted again when the model is available.`,
          ]
        : []),
    ],
  };
}

const nameOf = (document: Document): string | null => ('name' in document ? document.name : null);

async function ingestOne(
  intake: DocumentIntake,
  { organizationId, options, signal }: WorkflowTask,
  document: Document,
): Promise<IngestResult> {
  signal.throwIfAborted();
  const { outcome, artifactUid, revisionId, chunks, state, fallbackChunks } = await intake.ingest({
    organizationId,
    space: spaceOf(options),
    document,
    signal,
  });
  return {
    file: nameOf(document),
    status: 'accepted',
    outcome,
    artifact_id: artifactUid,
    revision_id: revisionId,
    chunks,
    state,
    fallback_chunks: fallbackChunks,
    error: null,
  };
}

const failedResult = (document: Document, error: HeadworksError): IngestResult => ({
  file: nameOf(document),
  status: 'error',
  outcome: null,
  artifact_id: null,
  revision_id: null,
  chunks: null,
  state: null,
  fallback_chunks: null,
  // With a message for the organization: messages of knowledge may name stores and models.
  error: toFailure(error, (message) => message),
});
