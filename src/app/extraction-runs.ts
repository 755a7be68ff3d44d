// Opens extraction with the server's stores, configuration and telemetry.
import type { Config } from '../config/index.ts';
import { secretsOf } from '../config/index.ts';
import type { JobQueue } from '../core/index.ts';
import { noTracer } from '../core/index.ts';
import type { Extraction } from '../extraction/index.ts';
import { openExtraction } from '../extraction/index.ts';
import { PostgresRunStore } from '../extraction/runs/stores.ts';
import { countEvents } from '../platform/telemetry/metrics.ts';
import { traceEvents } from '../platform/telemetry/tracing.ts';
import type { Database } from '../platform/postgres/index.ts';
import type { Environment } from './extraction-environment.ts';
import { serverSecretVariables } from './extraction-environment.ts';
import type { RetentionRule } from '../operations/retention.ts';
import type { ServerRole } from './client/server-file.ts';
import type { Telemetry } from './telemetry.ts';

export type ExtractionRuns = Extraction;

export interface ExtractionRunsDeps {
  readonly config: Config;
  readonly database: Database;
  readonly jobs: JobQueue;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  /** The server's environment, with the secrets of sources. */
  readonly env: Environment;
}

export function startExtractionRuns(
  { config, database, jobs, telemetry, role, env }: ExtractionRunsDeps,
  closing: AsyncDisposableStack,
): Promise<Extraction> {
  const { events, log, redactor, metrics, tracer } = telemetry;
  return openExtraction({
    settings: config,
    secrets: secretsOf(config),
    database,
    jobs,
    events,
    log,
    redactor,
    env,
    serverSecretVariables: serverSecretVariables(),
    // A worker has no data folder for vaults, and a command that acts as a server ends too soon.
    runsJobs: role === 'serve' || role === 'demo',
    observe: (observed) => {
      countEvents(observed, metrics);
      if (tracer !== noTracer) traceEvents(observed, tracer);
    },
    closing,
  });
}

/** Deletes old runs. */
export function extractionRunsRule(database: Database, keepDays: number): RetentionRule {
  const runs = new PostgresRunStore(database);
  return {
    kind: 'extraction-runs',
    describe: 'extraction runs that have ended',
    keepDays,
    purge: (before, limit) => runs.purge(before, limit),
  };
}
