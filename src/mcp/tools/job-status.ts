// job_status: how far the reading of a document is; for the admin, any job.
import { z } from 'zod';
import { CoreError } from '../../core/index.ts';
import { cut } from '../bounds.ts';
import { id, knowledgePath, maybe, note, text } from '../fields.ts';
import type { ToolContext } from '../tool.ts';
import { defineTool } from '../tool.ts';

const mostMissing = 20;
const longestReason = 500;

const counts = z.object({ done: z.number(), failed: z.number(), skipped: z.number(), pending: z.number() });

const status = z.object({
  state: text.describe(
    'processing, complete, or partial: something is missing for good, or until it is repaired.',
  ),
  chunks: z.number(),
  steps: z
    .object({ index: counts, read: counts, embed: counts, graph: counts })
    .describe('Passages by step.'),
  missing: z.array(
    z.object({ step: text, status: text, cause: maybe, message: maybe, positions: z.array(z.number()) }),
  ),
});

const artifact = z.object({ id: text, title: text, job_id: maybe, status });

const job = z.object({
  id: text,
  name: text,
  state: text.describe('queued, running, completed, failed, canceled or skipped.'),
  attempts: z.number(),
  created_at: text,
  finished_at: maybe,
  progress: z.object({ done: z.number(), total: z.number().nullable(), message: maybe }).nullable(),
  reason: maybe.describe('Why it failed, was skipped or canceled.'),
});

export const jobStatus = defineTool({
  name: 'job_status',
  title: 'How far is it?',
  description:
    'How far the reading of a document is after ingest, and exactly what is missing: call it with the artifact_id until ' +
    'is_finished, waiting a few seconds in between. With the admin token also any background job by its job_id.',
  access: 'tenant',
  isOfSpace: true,
  effect: 'reads',
  whenNotFound: 'Give artifact_id and space exactly as with ingest.',
  input: {
    artifact_id: id.optional().describe('As ingest gave it.'),
    job_id: id.optional().describe('Instead of artifact_id; with the admin token only.'),
  },
  output: {
    is_finished: z.boolean().describe('Nothing more will happen by itself.'),
    artifact: z.object({ id: text, title: text, ...status.omit({ missing: true }).shape }).nullable(),
    missing: z
      .array(z.object({ step: text, status: text, chunks: z.number(), cause: maybe, message: maybe }))
      .describe('What of the document is not in, and why.'),
    job: job.nullable(),
    note,
  },
  async run({ artifact_id: uid, job_id: jobId }, context) {
    if ((uid === undefined) === (jobId === undefined))
      throw new CoreError('INPUT_INVALID', 'Nothing was looked up. Give either "artifact_id" or "job_id".');
    if (jobId !== undefined && context.caller !== 'admin')
      throw new CoreError(
        'INPUT_INVALID',
        'With an organization’s key, jobs are looked at through their document: give "artifact_id", as ingest gave it.',
      );
    return uid === undefined ? ofJob(await jobOf(jobId ?? '', context)) : ofArtifact(uid, context);
  },
});

const isOver = (state: string): boolean => state !== 'queued' && state !== 'running';

const ofJob = (found: z.infer<typeof job>) => ({
  is_finished: isOver(found.state),
  artifact: null,
  missing: [],
  job: found,
  note: null,
});

async function ofArtifact(uid: string, context: ToolContext) {
  const { api, place, signal, caller } = context;
  const path = `${knowledgePath}/artifacts/${uid}`;
  const found = artifact.parse(await api.call('GET', path, { query: { ...place }, signal }));
  const { missing, ...state } = found.status;
  const isProcessing = state.state === 'processing';
  // The job is gone some time after it ended; the document's own state stays.
  const ran = caller === 'admin' && isProcessing && found.job_id !== null ? found.job_id : null;
  return {
    is_finished: !isProcessing,
    artifact: { id: uid, title: cut(found.title, 300), ...state },
    missing: missing.slice(0, mostMissing).map(({ positions, ...each }) => ({
      ...each,
      chunks: positions.length,
      message: each.message === null ? null : cut(each.message, longestReason),
    })),
    job: ran === null ? null : await jobOf(ran, context),
    note: noteOf(state.state),
  };
}

function noteOf(state: string): string | null {
  if (state === 'processing') return 'It is being read. Ask again in a few seconds.';
  if (state === 'partial')
    return 'Some of it is missing, as `missing` says; the rest can be used. What can be repaired is repaired by itself.';
  return null;
}

async function jobOf(jobId: string, { api, signal }: ToolContext): Promise<z.infer<typeof job>> {
  const found = job.parse(await api.call('GET', `/api/v1/jobs/${jobId}`, { signal }));
  return { ...found, reason: found.reason === null ? null : cut(found.reason, longestReason) };
}
