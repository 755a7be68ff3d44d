// The job that repairs: in the background for what is due, on demand for what somebody asks for.
import { z } from 'zod';
import type { JobDefinition, JobHandler } from '../core/index.ts';
import type { RepairRequest, RepairRunner } from './repair-runner.ts';

const payload = z.strictObject({
  kind: z.string().min(1).optional(),
  id: z.uuid().optional(),
  due: z.boolean().optional(),
});

export const ledgerRepairJob: JobDefinition<RepairRequest> = {
  name: 'ledger.repair',
  description: 'Repairs what fell back: everything open, one kind, one row, or what is due.',
  parse: (raw) => payload.parse(raw ?? {}),
  // Only the store itself can make it fail; a row that cannot be repaired has a backoff of its own.
  retries: 3,
  retryDelayMs: 5_000,
  retryBackoff: true,
  concurrency: 1,
  timeoutMs: 15 * 60_000,
};

/** Ends as skipped when nothing was there to repair; its result is the RepairReport. */
export function ledgerRepairHandler(runner: RepairRunner): JobHandler<RepairRequest> {
  return async (request, context) => {
    const report = await runner.run(request, {
      signal: context.signal,
      onProgress: (progress) => context.progress(progress),
    });
    if (report.tried > 0 || report.withoutRepair.length > 0) return { result: report };
    return { skipped: 'Nothing is open that could be repaired now.' };
  };
}

/** What the background schedule puts into the queue. */
export const dueRepairs: RepairRequest = { due: true };

/** The cron expression for "every so many minutes"; null when background repair is off. */
export function repairCron(everyMinutes: number): string | null {
  return everyMinutes === 0 ? null : `*/${everyMinutes} * * * *`;
}
