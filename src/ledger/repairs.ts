// The background job that runs repairs, and closing an entry by hand.
import { z } from 'zod';
import type { Clock, Emitter, JobDefinition, JobHandler, JobQueue, Redactor } from '../core/index.ts';
import { storable } from './recorder.ts';
import { LedgerError } from './errors.ts';
import type { LedgerEvents } from './events.ts';
import type { LedgerEntry, LedgerStore } from './types.ts';
import type { RepairRequest, RepairRunner } from './repair-runner.ts';

const payload = z.strictObject({
  kind: z.string().min(1).optional(),
  id: z.uuid().optional(),
  due: z.boolean().optional(),
});

export const ledgerRepairJob: JobDefinition<RepairRequest> = {
  name: 'ledger.repair',
  description: 'Repairs degradations: all open ones, one kind, one entry, or those that are due.',
  parse: (raw) => payload.parse(raw ?? {}),
  // Only an error of the store fails the job; a row that cannot be repaired has its own backoff.
  retries: 3,
  retryDelayMs: 5_000,
  retryBackoff: true,
  concurrency: 1,
  timeoutMs: 15 * 60_000,
};

/**
 * Skipped when there was nothing to repair; its result is the RepairReport. `beforeRequested` is called before a run
 * that was requested, not before a scheduled one.
 */
export function ledgerRepairHandler(
  runner: Pick<RepairRunner, 'run'>,
  beforeRequested: () => void = () => undefined,
): JobHandler<RepairRequest> {
  return async (request, context) => {
    if (request.due !== true) beforeRequested();
    const report = await runner.run(request, {
      signal: context.signal,
      onProgress: (progress) => context.progress(progress),
    });
    if (report.tried > 0 || report.withoutRepair.length > 0) return { result: report };
    return { skipped: 'No open entry can be repaired now.' };
  };
}

/**
 * Does not wait and ignores failures: repairs are also scheduled. A queued or running repair of the same kind and `key`
 * is not enqueued again.
 */
export function requestRepairs(
  jobs: Pick<JobQueue, 'enqueue'>,
  kinds: readonly string[],
  key?: string,
): void {
  for (const kind of kinds) {
    const repair = jobs.enqueue(ledgerRepairJob, { kind }, { key: JSON.stringify([kind, key]) });
    repair.catch(() => undefined);
  }
}

/** The payload of the background schedule. */
export const dueRepairs: RepairRequest = { due: true };

/** The cron expression for an interval in minutes; null when background repair is off. */
export function repairCron(everyMinutes: number): string | null {
  return everyMinutes === 0 ? null : `*/${everyMinutes} * * * *`;
}

export interface CloseEntryDeps {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly events: Emitter<LedgerEvents>;
}

/**
 * The closed row. `how` is the person's sentence, kept with it. Fails with LEDGER_ENTRY_UNKNOWN, LEDGER_ENTRY_CLOSED,
 * or LEDGER_ENTRY_SEEN_AGAIN when it failed again at the same time.
 */
export async function closeEntry(deps: CloseEntryDeps, id: string, how: string): Promise<LedgerEntry> {
  const { store, clock, redactor, events } = deps;
  const details = { id };
  const entry = await store.get(id);
  if (!entry) throw new LedgerError('LEDGER_ENTRY_UNKNOWN', `There is no ledger row ${id}.`, { details });
  if (entry.repairedAt)
    throw new LedgerError('LEDGER_ENTRY_CLOSED', `The ledger row ${id} is already closed.`, { details });
  const repairedAt = new Date(clock.now());
  const repairedHow = storable(redactor.text(how), 500);
  if (!(await store.markRepaired(id, repairedHow, repairedAt, entry.count)))
    throw new LedgerError(
      'LEDGER_ENTRY_SEEN_AGAIN',
      `The ledger row ${id} changed while it was being closed. Check it again.`,
      { details, isRetryable: true },
    );
  events.emit('ledger:repaired', { id, kind: entry.kind, subject: entry.subject, how: 'hand' });
  return { ...entry, repairedAt, repairedHow, nextRepairAt: null };
}
