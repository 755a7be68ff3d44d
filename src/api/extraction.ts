// Extraction: registered sources, their runs, and the vaults that runs fill.
import { z } from 'zod';
import { sourceChange, sourceInput } from '../extraction/vocabulary.ts';
import { after, count, deleted, id, instant, listOf, next, pageSize } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const incomplete = '`incomplete`: it ended, but pages or items are missing.';
const runState = z
  .enum(['queued', 'running', 'completed', 'incomplete', 'failed', 'interrupted'])
  .describe(`${incomplete} \`interrupted\`: the next run continues it.`);
const sourceName = z.string().min(1).max(500);
const natural = z.number().int().min(0);
const type = z.string().min(1).max(200).describe('Content type, for example dashboards.');

const stored = {
  id,
  is_from_file: z.boolean().describe('Defined in the sources file and changed there.'),
  next_run_at: instant.nullable().describe('Next scheduled run; null without a schedule.'),
  created_at: instant,
  modified_at: instant,
};
const [lookerInput, restInput] = sourceInput.options;

export const ExtractionSource = z
  .discriminatedUnion('kind', [
    z.object({ ...lookerInput.shape, ...stored }),
    z.object({ ...restInput.shape, ...stored }),
  ])
  .meta({ id: 'ExtractionSource', description: 'A registered source. It holds no secrets.' });
export type ExtractionSource = z.infer<typeof ExtractionSource>;

const figures = {
  types: z
    .array(
      z.object({
        type,
        items: natural.describe('Items extracted so far.'),
        total: natural.nullable().describe('Items at the source; null when it does not report them.'),
        state: z.enum(['queued', 'running', 'completed', 'incomplete']).describe(incomplete),
      }),
    )
    .max(1000)
    .describe('Progress by content type.'),
  calls: natural.describe('Requests sent by this run, all attempts included.'),
  rate_limited_calls: natural.describe('Requests that got status 429.'),
  multiplier: z.number().min(1).describe('The rate limits are divided by it; 1: full rate.'),
  items_per_second: z.number().min(0).nullable().describe('Average of the run so far; null: no items yet.'),
};

export const ExtractionRun = z
  .object({
    id,
    source: sourceName.describe('The registered name; for a run of a command, what it extracts from.'),
    origin: z.enum(['schedule', 'http', 'cli']).describe('What started the run.'),
    vault: z.string().describe("File in the data folder's vaults, or a path elsewhere."),
    state: runState,
    job_id: z.string().nullable().describe('Null for a run of a command.'),
    session: z.string().nullable().describe('Id of the session in the vault; null until it is open.'),
    ...figures,
    started_at: instant.nullable().describe('Null until it starts.'),
    finished_at: instant.nullable().describe('Null until it has ended.'),
    reported_at: instant.describe('Last progress report.'),
    message: z.string().nullable().describe('Why it did not complete; null without a problem.'),
  })
  .meta({ id: 'ExtractionRun', description: 'One run of an extraction.' });
export type ExtractionRun = z.infer<typeof ExtractionRun>;

export const sourcesApi = {
  list: operation('GET /api/v1/extraction/sources', {
    id: 'sources.list',
    summary: 'List registered sources, by name',
    output: z.object({ sources: z.array(ExtractionSource) }).meta({ id: 'ExtractionSources' }),
  }),

  create: operation('POST /api/v1/extraction/sources', {
    id: 'sources.create',
    summary: 'Register a source',
    description:
      'Secrets are rejected: name the environment variables of the server that hold them. The source is not contacted.',
    body: sourceInput,
    status: 201,
    output: ExtractionSource,
  }),

  get: operation('GET /api/v1/extraction/sources/:id', {
    id: 'sources.get',
    summary: 'Get a source',
    output: ExtractionSource,
  }),

  update: operation('PATCH /api/v1/extraction/sources/:id', {
    id: 'sources.update',
    summary: 'Update a source',
    description: 'Settings and options are replaced as a whole. A run in progress is not affected.',
    body: sourceChange,
    output: ExtractionSource,
  }),

  delete: operation('DELETE /api/v1/extraction/sources/:id', {
    id: 'sources.delete',
    summary: 'Delete a source',
    description: 'Its runs stay listed, and its vault is kept.',
    status: 204,
    output: deleted,
  }),
} as const;

