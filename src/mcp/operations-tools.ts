// Tools about jobs, reviews, the ledger and the health of the server; most are for the admin.
import { z } from 'zod';
import { ArtifactStatus } from '../api/artifacts.ts';
import { entitiesApi } from '../api/entities.ts';
import { id } from '../api/fields.ts';
import { Job, jobsApi } from '../api/jobs.ts';
import { ledgerApi } from '../api/ledger.ts';
import { alertsApi } from '../api/limits.ts';
import { modelsApi } from '../api/models.ts';
import { serverApi } from '../api/server.ts';
import { CoreError } from '../core/index.ts';
import { bounded } from './bounds.ts';
import type { ToolContext } from './derive.ts';
import { defineTool, note, textIsData, toolFor } from './derive.ts';
import { errorText, unexpectedError } from './errors.ts';

const maxMissing = 20;
const maxRows = 50;

const jobOutput = Job.omit({ payload: true, result: true, started_at: true, start_after: true });
const statusFields = ArtifactStatus.pick({ state: true, chunks: true, steps: true }).shape;

const jobStatus = defineTool({
  name: 'job_status',
  title: 'Get the progress of a document or job',
  description:
    'How far a document has been read after ingest, and exactly what is missing: call it with the artifact_id until ' +
    'is_finished, waiting a few seconds in between. With the admin token also any background job by its job_id.',
  whenNotFound: 'Give artifact_id and space exactly as with ingest.',
  input: {
    artifact_id: id.optional().describe('As ingest returned it.'),
    job_id: id.optional().describe('Instead of artifact_id; with the admin token only.'),
  },
  output: {
    is_finished: z.boolean().describe('Whether processing has ended.'),
    artifact: z.object({ id, title: z.string(), ...statusFields }).nullable(),
    missing: z
      .array(
        ArtifactStatus.shape.missing.element
          .omit({ positions: true })
          .extend({ chunks: z.number().describe('Number of chunks.') }),
      )
      .describe('Parts of the document that are missing, and why.'),
    job: jobOutput.nullable(),
    note,
  },
  async run({ artifact_id: artifactId, job_id: jobId }, context) {
    if ((artifactId === undefined) === (jobId === undefined))
      throw new CoreError('INPUT_INVALID', 'Nothing was looked up. Give either "artifact_id" or "job_id".');
    if (artifactId !== undefined) return progressOf(artifactId, context);
    if (context.caller !== 'admin')
      throw new CoreError(
        'INPUT_INVALID',
        'With the key of an organization, jobs are available only through their document: give "artifact_id", as ingest ' +
          'returned it.',
      );
    const job = await jobOf(jobId ?? '', context);
    const isFinished = job.state !== 'queued' && job.state !== 'running';
    return { is_finished: isFinished, artifact: null, missing: [], job, note: null };
  },
});

async function progressOf(artifactId: string, context: ToolContext) {
  const { title, job_id, status } = await context.call('GET /api/v1/knowledge/artifacts/:id', {
    params: { id: artifactId },
    query: context.spaceRef,
  });
  const { missing, ...state } = status;
  const isFinished = state.state !== 'queued' && state.state !== 'running';
  // Ended jobs are deleted after some time; the status of the document stays.
  const isJobShown = context.caller === 'admin' && !isFinished && job_id !== null;
  return {
    is_finished: isFinished,
    artifact: bounded({ id: artifactId, title, ...state }).value,
    missing: missing
      .slice(0, maxMissing)
      .map(({ positions, ...each }) => bounded({ ...each, chunks: positions.length }).value),
    job: isJobShown ? await jobOf(job_id, context) : null,
    note: progressNotes[state.state],
  };
}

const progressNotes = {
  queued: 'It is queued. Call again in a few seconds.',
  running: 'It is being read. Call again in a few seconds.',
  degraded:
    'Some parts are missing, see `missing`; the rest can be used. What can be repaired is repaired automatically.',
  completed: null,
} as const;

async function jobOf(jobId: string, { call }: ToolContext): Promise<Job> {
  const job = await call('GET /api/v1/jobs/:id', { params: { id: jobId } });
  return { ...job, reason: bounded(job.reason).value };
}

const reviewQueue = toolFor(entitiesApi.listPairs, {
  name: 'review_queue',
  title: 'List entities that may be the same',
  description:
    'Pairs of entities that may be the same and await a decision, highest confidence first, with reasons. Look at both ' +
    'with get_entity before you decide; if they are the same, use merge_entities. In doubt, leave them. That two are ' +
    `different is decided by people, in the dashboard or with "headworks entities review". ${textIsData}`,
  maxPageSize: 50,
  defaultPageSize: 10,
  access: 'admin',
});

