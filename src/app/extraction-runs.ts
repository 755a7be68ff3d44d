// Plugs registered sources and runs together: stores, jobs, schedules.
import type { Config } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { kindOf, parseCron, systemClock, systemIds } from '../core/index.ts';
import { extractionRunHandler, extractionRunJob, RunService, SourceService } from '../extraction/index.ts';
import { PostgresRunStore, PostgresSourceStore } from '../extraction/runs/stores.ts';
import type { Database } from '../platform/postgres/index.ts';
import { extractRegistered } from './extract-registered.ts';
import type { Environment } from './extraction-environment.ts';
import { sourceEnvironment } from './extraction-environment.ts';
import type { RetentionRule } from '../operations/retention.ts';
import type { ServerRole } from './client/server-file.ts';
import { sourceProblems } from './source-problems.ts';
import { readSourcesFile } from './sources-file.ts';
import type { Telemetry } from './telemetry.ts';

export interface ExtractionRunsDeps {
  readonly config: Config;
  readonly database: Database;
  readonly jobs: JobQueue;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  /** Of the server: where the secrets of sources are. */
  readonly env: Environment;
}

export interface ExtractionRuns {
  readonly sources: SourceService;
  readonly runs: RunService;
}

/** A cron minute is met within this; each occurrence is taken once, however often and whoever looks. */
const lookEveryMs = 5_000;

/**
 * Only a server that stays does runs: their vaults are in its data folder, which a worker has none of, and a command
 * that is a server for a moment would only begin them.
 */
export async function startExtractionRuns(
  parts: ExtractionRunsDeps,
  closing: AsyncDisposableStack,
): Promise<ExtractionRuns> {
  const { config, database, jobs, telemetry, role } = parts;
  const { events, redactor } = telemetry;
  const env = sourceEnvironment(parts.env);
  const common = {
    sources: new PostgresSourceStore(database),
    runs: new PostgresRunStore(database),
    clock: systemClock,
    ids: systemIds,
    events,
    redact: (text: string) => redactor.text(text),
  };
  const desks = {
    sources: new SourceService({ ...common, problems: (draft) => sourceProblems(draft, config, env) }),
    runs: new RunService({
      ...common,
      inTransaction: (work) => database.transaction(work),
      jobs,
      nextTime: (cron, afterMs) => parseCron(cron).next(afterMs),
    }),
  };
  await jobs.define([extractionRunJob]);
  if (role !== 'serve' && role !== 'demo') return desks;
  if (config.extraction.sourcesFile !== null)
    await desks.sources.syncFile(await readSourcesFile(config.extraction.sourcesFile));
  const extract = extractRegistered({ config, telemetry, env });
  await jobs.work(extractionRunJob, extractionRunHandler({ ...common, extract }));
  keepSchedules(desks.runs, telemetry, closing);
  return desks;
}

/** Old runs go by this. */
export function extractionRunsRule(database: Database, keepDays: number): RetentionRule {
  const runs = new PostgresRunStore(database);
  return {
    kind: 'extraction-runs',
    describe: 'extraction runs that have ended',
    keepDays,
    purge: (before, limit) => runs.purge(before, limit),
  };
}

/** No job of its own: one a minute would bury all others in the list of jobs. */
function keepSchedules(runs: RunService, { log }: Telemetry, closing: AsyncDisposableStack): void {
  let looking: Promise<unknown> = Promise.resolve();
  let cancel = systemClock.after(0, look);
  let isClosed = false;
  function look(): void {
    looking = runs
      .startDue()
      .catch((error: unknown) => log.warn('Schedules could not be looked at.', { cause: kindOf(error) }))
      .finally(() => {
        if (!isClosed) cancel = systemClock.after(lookEveryMs, look);
      });
  }
  closing.defer(async () => {
    isClosed = true;
    cancel();
    await looking;
  });
}
