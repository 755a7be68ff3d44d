// Scores from memory always equal those computed from the store.
import { array, assert, asyncProperty, constantFrom, oneof, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../core/index.ts';
import type { Attempt } from '../types.ts';
import type { AttemptStore } from '../stores.ts';
import { AttemptLog, isReliabilityOutcome } from './attempt-log.ts';
import { exampleAttempt, moment } from '../../../test/support/gateway/examples.ts';
import { MemoryAttemptStore } from '../../../test/support/gateway/memory-stores.ts';
import { Scores } from './scores.ts';
import { stateWorld } from '../../../test/support/gateway/state-world.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Writes and reads that take a few milliseconds, so that attempts arrive meanwhile. */
const slow = (store: AttemptStore, clock: Clock): AttemptStore => ({
  append: async (attempts) => {
    await clock.sleep(1);
    await store.append(attempts);
    await clock.sleep(1);
  },
  stats: async (range) => {
    const stats = await store.stats(range);
    await clock.sleep(3);
    return stats;
  },
  list: (filter) => store.list(filter),
  lastCalls: (range) => store.lastCalls(range),
  history: (range) => store.history(range),
  requests: (filter) => store.requests(filter),
  request: (id) => store.request(id),
  purge: (before, limit) => store.purge(before, limit),
});

describe('Scores', () => {
  it('returns the prior for a model without attempts', async () => {
    const { scores } = await stateWorld().open();
    expect(scores.of(7)).toMatchObject({ effectiveScore: 0.5, longTerm: { requests: 0 }, windowDays: 7 });
  });

  it('counts an attempt at once, before it is written', async () => {
    const { scores, attempts } = await stateWorld().open();
    attempts.record(exampleAttempt({ durationMs: 2_000 }));
    expect(scores.of(1).recent).toEqual({
      requests: 1,
      successes: 1,
      averageSeconds: 2,
      typicalSeconds: 2,
    });
    expect(scores.of(1)).toBe(scores.of(1));
  });

  it('is not lowered by long responses', async () => {
    const { scores, attempts } = await stateWorld().open();
    const of = (modelId: number, change: Partial<Attempt>) =>
      ['a', 'b', 'c'].forEach((requestId) =>
        attempts.record(exampleAttempt({ modelId, requestId: `${modelId} ${requestId}`, ...change })),
      );
    of(1, { durationMs: 2_300, firstTokenMs: 300, completionTokens: 200 });
    of(2, { durationMs: 40_300, firstTokenMs: 300, completionTokens: 4_000 });
    expect(scores.of(2).effectiveScore).toBeCloseTo(scores.of(1).effectiveScore, 9);
    expect(scores.of(2).longTerm.averageSeconds).toBeCloseTo(40.3);
  });

  it('does not count a call to a former endpoint, but its cost', async () => {
    const { scores, attempts, usage } = await stateWorld().open();
    // Durations that need clamping.
    for (const change of [{}, { outcome: 'network', durationMs: Number.NaN }] as const)
      attempts.record(exampleAttempt({ requestId: 'other', isStale: true, ...change }));
    expect(scores.of(1).recent.requests).toBe(0);
    expect(usage.usedToday('admin').tokens).toBe(30);
  });

  it('restores the history after a restart, with the window separate', async () => {
    const { open, memory } = stateWorld();
    const old = exampleAttempt({ requestId: 'old', at: moment(-8 * dayMs), outcome: 'timeout' });
    await memory.attempts.append([old, exampleAttempt({ at: moment(-hourMs) })]);
    const { scores } = await open();
    expect(scores.of(1)).toMatchObject({
      longTerm: { requests: 2, successes: 1 },
      recent: { requests: 1, successes: 1 },
    });
    expect((await scores.forWindow(9)).of(1)).toMatchObject({
      longTerm: { requests: 2 },
      recent: { requests: 2 },
      windowDays: 9,
    });
  });

  it('moves the window', async () => {
    const { open, clock, memory } = stateWorld();
    await memory.attempts.append([exampleAttempt()]);
    const { scores } = await open();
    await clock.advance(6 * dayMs);
    expect(scores.of(1)).toMatchObject({ longTerm: { requests: 1 }, recent: { requests: 1 } });
    await clock.advance(dayMs + 2 * hourMs);
    expect(scores.of(1)).toMatchObject({ longTerm: { requests: 1 }, recent: { requests: 0 } });
  });

  it('includes attempts of other processes within half a minute', async () => {
    const world = stateWorld();
    const [one, two] = [await world.open(), await world.open()];
    one.attempts.record(exampleAttempt({ outcome: 'server-error' }));
    await world.clock.advance(31_000);
    expect(two.scores.of(1).longTerm).toMatchObject({ requests: 1, successes: 0 });
    expect(one.scores.of(1).longTerm).toMatchObject({ requests: 1, successes: 0 });
  });

  it('reads only the window within the same hour', async () => {
    const { open, clock, calls } = stateWorld();
    await open();
    const count = (name: string) => calls.filter((call) => call === `attempts.${name}`).length;
    // The other reader of stats reads the last calls with them.
    const reads = () => count('stats') - count('lastCalls');
    const before = reads();
    await clock.advance(30_000);
    expect(reads() - before).toBe(1);
  });

  it('explains a score with its attempts', async () => {
    const { scores, attempts } = await stateWorld().open();
    for (const requestId of ['a', 'b', 'c']) attempts.record(exampleAttempt({ requestId }));
    const { score, steps, recentAttempts } = await scores.explain(1, 2);
    expect(score.effectiveScore).toBeCloseTo(0.96);
    expect(steps.join()).toContain('3 of 3');
    expect(recentAttempts.map(({ requestId }) => requestId)).toEqual(['c', 'b']);
  });

  it('counts a request once that failed before the stats were read and succeeded during the read', async () => {
    const { open, clock, stores } = stateWorld();
    const slowStores = { ...stores, attempts: slow(stores.attempts, clock) };
    const { scores, attempts } = await clock.run(open({ stores: slowStores }));
    const failed = attempts.record(exampleAttempt({ outcome: 'timeout' }));
    await clock.run(attempts.flush());
    const read = scores.reload.refresh();
    await clock.advance(1);
    attempts.record(exampleAttempt({ supersedes: failed }));
    await clock.run(read);
    expect(scores.of(1).longTerm).toMatchObject({ requests: 1, successes: 1 });
  });

  it('reads the store while writes pause: an attempt that is being written counts once', async () => {
    const { open, clock, stores } = stateWorld();
    const slowStores = { ...stores, attempts: slow(stores.attempts, clock) };
    const { scores, attempts } = await clock.run(open({ stores: slowStores }));
    attempts.record(exampleAttempt());
    const written = attempts.flush();
    const read = scores.reload.refresh();
    await clock.run(Promise.all([written, read]));
    expect(scores.of(1).longTerm).toMatchObject({ requests: 1, successes: 1 });
  });

  it('recovers a bad model: old failures leave the window while probes fill it', async () => {
    const { parts, memory, clock } = stateWorld();
    const attempts = new AttemptLog(parts, memory.attempts);
    const scores = new Scores({ ...parts, store: memory.attempts, attempts, windowDays: 7 });
    const [bad, fair] = [1, 2];
    const at = () => clock.now();
    const append = (modelId: number, count: number, change: Partial<Attempt>) =>
      memory.attempts.append(
        Array.from({ length: count }, (_, index) =>
          exampleAttempt({ modelId, at: at(), requestId: `${modelId} ${at()} ${index}`, ...change }),
        ),
      );
    await append(bad, 100, { outcome: 'timeout' });
    await append(fair, 100, { durationMs: 5_000 });
    const leads = async () => {
      await scores.reload.refresh();
      return scores.of(bad).effectiveScore > scores.of(fair).effectiveScore;
    };
    // One probe per hour, as scheduled; no other request reaches the model that is behind.
    const hoursUntilItLeads = async () => {
      for (let hour = 1; hour <= 10 * 24; hour += 1) {
        await clock.advance(hourMs);
        await append(bad, 1, { durationMs: 500, caller: 'probe' });
        await append(fair, 1, { durationMs: 5_000 });
        if (await leads()) return hour;
      }
      return Number.POSITIVE_INFINITY;
    };
    expect(await leads()).toBe(false);
    const hours = await hoursUntilItLeads();
    expect(hours).toBeGreaterThan(24);
    expect(hours).toBeLessThanOrEqual(7 * 24 + 1);
    expect(scores.of(bad).effectiveScore).toBeCloseTo(0.98);
    expect(scores.of(bad).reliabilityScore).toBeLessThan(0.8);
  });

  it('never counts a request twice, whenever it is written or read again', async () => {
    const attempt = record({
      kind: constantFrom('attempt' as const),
      modelId: constantFrom(1, 2),
      requestId: constantFrom('a', 'b', 'c', 'd'),
      outcome: constantFrom<Attempt['outcome']>(
        'success',
        'server-error',
        'timeout',
        'rate-limit',
        'canceled',
      ),
    });
    const step = oneof(
      { weight: 5, arbitrary: attempt },
      {
        weight: 1,
        arbitrary: record({ kind: constantFrom('write' as const, 'read' as const, 'away' as const) }),
      },
    );
    await assert(
      asyncProperty(array(step, { maxLength: 30 }), async (steps) => {
        const { open, clock, goAway, comeBack, stores } = stateWorld();
        const { scores, attempts } = await clock.run(
          open({
            stores: { ...stores, attempts: slow(stores.attempts, clock) },
          }),
        );
        const truth = new MemoryAttemptStore();
        const ended = new Map<string, number>();
        const counted = new Map<string, Attempt | undefined>();
        const check = async () => {
          for (const { modelId, ...stats } of await truth.stats({}))
            expect(scores.of(modelId).longTerm).toEqual(stats);
        };
        for (const each of steps) {
          await clock.advance(1);
          if (each.kind === 'attempt') {
            const { modelId, outcome } = each;
            // A success ends a request: later attempts belong to another one.
            const requestId = `${each.requestId}${ended.get(each.requestId) ?? 0}`;
            if (outcome === 'success') ended.set(each.requestId, (ended.get(each.requestId) ?? 0) + 1);
            const key = `${modelId} ${requestId}`;
            const isCounted = isReliabilityOutcome({ outcome });
            const supersedes = isCounted ? counted.get(key) : undefined;
            const made = attempts.record(
              exampleAttempt({
                modelId,
                requestId,
                outcome,
                at: clock.now(),
                ...(supersedes && { supersedes }),
              }),
            );
            if (isCounted) counted.set(key, outcome === 'success' ? undefined : made);
            await truth.append([made]);
          } else if (each.kind === 'write') void attempts.flush();
          else if (each.kind === 'read') void scores.reload.refresh();
          else {
            goAway();
            void scores.reload.refresh();
            await clock.advance(1);
            comeBack();
          }
          await check();
        }
        await clock.advance(1_000);
        await check();
      }),
      { numRuns: 150 },
    );
  });
});