export const runsApi = {
  start: operation('POST /api/v1/extraction/sources/:id/runs', {
    id: 'runs.start',
    summary: 'Start a run of a source',
    body: z
      .strictObject({
        fresh: z.boolean().default(false).describe('Start over, even if the last run has items left.'),
        retry_failed: z
          .boolean()
          .default(false)
          .describe('Request only the pages and items that failed in the last run.'),
      })
      .refine((body) => !(body.fresh && body.retry_failed), 'fresh and retry_failed exclude each other')
      .nullish()
      .meta({
        description: 'By default a run resumes the last session, and starts a new one when that is complete.',
        examples: [{ retry_failed: true }, { fresh: true }],
      }),
    status: 202,
    output: z
      .object({
        id: id.describe('Id of the run.'),
        job_id: z.string().describe('The job that executes the run.'),
      })
      .meta({ id: 'ExtractionRunStarted' }),
  }),

  list: operation('GET /api/v1/extraction/runs', {
    id: 'runs.list',
    summary: 'List runs, newest first, runs of commands included',
    query: z.strictObject({
      source: sourceName.optional().describe('Only runs of this source.'),
      state: listOf(runState).optional().describe('One or several states, separated by commas.'),
      limit: pageSize(500, 100),
      after,
    }),
    output: z.object({ runs: z.array(ExtractionRun), next }).meta({ id: 'ExtractionRuns' }),
  }),

  get: operation('GET /api/v1/extraction/runs/:id', {
    id: 'runs.get',
    summary: 'Get a run',
    output: ExtractionRun,
  }),

  stop: operation('POST /api/v1/extraction/runs/:id/stop', {
    id: 'runs.stop',
    summary: 'Stop a run',
    description: 'It ends as interrupted within a few seconds; the vault keeps what was extracted.',
    status: 202,
    output: ExtractionRun,
  }),

  report: operation('POST /api/v1/extraction/runs/report', {
    id: 'runs.report',
    summary: 'Report the progress of a run that a command executes itself',
    description:
      'At its start, about once a second and at its end; without a report for a minute it counts as interrupted.',
    // No audit rows: every command that extracts reports once a second.
    audit: false,
    body: z
      .strictObject({
        id: id.describe('Id of the run, chosen by the command.'),
        source: sourceName.describe('What the command extracts from.'),
        vault: z.string().min(1).max(4096).describe('Path of the vault.'),
        session: z
          .string()
          .min(1)
          .max(200)
          .nullable()
          .describe('Id of the session in the vault; null until it is open.'),
        state: runState.exclude(['queued']),
        ...figures,
        message: z.string().max(4000).nullable().describe('Why it did not complete; null without a problem.'),
      })
      .meta({ id: 'ExtractionRunReport' }),
    output: ExtractionRun,
  }),

  getSamples: operation('GET /api/v1/extraction/runs/:id/samples', {
    id: 'runs.get-samples',
    summary: 'Get the progress of a run over time',
    output: z
      .object({
        samples: z
          .array(
            z.object({
              at: instant,
              items: count.describe('Items of all types until then.'),
              calls: figures.calls,
              rate_limited_calls: figures.rate_limited_calls,
              multiplier: figures.multiplier,
            }),
          )
          .describe('Oldest first; empty when this server did not execute the run.'),
      })
      .meta({ id: 'RunSamples' }),
  }),
} as const;

const itemId = z.string().min(1).max(2_000).describe('Id of the item at the source.');

const sessionNumber = count.describe('Number of the session in the vault.');

