// Deletes rows that are older than their retention setting, in small batches. One failing rule does not stop the others.
import type { Clock, Emitter, JobDefinition, JobHandler, JobProgress } from '../core/index.ts';
import { CoreError, event, kindOf, messageOf } from '../core/index.ts';
import type { LedgerRecorder, RegisteredRepair } from '../ledger/index.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';

/** One kind of row that would otherwise grow without limit. */
export interface RetentionRule {
  /** `audit`, `ledger`, `jobs`, … */
  readonly kind: string;
  /** A noun phrase for messages: `rows of the audit log`. */
  readonly describe: string;
  /** Older rows are deleted; 0 keeps them forever. */
  readonly keepDays: number;
  /** Deletes at most `limit` rows from before `before` and returns how many; fewer than `limit` means none is left. */
  readonly purge: (before: Date, limit: number) => Promise<number>;
}

export interface RetentionDeps {
  readonly clock: Clock;
  readonly events: Emitter<RetentionEvents>;
  readonly ledger: LedgerRecorder;
  readonly rules: readonly RetentionRule[];
}

const failuresCounter = {
  name: 'headworks_retention_failures_total',
  help: 'Retention rules that failed.',
  labels: ['kind'],
} as const;

export const retentionEvents = {
  'retention:purged': event<{ kind: string; count: number; before: string }>({
    level: 'info',
    message: 'deleted rows past their retention time',
    counter: {
      name: 'headworks_retention_purged_total',
      help: 'Rows deleted by retention.',
      labels: ['kind'],
      by: 'count',
    },
  }),
  'retention:failed': event<{ kind: string; cause: string }>({
    level: 'error',
    message: 'could not delete rows past their retention time',
    counter: failuresCounter,
  }),
} as const;

export type RetentionEvents = typeof retentionEvents;

/** Starts the failure counter of every rule at 0: Prometheus' `increase` misses a series whose first value is 1. */
export function registerRetentionMetrics(
  metrics: Pick<Metrics, 'counter'>,
  rules: readonly RetentionRule[],
): void {
  const count = metrics.counter(failuresCounter);
  for (const { kind } of rules) count(0, [kind]);
}

/** Rows deleted by one statement: few enough not to block others noticeably, also on the embedded store. */
const batchSize = 500;
const dayMs = 86_400_000;

/** Ledger kind of a rule that failed; the subject is the rule's kind. */
export const purgeFailedKind = 'retention.purge-failed';

/** Deleted rows by kind. */
export type RetentionReport = Readonly<Record<string, number>>;

export interface RetentionRun {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobProgress) => void;
}

/** Runs every rule. Fails with the signal's reason, or after all rules when one of them failed. */
export async function runRetention(deps: RetentionDeps, run: RetentionRun = {}): Promise<RetentionReport> {
  const report: Record<string, number> = {};
  const failures: { readonly kind: string; readonly error: unknown }[] = [];
  let done = 0;
  for (const rule of deps.rules) {
    run.signal?.throwIfAborted();
    try {
      report[rule.kind] = await purgeRule(deps, rule, run.signal, (count) =>
        run.onProgress?.({ done, total: deps.rules.length, message: `${rule.kind}: ${count} rows deleted` }),
      );
    } catch (error) {
      run.signal?.throwIfAborted();
      failures.push({ kind: rule.kind, error });
      recordFailure(deps, rule, error);
    }
    done += 1;
    run.onProgress?.({ done, total: deps.rules.length });
  }
  if (failures.length > 0) throw retentionFailed(failures, report);
  return report;
}

async function purgeRule(
  { clock, events }: Pick<RetentionDeps, 'clock' | 'events'>,
  rule: RetentionRule,
  signal: AbortSignal | undefined,
  onBatch: (count: number) => void,
): Promise<number> {
  if (rule.keepDays === 0) return 0;
  const before = new Date(clock.now() - rule.keepDays * dayMs);
  let total = 0;
  try {
    for (let deleted = batchSize; deleted === batchSize;) {
      signal?.throwIfAborted();
      deleted = await rule.purge(before, batchSize);
      total += deleted;
      if (deleted > 0) onBatch(total);
    }
  } finally {
    if (total > 0)
      events.emit('retention:purged', { kind: rule.kind, count: total, before: before.toISOString() });
  }
  return total;
}

/** Does not wait for the ledger: while the store is down the recorder buffers the row. */
function recordFailure({ events, ledger }: RetentionDeps, rule: RetentionRule, error: unknown): void {
  const cause = kindOf(error);
  events.emit('retention:failed', { kind: rule.kind, cause });
  void ledger.record({
    kind: purgeFailedKind,
    subject: rule.kind,
    cause,
    message: `Old rows (${rule.describe}) could not be deleted: ${messageOf(error)}`,
  });
}

function retentionFailed(
  failures: readonly { readonly kind: string; readonly error: unknown }[],
  report: RetentionReport,
): CoreError {
  const kinds = failures.map(({ kind }) => kind);
  return new CoreError('INTERNAL', `Retention could not delete old rows of: ${kinds.join(', ')}.`, {
    isRetryable: true,
    details: { kinds, report },
    cause: new AggregateError(failures.map(({ error }) => error)),
  });
}

/** Repairs a failed rule by running it again. */
export function purgeRepair(deps: Omit<RetentionDeps, 'ledger'>): RegisteredRepair {
  return {
    kind: purgeFailedKind,
    describe: 'Delete the old rows of this kind again.',
    repair: async ({ subject }, signal) => {
      const rule = deps.rules.find(({ kind }) => kind === subject);
      if (!rule) return { outcome: 'gone' };
      await purgeRule(deps, rule, signal, () => undefined);
      return { outcome: 'repaired' };
    },
  };
}

export const retentionJob: JobDefinition<null> = {
  name: 'retention.run',
  description: 'Delete rows that are older than their retention setting.',
  parse: () => null,
  // A failed rule is recorded in the ledger and repaired from there.
  retries: 0,
  retryDelayMs: 0,
  retryBackoff: false,
  concurrency: 1,
  timeoutMs: 60 * 60_000,
};

/** The job's result is the report; the job fails when a rule failed. */
export function retentionHandler(deps: RetentionDeps): JobHandler<null> {
  return async (_, context) => ({
    result: await runRetention(deps, {
      signal: context.signal,
      onProgress: (progress) => context.progress(progress),
    }),
  });
}

type Purgeable = Pick<RetentionRule, 'purge'>;

/** The rules that belong to no domain. */
export function coreRetentionRules(
  { audit, ledger, jobs }: Readonly<Record<'audit' | 'ledger' | 'jobs', Purgeable>>,
  days: { readonly auditDays: number; readonly ledgerDays: number; readonly jobsDays: number },
): readonly RetentionRule[] {
  const rule = (kind: string, describe: string, keepDays: number, store: Purgeable): RetentionRule => ({
    kind,
    describe,
    keepDays,
    purge: (before, limit) => store.purge(before, limit),
  });
  return [
    rule('audit', 'rows of the audit log', days.auditDays, audit),
    rule('ledger', 'resolved rows of the ledger', days.ledgerDays, ledger),
    rule('jobs', 'jobs that have ended', days.jobsDays, jobs),
  ];
}
