// Artifacts over HTTP.
import { z } from 'zod';
import type { IngestResult, ArtifactStatus, IngestRequest, Revision } from '../../knowledge/index.ts';
import {
  artifactTypes,
  chunkSteps,
  entityTypes,
  truncationReasons,
  refusalReasons,
} from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { id, instant, isoOrNull, limitOf, listOf } from './fields.ts';

const clue = z.string().min(1).max(300).optional();

const structuredMention = z.strictObject({
  name: z.string().min(1).max(300),
  type: z.enum(entityTypes),
  relation: z.string().min(1).max(100).describe('owner, folder, author, …'),
  role: clue,
  organization: clue,
  email: clue,
  identity: z
    .string()
    .max(250)
    .regex(/^[^#]+#[^#/]+\/.+$/, 'must be source#kind/id')
    .optional()
    .describe(
      'What the source knows it by, as `source#kind/id`: the same is the same, whatever it is called; of another kind, or another id of the same source, it is another.',
    ),
});

export const artifactBody = z.strictObject({
  text: z.string().min(1).optional().describe('The document as text; or give `file`.'),
  file: z
    .strictObject({
      name: z.string().min(1).max(1_000),
      media_type: z.string().max(200).default('').describe('Empty: by the name’s ending and the content.'),
      content: z.base64().describe('The file’s bytes in base64.'),
    })
    .optional(),
  type: z.enum(artifactTypes).optional(),
  title: z.string().max(1_000).optional(),
  source_system: z.string().min(1).max(200).optional().describe('Default: "upload".'),
  source_id: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('What the source calls it: the same again with other content is a new revision.'),
  source_ts: instant.optional().describe('When the source says it was written.'),
  metadata: z.record(z.string(), z.unknown()).optional(),
  mentions: z
    .array(structuredMention)
    .max(1_000)
    .optional()
    .describe('Known without reading the text: owner, folder, …'),
  ...spaceFields,
});

export const acceptedAnswer = z
  .object({
    outcome: z
      .enum(['added', 'revised', 'unchanged'])
      .describe('`unchanged`: the latest revision has this very content; nothing was written.'),
    artifact_uid: id,
    revision_id: id,
    job_id: z.string().nullable().describe('The job that reads it; null when nothing is to be done.'),
    chunks: z.number().int(),
  })
  .meta({
    id: 'AcceptedArtifact',
    description: 'An artifact that was taken in; it can be searched already.',
  });

export const estimateAnswer = z
  .object({
    chunks: z.number().int(),
    tokens: z.number().int().describe('Of the text; about so many, by words and characters.'),
    model_calls: z
      .number()
      .int()
      .describe(
        'Calls to a model that reads; 0 where rules read. Questions whether two names mean the same are not counted.',
      ),
    prompt_tokens: z.number().int().describe('What those calls send, text and instructions, about.'),
    answer_tokens: z.number().int().describe('What they usually answer, about.'),
    embedding_calls: z.number().int().describe('Calls that make vectors; 0 where nobody does.'),
  })
  .meta({ id: 'IngestEstimate', description: 'What taking a document in would cost; nothing was written.' });

const revisionFields = {
  artifact_uid: id,
  revision_id: id,
  type: z.enum(artifactTypes),
  source_system: z.string(),
  source_id: z.string(),
  title: z.string(),
  source_ts: instant.nullable(),
  content_hash: z.string(),
  token_count: z.number().int(),
  chunk_count: z.number().int(),
  is_latest: z.boolean(),
  warnings: z.array(z.string()).describe('What reading the document left out.'),
  ingested_at: instant,
};

export const revisionView = z
  .object(revisionFields)
  .meta({ id: 'Revision', description: 'A revision of an artifact.' });

export const artifactsQuery = z.strictObject({
  type: z.enum(artifactTypes).optional(),
  source_system: z.string().min(1).max(200).optional(),
  limit: limitOf(500, 100),
  before: id.optional().describe('Only those before this revision: `next` of the page before.'),
  ...spaceFields,
});

export const artifactQuery = z.strictObject(spaceFields);

export const artifactsAnswer = z
  .object({
    artifacts: z.array(revisionView),
    next: z.string().nullable().describe('Give it as `before` for the next page.'),
  })
  .meta({ id: 'Artifacts', description: 'Artifacts with their latest revisions, newest first.' });

export const revisionsAnswer = z
  .object({ revisions: z.array(revisionView) })
  .meta({ id: 'Revisions', description: 'All revisions of an artifact, newest first.' });

const stepName = z.enum(chunkSteps);
const stepCounts = z.object({
  done: z.number().int(),
  failed: z.number().int(),
  skipped: z.number().int(),
  pending: z.number().int(),
});

export const statusView = z
  .object({
    state: z.enum(['processing', 'complete', 'partial']),
    chunks: z.number().int(),
    steps: z.object({ index: stepCounts, read: stepCounts, embed: stepCounts, graph: stepCounts }),
    read_by_rules: z.number().int().describe('Chunks that rules read, not a model.'),
    stood_in: z
      .array(
        z.object({
          cause: z.string().describe('An error code: why the model failed.'),
          positions: z.array(z.number().int()).describe('Of the chunks, from 0.'),
        }),
      )
      .describe(
        'Of these, chunks that a model was asked to read and failed to. A repair lets it read them: POST /api/v1/ledger/repair, or by itself when a model answers again.',
      ),
    not_taken: z
      .array(
        z.object({
          reason: z.enum([...refusalReasons, ...truncationReasons]),
          count: z.number().int(),
          positions: z.array(z.number().int()).describe('Of the chunks, from 0.'),
        }),
      )
      .describe(
        'What readings listed and was not taken, by why. Refused is what the text does not bear out, such as a quote that does not stand in it; …-too-many is more than one reading may hold, and is missing.',
      ),
    missing: z.array(
      z.object({
        step: stepName,
        positions: z
          .array(z.number().int())
          .describe('Of the chunks, from 0; none: the document as a whole.'),
        status: z.enum(['failed', 'skipped', 'pending', 'done']),
        cause: z
          .string()
          .nullable()
          .describe(
            'An error code, or JOB_PENDING, JOB_RUNNING, JOB_FAILED, NOT_TRIED, READING_TOO_LARGE (of a step that is done, but not whole).',
          ),
        message: z.string().nullable().describe('Why, and what will do it.'),
      }),
    ),
  })
  .meta({
    id: 'ArtifactStatus',
    description:
      'Which parts are in, and which are missing and why. Steps that are not configured count nothing.',
  });

export const artifactView = z
  .object({
    ...revisionFields,
    metadata: z.record(z.string(), z.unknown()),
    job_id: z.string().nullable(),
    status: statusView,
    text: z.string(),
  })
  .meta({ id: 'Artifact', description: 'An artifact with its latest revision and its exact status.' });

/** One by one they are looked up: no more than a page of the dashboard. */
export const statusesQuery = z.strictObject({
  ids: listOf(id).describe('Ids of artifacts, at most 50, separated by commas.'),
  ...spaceFields,
});

export const statusesAnswer = z
  .object({
    statuses: z.array(
      z.object({ artifact_uid: id, title: z.string(), source_id: z.string(), status: statusView }),
    ),
  })
  .meta({
    id: 'ArtifactStatuses',
    description:
      'What is in and what is missing of several artifacts; those that are not there are left out.',
  });

export const viewOfRevision = (revision: Revision): z.infer<typeof revisionView> => ({
  artifact_uid: revision.artifactUid,
  revision_id: revision.revisionId,
  type: revision.type,
  source_system: revision.sourceSystem,
  source_id: revision.sourceId,
  title: revision.title,
  source_ts: isoOrNull(revision.sourceTs),
  content_hash: revision.contentHash,
  token_count: revision.tokenCount,
  chunk_count: revision.chunkCount,
  is_latest: revision.isLatest,
  warnings: [...revision.warnings],
  ingested_at: revision.ingestedAt.toISOString(),
});

export const viewOfStatus = (status: ArtifactStatus): z.infer<typeof statusView> => ({
  state: status.state,
  chunks: status.chunks,
  steps: status.steps,
  read_by_rules: status.readByRules,
  stood_in: status.modelFallbacks.map(({ cause, positions }) => ({ cause, positions: [...positions] })),
  not_taken: status.dropped.map((each) => ({ ...each, positions: [...each.positions] })),
  missing: status.missing.map((each) => ({ ...each, positions: [...each.positions] })),
});

export const viewOfArtifact = (
  artifact: Revision & { readonly status: ArtifactStatus; readonly text: string },
): z.infer<typeof artifactView> => ({
  ...viewOfRevision(artifact),
  metadata: { ...artifact.metadata },
  job_id: artifact.jobId,
  status: viewOfStatus(artifact.status),
  text: artifact.text,
});

export const viewOfAccepted = (accepted: IngestResult): z.infer<typeof acceptedAnswer> => ({
  outcome: accepted.outcome,
  artifact_uid: accepted.artifactUid,
  revision_id: accepted.revisionId,
  job_id: accepted.jobId,
  chunks: accepted.chunks,
});

/** Null unless it brings either text or a file. */
export function wishOf(body: z.infer<typeof artifactBody>): IngestRequest | null {
  const { text, file, type, title, metadata, mentions } = body;
  if ((text === undefined) === (file === undefined)) return null;
  return {
    content: file
      ? { name: file.name, mediaType: file.media_type, bytes: Buffer.from(file.content, 'base64') }
      : { text: text ?? '' },
    ...(type === undefined ? {} : { type }),
    ...(title === undefined ? {} : { title }),
    ...(body.source_system === undefined ? {} : { sourceSystem: body.source_system }),
    ...(body.source_id === undefined ? {} : { sourceId: body.source_id }),
    ...(body.source_ts === undefined ? {} : { sourceTs: new Date(body.source_ts) }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(mentions === undefined ? {} : { mentions: mentions.map(mentionOf) }),
  };
}

const mentionOf = ({ name, type, relation, ...clues }: z.infer<typeof structuredMention>) => ({
  surfaceForm: name,
  type,
  relation,
  contextClues: Object.fromEntries(Object.entries(clues).filter(([, value]) => value !== undefined)),
});