const VaultItemRecord = z.object({
  type,
  id: itemId,
  name: z.string().nullable().describe('Null when the source has none.'),
  owner: z.string().nullable().describe('Owner at the source; null when it has none.'),
  folder: z.string().nullable().describe('Folder at the source; null when it has none.'),
  updated_at: instant.nullable().describe('As reported by the source; null when it reports none.'),
  seen_at: instant.describe('When an extraction last received it.'),
  deleted_at: instant.nullable().describe('When it was found to be deleted at the source; null: it exists.'),
  size: count.describe('Bytes of JSON.'),
  versions: count.describe('Number of versions kept, deletions included.'),
});

/** Item ids are texts of the source: they go into the query, not into the path. */
export const vaultsApi = {
  get: operation('GET /api/v1/extraction/runs/:id/vault', {
    id: 'vaults.get',
    summary: 'Get the contents and the failed pages of the vault of a run',
    output: z
      .object({
        types: z.array(
          z.object({
            type,
            live: count.describe('Items that exist at the source.'),
            deleted: count.describe('Items that were deleted at the source.'),
            bytes: count.describe('Size of the items as JSON.'),
            state: z.string().describe('As left by the newest session that requested this type.'),
            reason: z.string().nullable().describe('Why it is incomplete.'),
            expected_total: count
              .nullable()
              .describe('Number of items at the source; null when it does not report it.'),
          }),
        ),
        dead_letters: z
          .array(
            z.object({
              session: sessionNumber,
              type,
              page: z.string().describe('Key of the page: its position in the list.'),
              cause: z.string().describe('Class or code of the error.'),
              message: z.string(),
              at: instant.describe('When its last attempt failed.'),
            }),
          )
          .describe('Failed pages, each once, newest first, at most 200.'),
      })
      .meta({ id: 'VaultSummary' }),
  }),

  listItems: operation('GET /api/v1/extraction/runs/:id/vault/items', {
    id: 'vaults.list-items',
    summary: 'List items of one type, by id',
    query: z.strictObject({
      type,
      after: z
        .string()
        .max(2_000)
        .default('')
        .describe('Continue after this item: `next` of the previous page.'),
      limit: pageSize(200, 50),
    }),
    output: z.object({ items: z.array(VaultItemRecord), next }).meta({ id: 'VaultItems' }),
  }),

  getItem: operation('GET /api/v1/extraction/runs/:id/vault/item', {
    id: 'vaults.get-item',
    summary: 'Get an item and its versions',
    query: z.strictObject({ type, item: itemId }),
    output: z
      .object({
        item: VaultItemRecord.describe('The newest version of the item.'),
        versions: z
          .array(
            z.object({
              number: count.describe('From 1, per item.'),
              session: sessionNumber,
              first_seen_at: instant.describe('When an extraction first received this version.'),
              is_deleted: z.boolean().describe('The item was deleted at the source.'),
            }),
          )
          .describe('Oldest first.'),
      })
      .meta({ id: 'VaultItem' }),
  }),

  getData: operation('GET /api/v1/extraction/runs/:id/vault/data', {
    id: 'vaults.get-data',
    summary: 'Get the content of an item in one version',
    query: z.strictObject({
      type,
      item: itemId,
      version: z.coerce
        .number()
        .int()
        .min(1)
        .optional()
        .describe('Number of the version; default: the newest.'),
    }),
    output: z
      .object({ json: z.string().nullable().describe('Indented JSON; null: deleted in this version.') })
      .meta({ id: 'VaultData' }),
  }),
} as const;

export type ExtractionRunReport = z.infer<typeof runsApi.report.body>;
export type RunSamples = OutputOf<typeof runsApi.getSamples>;
export type VaultSummary = OutputOf<typeof vaultsApi.get>;
export type VaultItems = OutputOf<typeof vaultsApi.listItems>;
export type VaultItem = OutputOf<typeof vaultsApi.getItem>;
