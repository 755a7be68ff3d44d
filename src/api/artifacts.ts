// Artifacts: documents in a space, their revisions and their processing status.
import { z } from 'zod';
import {
  artifactStates,
  artifactTypes,
  chunkSteps,
  entityTypes,
  rejectionReasons,
  truncationReasons,
} from '../knowledge/vocabulary.ts';
import {
  after,
  count,
  deleted,
  id,
  instant,
  listOf,
  next,
  pageSize,
  sourceId,
  sourceSystem,
  spaceFields,
} from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const spaceQuery = z.strictObject(spaceFields);
const clue = z.string().min(1).max(300).optional();

const structuredMention = z.strictObject({
  name: z.string().min(1).max(300).describe('Name as the source has it.'),
  type: z.enum(entityTypes),
  relation: z.string().min(1).max(100).describe('owner, folder, author, …'),
  role: clue.describe('Role of a person.'),
  organization: clue.describe('Organization of a person.'),
  email: clue.describe('Email address of a person.'),
  identity: z
    .string()
    .max(250)
    .regex(/^[^#]+#[^#/]+\/.+$/, 'must be source#kind/id')
    .optional()
    .describe(
      'Identity at the source as `source#kind/id`: equal identities are one entity, whatever their names; different ids of the same source are different entities.',
    ),
});

const ArtifactInput = z.strictObject({
  text: z.string().min(1).optional().describe('The document as text. Send this or `file`.'),
  file: z
    .strictObject({
      name: z.string().min(1).max(1_000).describe('File name with its extension.'),
      media_type: z.string().max(200).default('').describe('Empty: detected from the name and the content.'),
      content: z.base64().describe('Content in base64.'),
    })
    .optional()
    .describe('The document as a file. Send this or `text`.'),
  type: z.enum(artifactTypes).optional().describe('Type of the document; default: by the kind of file.'),
  title: z
    .string()
    .max(1_000)
    .optional()
    .describe('Title of the document; default: the title in it, or its name.'),
  source_system: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('System that the document comes from, such as crm or drive. Default: "upload".'),
  source_id: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('Id at the source: the same id with other content is a new revision.'),
  source_ts: instant.optional().describe('When it was written, according to the source.'),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Any JSON object; stored with the revision.'),
  mentions: z
    .array(structuredMention)
    .max(1_000)
    .optional()
    .describe('Entities known without reading the text: owner, folder, …'),
  ...spaceFields,
});

const revisionFields = {
  id: id.describe('Id of the artifact; the same in all its revisions.'),
  revision_id: id,
  type: z.enum(artifactTypes),
  source_system: sourceSystem,
  source_id: sourceId,
  title: z.string(),
  source_ts: instant.nullable().describe('When it was written, according to the source.'),
  content_hash: z.string().describe('Equal for revisions with the same content.'),
  token_count: count.describe('Approximate number of tokens of the text.'),
  chunk_count: count.describe('Number of chunks of the text.'),
  is_latest: z.boolean().describe('False: a newer revision exists.'),
  warnings: z.array(z.string()).describe('Parts of the document that could not be read.'),
  ingested_at: instant.describe('When this revision was stored.'),
};

const Revision = z.object(revisionFields).meta({ id: 'Revision', description: 'A revision of an artifact.' });
export type Revision = z.infer<typeof Revision>;

const stepCounts = z.object({
  completed: count.describe('Chunks for which the step is completed.'),
  failed: count.describe('Chunks for which it failed; a repair retries it.'),
  skipped: count.describe('Chunks for which it was skipped, because a dependency was unavailable.'),
  queued: count.describe('Chunks that wait for it.'),
});
const positions = z.array(count).describe('Chunk positions, from 0.');
const chunkCount = count.describe('Number of chunks of the document.');

export const ArtifactStatus = z
  .object({
    state: z
      .enum(artifactStates)
      .describe('`degraded`: the job has ended, and steps are missing; the rest can be used.'),
    chunks: chunkCount,
    steps: z
      .object({
        index: stepCounts.describe('Index for the full-text search.'),
        read: stepCounts.describe('Extraction of entities and events.'),
        embed: stepCounts.describe('Vectors for the search by meaning.'),
        graph: stepCounts.describe('Nodes and edges of the graph.'),
      })
      .describe('Chunks by step and state.'),
    read_by_rules: count.describe('Chunks read by rules instead of a model.'),
    model_fallbacks: z
      .array(z.object({ cause: z.string().describe('Error code of the model call.'), positions }))
      .describe(
        'Chunks read by rules because the model failed. A repair has a model read them: POST /api/v1/ledger/repair, or automatically when a model is available again.',
      ),
    dropped: z
      .array(z.object({ reason: z.enum([...rejectionReasons, ...truncationReasons]), count, positions }))
      .describe(
        'Extracted items that were not stored, by reason: not supported by the text (such as a quote that is not in it), or more than one reading may hold.',
      ),
    missing: z
      .array(
        z.object({
          step: z.enum(chunkSteps),
          positions: positions.describe('Chunk positions, from 0; empty: the whole document.'),
          state: z
            .enum(['failed', 'skipped', 'queued', 'completed'])
            .describe('`completed`: the step exceeded a limit; the rest was left out.'),
          cause: z
            .string()
            .nullable()
            .describe(
              'An error code, or JOB_QUEUED, JOB_RUNNING, JOB_FAILED, NOT_TRIED, READING_TOO_LARGE (completed, but beyond a limit).',
            ),
          message: z.string().nullable().describe('Why, and what will complete it.'),
        }),
      )
      .describe('Steps that are not completed, or are completed with less than the document contains.'),
  })
  .meta({
    id: 'ArtifactStatus',
    description:
      'Which parts are processed, and which are missing and why. Steps that are not configured count 0.',
  });
export type ArtifactStatus = z.infer<typeof ArtifactStatus>;

const IngestResult = z
  .object({
    outcome: z
      .enum(['added', 'revised', 'unchanged'])
      .describe('`unchanged`: the latest revision has the same content; nothing was written.'),
    id: id.describe('Id of the artifact.'),
    revision_id: id,
    job_id: z.string().nullable().describe('The job that reads it; null when there is nothing to do.'),
    chunks: chunkCount,
  })
  .meta({ id: 'IngestResult', description: 'A stored document; it can be searched already.' });

/**
 * What a document says may come from an unchecked file; NUL characters are removed from it. They are not
 * allowed in its ids: without them it could be another document.
 */
const anyTextIn = ['text', 'title', 'metadata'];

/** Room in a body for everything beside the document. */
const bodySlackBytes = 1_048_576;

/** Largest body with a document of this many bytes: base64 is a third larger. */
export const maxDocumentBodyBytes = (maxDocumentBytes: number): number =>
  Math.ceil((maxDocumentBytes * 4) / 3) + bodySlackBytes;

export const artifactsApi = {
  ingest: operation('POST /api/v1/knowledge/artifacts', {
    id: 'artifacts.ingest',
    summary: 'Ingest a document; it is searchable at once and read in the background',
    access: 'tenant',
    query: spaceQuery,
    body: ArtifactInput,
    anyTextIn,
    status: 202,
    output: IngestResult,
    otherResponses: { 200: IngestResult },
  }),

  estimate: operation('POST /api/v1/knowledge/artifacts/estimate', {
    id: 'artifacts.estimate',
    summary: 'Estimate the cost of ingesting a document without storing it',
    access: 'tenant',
    audit: false,
    query: spaceQuery,
    body: ArtifactInput,
    anyTextIn,
    output: z
      .object({
        chunks: chunkCount,
        tokens: count.describe('Approximate number of tokens of the text.'),
        model_calls: count.describe(
          'Model calls that extract events and entities; 0 when rules extract them. Calls that resolve entities are not included.',
        ),
        prompt_tokens: count.describe('Approximate number of tokens sent by those calls.'),
        completion_tokens: count.describe('Approximate number of tokens returned by those calls.'),
        embedding_calls: count.describe('Calls to the embedding model; 0 without one.'),
      })
      .meta({ id: 'IngestEstimate' }),
  }),

  list: operation('GET /api/v1/knowledge/artifacts', {
    id: 'artifacts.list',
    summary: 'List artifacts with their latest revisions, newest first',
    access: 'tenant',
    query: z.strictObject({
      type: z.enum(artifactTypes).optional().describe('Only artifacts of this type.'),
      source_system: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Only artifacts of this source: files, upload, vault:NAME, …'),
      limit: pageSize(500, 100),
      after,
      ...spaceFields,
    }),
    output: z.object({ artifacts: z.array(Revision), next }).meta({ id: 'Artifacts' }),
  }),

  listStatuses: operation('GET /api/v1/knowledge/artifacts/statuses', {
    id: 'artifacts.list-statuses',
    summary: 'List the processing status of several artifacts; unknown ids are left out',
    access: 'tenant',
    query: z.strictObject({
      ids: listOf(id).describe('Ids of artifacts, at most 50, separated by commas.'),
      ...spaceFields,
    }),
    output: z
      .object({
        statuses: z.array(z.object({ id, title: z.string(), source_id: sourceId, status: ArtifactStatus })),
      })
      .meta({ id: 'ArtifactStatuses' }),
  }),

  get: operation('GET /api/v1/knowledge/artifacts/:id', {
    id: 'artifacts.get',
    summary: 'Get an artifact with its text and its processing status',
    access: 'tenant',
    query: spaceQuery,
    output: z
      .object({
        ...revisionFields,
        metadata: z.record(z.string(), z.unknown()).describe('As sent with this revision.'),
        job_id: z.string().nullable().describe('Last job that processed this revision; null without one.'),
        status: ArtifactStatus,
        text: z.string().describe('Text of the latest revision.'),
      })
      .meta({ id: 'Artifact' }),
  }),

  listRevisions: operation('GET /api/v1/knowledge/artifacts/:id/revisions', {
    id: 'artifacts.list-revisions',
    summary: 'List all revisions of an artifact, newest first',
    access: 'tenant',
    query: spaceQuery,
    output: z.object({ revisions: z.array(Revision) }).meta({ id: 'Revisions' }),
  }),

  delete: operation('DELETE /api/v1/knowledge/artifacts/:id', {
    id: 'artifacts.delete',
    summary: 'Delete an artifact with everything that was derived from it alone',
    access: 'tenant',
    query: spaceQuery,
    status: 204,
    output: deleted,
  }),
} as const;

export type Artifact = OutputOf<typeof artifactsApi.get>;
export type Artifacts = OutputOf<typeof artifactsApi.list>;
export type ArtifactStatuses = OutputOf<typeof artifactsApi.listStatuses>;
export type IngestResult = z.infer<typeof IngestResult>;
export type IngestEstimate = OutputOf<typeof artifactsApi.estimate>;
