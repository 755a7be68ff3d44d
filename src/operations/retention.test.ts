// Retention: bounded batches, one failing rule among others, and cancellation.
import { describe, expect, it } from 'vitest';
import type { JobProgress } from '../core/index.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { EventBus } from '../core/index.ts';
import type { Degradation } from '../ledger/index.ts';
import type { RetentionRule } from './retention.ts';
import {
  coreRetentionRules,
  purgeFailedKind,
  purgeRepair,
  retentionEvents,
  retentionHandler,
  retentionJob,
  runRetention,
} from './retention.ts';

const dayMs = 86_400_000;

/** Rows by their age in days. */
function table(kind: string, keepDays: number, agesInDays: readonly number[], clock: VirtualClock) {
  let rows = agesInDays.map((age) => clock.now() - age * dayMs);
  const limits: number[] = [];
  const rule: RetentionRule = {
    kind,
    describe: `rows of ${kind}`,
    keepDays,
    purge: async (before, limit) => {
      limits.push(limit);
      const old = new Set(rows.filter((at) => at < before.getTime()).slice(0, limit));
      const went = rows.filter((at) => old.has(at)).slice(0, limit).length;
      let left = went;
      rows = rows.filter((at) => !(old.has(at) && left-- > 0));
      return went;
    },
  };
  return { rule, limits, left: () => rows.length };
}

const broken = (kind: string): RetentionRule => ({
  kind,
  describe: 'broken rows',
  keepDays: 1,
  purge: () => Promise.reject(new Error('no such table')),
});

function setUp(clock: VirtualClock, rules: readonly RetentionRule[]) {
  const events = new EventBus(retentionEvents);
  const emitted: { name: string; payload: Record<string, unknown> }[] = [];
  events.listen(({ name, payload }) => emitted.push({ name, payload }));
  const recorded: Degradation[] = [];
  const ledger = { record: async (row: Degradation) => void recorded.push(row) };
  return { parts: { clock, events, ledger, rules }, emitted, recorded };
}

describe('runRetention', () => {
  it('deletes rows older than each rule allows, in bounded batches', async () => {
    const clock = new VirtualClock();
    const big = table(
      'big',
      30,
      Array.from({ length: 1_200 }, () => 31),
      clock,
    );
    const small = table('small', 90, [1, 89, 91], clock);
    const { parts, emitted } = setUp(clock, [big.rule, small.rule]);
    const progress: JobProgress[] = [];
    const report = await runRetention(parts, { onProgress: (step) => progress.push(step) });
    expect(report).toEqual({ big: 1_200, small: 1 });
    expect(big.limits).toEqual([500, 500, 500]);
    expect([big.left(), small.left()]).toEqual([0, 2]);
    expect(emitted.map(({ payload }) => [payload['kind'], payload['count']])).toEqual([
      ['big', 1_200],
      ['small', 1],
    ]);
    expect(progress.at(-1)).toEqual({ done: 2, total: 2 });
  });

  it('keeps rows forever when the setting is 0 days', async () => {
    const clock = new VirtualClock();
    const { rule, limits } = table('kept', 0, [10_000], clock);
    const { parts } = setUp(clock, [rule]);
    expect(await runRetention(parts)).toEqual({ kept: 0 });
    expect(limits).toEqual([]);
  });

  it('runs the other rules when one fails, records the failure, and fails at the end', async () => {
    const clock = new VirtualClock();
    const good = table('good', 1, [2], clock);
    const { parts, emitted, recorded } = setUp(clock, [broken('bad'), good.rule]);
    await expect(runRetention(parts)).rejects.toMatchObject({
      message: 'Retention could not delete old rows of: bad.',
      details: { kinds: ['bad'], report: { good: 1 } },
    });
    expect(good.left()).toBe(0);
    expect(recorded).toMatchObject([{ kind: purgeFailedKind, subject: 'bad', cause: 'Error' }]);
    expect(emitted.map(({ name }) => name)).toEqual(['retention:failed', 'retention:purged']);
  });

  it('stops between two batches, reports what was deleted, and records no failure', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const { rule, left } = table(
      'big',
      1,
      Array.from({ length: 2_000 }, () => 2),
      clock,
    );
    const stopping: RetentionRule = {
      ...rule,
      purge: async (before, limit) => {
        controller.abort(new Error('draining'));
        return rule.purge(before, limit);
      },
    };
    const { parts, emitted, recorded } = setUp(clock, [stopping, broken('never reached')]);
    await expect(runRetention(parts, { signal: controller.signal })).rejects.toThrow('draining');
    expect(left()).toBe(1_500);
    expect(emitted).toMatchObject([{ name: 'retention:purged', payload: { count: 500 } }]);
    expect(recorded).toEqual([]);
  });
});

describe('the repair of a failed rule', () => {
  const entry = (subject: string) => ({ subject }) as Parameters<ReturnType<typeof purgeRepair>['repair']>[0];
  const { signal } = new AbortController();

  it('runs that rule again, and reports when the rule no longer exists', async () => {
    const clock = new VirtualClock();
    const { rule, left } = table('audit', 1, [2, 2], clock);
    const { repair, kind } = purgeRepair(setUp(clock, [rule, broken('bad')]).parts);
    expect(kind).toBe(purgeFailedKind);
    expect(await repair(entry('audit'), signal)).toEqual({ outcome: 'repaired' });
    expect(left()).toBe(0);
    expect(await repair(entry('dropped'), signal)).toEqual({ outcome: 'gone' });
    await expect(repair(entry('bad'), signal)).rejects.toThrow('no such table');
  });
});

describe('the job retention.run', () => {
  it('returns what was deleted', async () => {
    const clock = new VirtualClock();
    const { rule } = table('audit', 1, [2], clock);
    const context = { id: '1', attempt: 1, signal: new AbortController().signal, progress: () => undefined };
    const handler = retentionHandler(setUp(clock, [rule]).parts);
    expect(await handler(retentionJob.parse({ anything: 1 }), context)).toEqual({ result: { audit: 1 } });
  });
});

describe('coreRetentionRules', () => {
  it('purges audit, ledger and jobs, each by its own setting', async () => {
    const purged: string[] = [];
    const store = (name: string) => ({ purge: async () => purged.push(name) });
    const rules = coreRetentionRules(
      { audit: store('audit'), ledger: store('ledger'), jobs: store('jobs') },
      { auditDays: 365, ledgerDays: 90, jobsDays: 30 },
    );
    expect(rules.map(({ kind, keepDays }) => [kind, keepDays])).toEqual([
      ['audit', 365],
      ['ledger', 90],
      ['jobs', 30],
    ]);
    for (const rule of rules) await rule.purge(new Date(0), 1);
    expect(purged).toEqual(['audit', 'ledger', 'jobs']);
  });
});
