// Deletes what is older than its rule allows, in small batches. A rule that fails does not stop the others.
import type { Clock, Emitter, JobProgress } from '../../core/index.ts';
import { CoreError, kindOf, messageOf } from '../../core/index.ts';
import type { LedgerRecorder, RegisteredRepair } from '../../ledger/index.ts';
import type { RetentionEvents } from './retention-events.ts';
import type { RetentionRule } from './retention-rule.ts';

export interface RetentionParts {
  readonly clock: Clock;
  readonly events: Emitter<RetentionEvents>;
  readonly ledger: LedgerRecorder;
  readonly rules: readonly RetentionRule[];
}

/** Rows deleted by one statement: short enough that nobody waits for it, also on the embedded store. */
const batchSize = 500;
const dayMs = 86_400_000;

/** The ledger's kind for a rule that failed; the subject is the rule's kind. */
export const purgeFailedKind = 'retention.purge-failed';

export type RetentionReport = Readonly<Record<string, number>>;

export interface RetentionRun {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobProgress) => void;
}

/** Runs every rule; rows deleted by kind. Fails with the signal's reason, or after all rules when one of them failed. */
export async function runRetention(parts: RetentionParts, run: RetentionRun = {}): Promise<RetentionReport> {
  const report: Record<string, number> = {};
  const failures: { readonly kind: string; readonly error: unknown }[] = [];
  let done = 0;
  for (const rule of parts.rules) {
    run.signal?.throwIfAborted();
    try {
      report[rule.kind] = await purgeRule(parts, rule, run.signal, (count) =>
        run.onProgress?.({ done, total: parts.rules.length, message: `${rule.kind}: ${count} rows deleted` }),
      );
    } catch (error) {
      run.signal?.throwIfAborted();
      failures.push({ kind: rule.kind, error });
      tellFailure(parts, rule, error);
    }
    done += 1;
    run.onProgress?.({ done, total: parts.rules.length });
  }
  if (failures.length > 0) throw failed(failures, report);
  return report;
}

async function purgeRule(
  { clock, events }: Pick<RetentionParts, 'clock' | 'events'>,
  rule: RetentionRule,
  signal: AbortSignal | undefined,
  onBatch: (count: number) => void,
): Promise<number> {
  if (rule.keepDays === 0) return 0;
  const before = new Date(clock.now() - rule.keepDays * dayMs);
  let total = 0;
  try {
    for (let went = batchSize; went === batchSize;) {
      signal?.throwIfAborted();
      went = await rule.purge(before, batchSize);
      total += went;
      if (went > 0) onBatch(total);
    }
  } finally {
    if (total > 0)
      events.emit('retention:purged', { kind: rule.kind, count: total, before: before.toISOString() });
  }
  return total;
}

/** Not waited for: when the store is away, the row waits in memory, and the run must not. */
function tellFailure({ events, ledger }: RetentionParts, rule: RetentionRule, error: unknown): void {
  const cause = kindOf(error);
  events.emit('retention:failed', { kind: rule.kind, cause });
  void ledger.record({
    kind: purgeFailedKind,
    subject: rule.kind,
    cause,
    message: `Old rows (${rule.describe}) could not be deleted: ${messageOf(error)}`,
  });
}

function failed(
  failures: readonly { readonly kind: string; readonly error: unknown }[],
  report: RetentionReport,
): CoreError {
  const kinds = failures.map(({ kind }) => kind);
  const cause = new AggregateError(failures.map(({ error }) => error));
  return new CoreError('INTERNAL', `Retention could not delete old rows of: ${kinds.join(', ')}.`, {
    isRetryable: true,
    details: { kinds, report },
    cause,
  });
}

/** Repairs a failed rule by running it again. */
export function purgeRepair(parts: Omit<RetentionParts, 'ledger'>): RegisteredRepair {
  return {
    kind: purgeFailedKind,
    describe: 'Deletes the old rows of this kind once more.',
    repair: async ({ subject }, signal) => {
      const rule = parts.rules.find(({ kind }) => kind === subject);
      if (!rule) return { outcome: 'gone' };
      await purgeRule(parts, rule, signal, () => undefined);
      return { outcome: 'repaired' };
    },
  };
}
