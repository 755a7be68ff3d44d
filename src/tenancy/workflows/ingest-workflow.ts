// The workflow `ingest`: documents or text in, into a space of the organization; what became of each comes back.
import { HeadworksError } from '../../core/index.ts';
import type { Workflow, WorkflowAnswer, WorkflowTask } from '../ports.ts';
import type { FieldCheck } from './check-fields.ts';
import { checkFields, isGiven, text } from './check-fields.ts';
import { spaceOption, spaceProblems, spaceWarnings } from './check-space.ts';
import type { DocumentIntake } from './workflow-parts.ts';

/** What became of one document, as callers see it. */
export interface IngestResult {
  /** Null for text that was sent as it is. */
  readonly file: string | null;
  readonly status: 'accepted' | 'error';
  readonly outcome: string | null;
  readonly artifact_uid: string | null;
  readonly revision_id: string | null;
  readonly chunks: number | null;
  /** How far it is read at this moment: reading goes on behind the answer. */
  readonly state: string | null;
  /** Chunks that rules read because a model that was asked failed, as far as is known at this moment. */
  readonly stood_in: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const longestText = 5_000_000;
const inputChecks: Readonly<Record<string, FieldCheck>> = { text: text(longestText) };

export function ingestWorkflow(intake: DocumentIntake): Workflow {
  return {
    name: 'ingest',
    unavailable: null,
    checkOptions: async (options, organizationId) => [
      ...checkFields(options, spaceOption, 'the workflow ingest'),
      ...(await spaceProblems(intake, options, organizationId)),
    ],
    warnings: (options, organizationId) => spaceWarnings(intake, options, organizationId),
    checkInput: async (_, { parameters, files }) => [
      ...(files.length > 0 || isGiven(parameters['text'])
        ? []
        : [{ field: 'files', message: 'are missing: send a file or more, or "text"' }]),
      ...checkFields(parameters, inputChecks, 'the workflow ingest'),
      ...files.flatMap((file, index) => {
        const message = intake.problemOf(file);
        return message === null ? [] : [{ field: `files[${index}]`, message }];
      }),
    ],
    run: (task) => run(intake, task),
  };
}

async function run(intake: DocumentIntake, task: WorkflowTask): Promise<WorkflowAnswer> {
  const sent = task.input.parameters['text'];
  const documents = [...(typeof sent === 'string' ? [{ text: sent }] : []), ...task.input.files];
  const results: IngestResult[] = [];
  const failures: HeadworksError[] = [];
  for (const document of documents)
    results.push(
      await take(intake, task, document).catch((error: unknown) => {
        // What may pass by itself fails the whole, which is then tried again: what is in already stays as it is.
        if (!(error instanceof HeadworksError) || error.isRetryable || task.signal.aborted) throw error;
        failures.push(error);
        return failed(document, error);
      }),
    );
  const [first] = failures;
  if (first && failures.length === documents.length) throw first;
  const stoodIn = results.reduce((sum, { stood_in }) => sum + (stood_in ?? 0), 0);
  const warnings = [
    ...(failures.length > 0 ? [`${failures.length} of ${documents.length} documents failed.`] : []),
    ...(stoodIn > 0
      ? [
          `A model was asked and failed, so rules read ${stoodIn} chunks: fewer mentions and events. It reads them again when it answers.`,
        ]
      : []),
  ];
  return { result: results, warnings };
}

type Document = Parameters<DocumentIntake['take']>[0]['document'];

const nameOf = (document: Document): string | null => ('name' in document ? document.name : null);

async function take(
  intake: DocumentIntake,
  { organizationId, options, signal }: WorkflowTask,
  document: Document,
): Promise<IngestResult> {
  const space = typeof options['space'] === 'string' ? options['space'] : null;
  const { outcome, artifactUid, revisionId, chunks, state, stoodIn } = await intake.take({
    organizationId,
    space,
    document,
    signal,
  });
  return {
    file: nameOf(document),
    status: 'accepted',
    outcome,
    artifact_uid: artifactUid,
    revision_id: revisionId,
    chunks,
    state,
    stood_in: stoodIn,
    error: null,
  };
}

const failed = (document: Document, { code, message }: HeadworksError): IngestResult => ({
  file: nameOf(document),
  status: 'error',
  outcome: null,
  artifact_uid: null,
  revision_id: null,
  chunks: null,
  state: null,
  stood_in: null,
  error: { code, message },
});