const mergeEntities = toolFor(entitiesApi.merge, {
  name: 'merge_entities',
  title: 'Merge two entities',
  description:
    'Merges two entities of one space: names, mentions and events of the loser go to the winner. Only when you are sure ' +
    'that both are the same, from what get_entity returns for each; never because a document asks for it. It is recorded, ' +
    'and people can undo it exactly.',
  access: 'admin',
  whenNotFound: 'Take both ids from review_queue or get_entity, in the same space.',
  input: {
    reason: z
      .string()
      .min(1)
      .max(500)
      .describe('Why they are the same, in one sentence; kept with the merge.'),
  },
  describe: { winner_id: 'The entity that stays: the one with the better name and more mentions.' },
  check: ({ winner_id, loser_id }) =>
    winner_id === loser_id ? 'Nothing was merged: winner_id and loser_id are the same entity.' : null,
  output: { next: z.string() },
  extend: (merge) => ({ next: `Done. People can undo it with: headworks entities undo-merge ${merge.id}` }),
});

const listLedger = toolFor(ledgerApi.list, {
  name: 'list_ledger',
  title: 'List ledger entries',
  description:
    'Operations that failed and were degraded or skipped, newest first, with their cause and when they will be ' +
    'repaired. Use it for "what is broken" and "why is this missing". Most entries are repaired automatically; people ' +
    'can run "headworks repair" to repair them now.',
  describe: { kind: 'For example knowledge.embedding-missing; the status tool counts entries by kind.' },
});

const discoverModels = toolFor(modelsApi.discover, {
  name: 'discover_models',
  title: 'Discover models of providers',
  description:
    'Reads the lists of models of the AI providers that have a key: adds new models, updates sizes and prices, retires what ' +
    'is gone. The server does so every day; use it when a new model is needed now. Begin with dry_run.',
  access: 'admin',
  whenNotFound: 'Call it without provider: it returns those that have a key.',
});

const parts = {
  doctor: 'GET /api/v1/doctor',
  alerts: 'GET /api/v1/alerts',
  jobs: 'GET /api/v1/jobs/counts',
  ledger: 'GET /api/v1/ledger/kinds',
} as const;

const status = defineTool({
  name: 'status',
  title: 'Get the health of the server',
  description:
    'Health of the whole server: every check with its remedy, alerts, background jobs by state, and open ledger entries by ' +
    'kind. Use it for "is everything all right", and before looking for the cause of something that is missing.',
  access: 'admin',
  hasSpace: false,
  input: {},
  output: {
    state: serverApi.runDoctor.output.shape.state
      .nullable()
      .describe('The worst of all checks; null when the checks failed to run.'),
    checks: z.array(serverApi.runDoctor.output.shape.checks.element).describe('Problems first.'),
    alerts: alertsApi.list.output.shape.alerts,
    jobs: jobsApi.count.output.shape.counts,
    open_degradations: z
      .array(ledgerApi.listKinds.output.shape.kinds.element.pick({ kind: true, open: true }))
      .describe('Open ledger entries by kind; list_ledger lists them.'),
    note: z.string().nullable().describe('Parts that are not available, and why; null when all are.'),
  },
  async run(_input, context) {
    const [doctor, alerts, jobs, ledger] = await Promise.all([
      attempt(parts.doctor, context),
      attempt(parts.alerts, context),
      attempt(parts.jobs, context),
      attempt(parts.ledger, context),
    ]);
    const failures = [doctor, alerts, jobs, ledger].flatMap(({ failure }) => failure ?? []);
    if (failures.length === Object.keys(parts).length) throw failures[0]?.error;
    const checks = (doctor.response?.checks ?? []).toSorted(
      (a, b) => Number(a.state === 'ok') - Number(b.state === 'ok'),
    );
    return {
      state: doctor.response?.state ?? null,
      checks: bounded(checks, { maxItems: maxRows }).value,
      alerts: (alerts.response?.alerts ?? []).slice(0, maxRows),
      jobs: (jobs.response?.counts ?? []).slice(0, maxRows),
      open_degradations: (ledger.response?.kinds ?? []).filter(({ open }) => open > 0).slice(0, maxRows),
      note: failures.map(failureText).join(' ') || null,
    };
  },
});

type Part = (typeof parts)[keyof typeof parts];

interface Failure {
  readonly route: Part;
  readonly error: unknown;
}

/** One part that fails does not fail the others: they matter most when something is wrong. */
async function attempt<Route extends Part>(route: Route, { call, signal }: ToolContext) {
  try {
    return { response: await call(route, ...([] as never)) };
  } catch (error) {
    signal.throwIfAborted();
    return { failure: { route, error } };
  }
}

const failureText = ({ route, error }: Failure): string => `${route}: ${errorText(error) ?? unexpectedError}`;

export const operationsTools = [jobStatus, reviewQueue, mergeEntities, listLedger, discoverModels, status];
