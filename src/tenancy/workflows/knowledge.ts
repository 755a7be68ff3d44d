// The workflows `search` and `ingest`, on the knowledge of the organization.
import { HeadworksError } from '../../core/index.ts';
import { toFailure } from '../errors.ts';
import type { ExecutionFailure } from '../executions/types.ts';
import { fileProblems, mapDocuments, sourcesOf } from './documents.ts';
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
} from './workflow.ts';
import type {
  DocumentIntake,
  Fields,
  IngestedDocument,
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
  readonly status: 'accepted' | 'failed';
  readonly outcome: string | null;
  readonly artifact_id: string | null;
  readonly revision_id: string | null;
  readonly chunks: number | null;
  /** Progress of extraction at this moment; it continues in the background. */
  readonly state: string | null;
  /** Chunks read by rules because a model failed, as far as is known at this moment. */
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
      ...fileProblems(files, (file) => intake.problemOf(file)),
    ],
    run: (task) => ingestAll(intake, task),
  };
}

async function ingestAll(
  intake: DocumentIntake,
  { organizationId, options, input, signal: taskSignal }: WorkflowTask,
): Promise<WorkflowResult> {
  const documents = sourcesOf(input);
  const space = spaceOf(options);
  const { outcomes, warnings } = await mapDocuments(documents, 1, taskSignal, (source, signal) => {
    const document = source.name === null ? { text: source.text } : source;
    return intake.ingest({ organizationId, space, document, signal });
  });
  const results = outcomes.map((outcome, index) => resultOf(documents[index]?.name ?? null, outcome));
  const fallbackChunks = results.reduce((sum, { fallback_chunks }) => sum + (fallback_chunks ?? 0), 0);
  return {
    result: results,
    warnings: [
      ...warnings,
      ...(fallbackChunks > 0
        ? [
            `A model failed, so ${fallbackChunks} chunks were read by rules: fewer mentions and events. They are extracted again when the model is available.`,
          ]
        : []),
    ],
  };
}

function resultOf(file: string | null, outcome: IngestedDocument | HeadworksError): IngestResult {
  if (outcome instanceof HeadworksError)
    return {
      file,
      status: 'failed',
      outcome: null,
      artifact_id: null,
      revision_id: null,
      chunks: null,
      state: null,
      fallback_chunks: null,
      // The message is for the organization: messages of knowledge may name stores and models.
      error: toFailure(outcome, (message) => message),
    };
  return {
    file,
    status: 'accepted',
    outcome: outcome.outcome,
    artifact_id: outcome.artifactUid,
    revision_id: outcome.revisionId,
    chunks: outcome.chunks,
    state: outcome.state,
    fallback_chunks: outcome.fallbackChunks,
    error: null,
  };
}
