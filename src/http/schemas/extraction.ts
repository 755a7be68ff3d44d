// Extraction sources and runs over HTTP.
import { z } from 'zod';
import type { ExtractionRun, ExtractionSource } from '../../extraction/index.ts';
import { inputOf, sourceInput } from '../../extraction/index.ts';
import { id, instant, isoOrNull, limitOf, listOf } from './fields.ts';

const runState = z.enum(['queued', 'running', 'completed', 'incomplete', 'failed', 'interrupted']);
const sourceName = z.string().min(1).max(500);
const count = z.number().int().min(0);

const [lookerInput, restInput] = sourceInput.options;
const kept = {
  id,
  from_file: z.boolean().describe('Comes from the sources file, and is changed there.'),
  next_run_at: instant.nullable().describe('When its schedule comes next.'),
  created_at: instant,
  modified_at: instant,
};

export const extractionSource = z
  .discriminatedUnion('kind', [
    z.object({ ...lookerInput.shape, ...kept }),
    z.object({ ...restInput.shape, ...kept }),
  ])
  .meta({ id: 'ExtractionSource', description: 'A registered source. It holds no secrets.' });

export const extractionSources = z
  .object({ sources: z.array(extractionSource) })
  .meta({ id: 'ExtractionSources', description: 'Registered sources, by name.' });

const typeFigures = z.object({
  type: z.string().min(1).max(200),
  items: count,
  total: count.nullable().describe('Null when the source does not say.'),
  status: z.enum(['pending', 'running', 'completed', 'incomplete']),
});

const figures = {
  types: z.array(typeFigures).max(1000),
  calls: count.describe('Of this run, from its first try on.'),
  refusals: count.describe('Of those, how many were answered 429.'),
  multiplier: z.number().min(1).describe('By what the rate limits are divided now.'),
  items_per_second: z.number().min(0).nullable(),
};

export const extractionRun = z
  .object({
    id,
    source: sourceName.describe('The registered name; of a command, what it extracted from.'),
    origin: z.enum(['schedule', 'http', 'cli']),
    vault: z.string().describe("A file in the data folder's vaults, or a path to one elsewhere."),
    state: runState,
    job_id: z.string().nullable(),
    session: z.string().nullable().describe('The session in the vault.'),
    ...figures,
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
    reported_at: instant.describe('Last sign of life.'),
    message: z.string().nullable(),
  })
  .meta({ id: 'ExtractionRun', description: 'One run of an extraction.' });

export const extractionRunsQuery = z.strictObject({
  source: sourceName.optional(),
  state: listOf(runState).optional().describe('One or several, separated by commas.'),
  limit: limitOf(500, 100),
  before: id.optional().describe('The `next` of the page before.'),
});

export const extractionRuns = z
  .object({
    runs: z.array(extractionRun),
    next: z.string().nullable().describe('Give it as `before` to read on; null at the end.'),
  })
  .meta({ id: 'ExtractionRuns', description: 'Runs, newest first.' });

/** What may be sent to start a run; nothing is fine, too. */
export const runStart = z
  .strictObject({
    fresh: z
      .boolean()
      .default(false)
      .describe('Begins anew, also when the last run has something left to ask for.'),
    retry_failed: z
      .boolean()
      .default(false)
      .describe('Asks again for pages and items that did not come in the last run.'),
  })
  .refine(({ fresh, retry_failed: again }) => !(fresh && again), 'fresh and retry_failed exclude each other')
  .nullish()
  .meta({
    description:
      'A run goes on with what the last one left unasked, and looks anew when that one came to its end.',
    examples: [{ retry_failed: true }, { fresh: true }],
  });

export const runStarted = z
  .object({ run_id: id, job_id: z.string() })
  .meta({ id: 'ExtractionRunStarted', description: 'The run waits for its turn; look at it by its id.' });

export const runReport = z
  .strictObject({
    id,
    source: sourceName,
    vault: z.string().min(1).max(4096),
    session: z.string().min(1).max(200).nullable(),
    state: runState.exclude(['queued']),
    ...figures,
    message: z.string().max(4000).nullable(),
  })
  .meta({ description: 'What a command tells of the run that it does itself.' });

export function viewOfSource(
  source: ExtractionSource,
  nextRunAt: Date | null,
): z.infer<typeof extractionSource> {
  return {
    ...inputOf(source),
    id: source.id,
    from_file: source.isFromFile,
    next_run_at: isoOrNull(nextRunAt),
    created_at: source.createdAt.toISOString(),
    modified_at: source.modifiedAt.toISOString(),
  };
}

export function viewOfRun(run: ExtractionRun): z.infer<typeof extractionRun> {
  return {
    id: run.id,
    source: run.source,
    origin: run.origin,
    vault: run.vault,
    state: run.state,
    job_id: run.jobId,
    session: run.session,
    types: [...run.types],
    calls: run.calls,
    refusals: run.rateLimitedCalls,
    multiplier: run.multiplier,
    items_per_second: run.itemsPerSecond,
    started_at: isoOrNull(run.startedAt),
    finished_at: isoOrNull(run.finishedAt),
    reported_at: run.reportedAt.toISOString(),
    message: run.message,
  };
}
