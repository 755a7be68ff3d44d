// Write-behind: batches, outages, bounds.
import { describe, expect, it } from 'vitest';
import type { Attempt, FailedRequest } from '../types.ts';
import { AttemptLog } from './attempt-log.ts';
import { exampleAttempt, exampleFailedRequest } from '../../../test/support/gateway/examples.ts';
import { away, stateWorld } from '../../../test/support/gateway/state-world.ts';

function setUp(limits: { batch?: number; maxWaiting?: number } = {}) {
  const { clock, parts, named } = stateWorld();
  type Batch = readonly (Attempt | FailedRequest)[];
  const batches: Batch[] = [];
  const behavior: { fail: (batch: Batch) => Error | undefined } = { fail: () => undefined };
  const store = {
    append: async (batch: Batch) => {
      const error = behavior.fail(batch);
      if (error) throw error;
      batches.push(batch);
    },
  };
  const recorder = new AttemptLog(parts, store, limits);
  const record = (...ids: readonly string[]) => {
    for (const requestId of ids) recorder.record(exampleAttempt({ requestId }));
  };
  const written = () => batches.map((batch) => batch.map(({ requestId }) => requestId).join(''));
  return { clock, named, recorder, record, written, behavior };
}

describe('AttemptLog', () => {
  it('writes the attempts of half a second in one batch', async () => {
    const { clock, record, written } = setUp();
    record('a', 'b');
    await clock.advance(300);
    record('c');
    expect(written()).toEqual([]);
    await clock.advance(200);
    expect(written()).toEqual(['abc']);
    record('d');
    await clock.advance(500);
    expect(written()).toEqual(['abc', 'd']);
    expect(clock.pending).toBe(0);
  });

  it('keeps attempts in order while the store is unavailable and retries them', async () => {
    const { clock, record, written, behavior, named, recorder } = setUp({ batch: 2 });
    behavior.fail = away;
    record('a', 'b', 'c');
    await clock.advance(600);
    record('d');
    expect(recorder.waiting.map(({ requestId }) => requestId).join('')).toBe('abcd');
    expect(named('gateway:store-failed')).toContainEqual({
      what: 'attempts',
      cause: 'STATE_UNAVAILABLE',
      waiting: 3,
    });
    behavior.fail = () => undefined;
    await clock.advance(10_000);
    expect(written()).toEqual(['ab', 'cd']);
  });

  it('drops the oldest when too many wait, and reports how many', async () => {
    const { clock, record, recorder, behavior, named } = setUp({ maxWaiting: 40 });
    behavior.fail = away;
    record(...Array.from({ length: 43 }, (_, index) => `${index} `));
    await clock.advance(500);
    expect(recorder.waiting).toHaveLength(39);
    expect(recorder.waiting[0]?.requestId).toBe('4 ');
    expect(recorder.waiting.at(-1)?.requestId).toBe('42 ');
    expect(named('gateway:attempts-dropped')).toEqual([{ count: 2 }, { count: 2 }]);
  });

  it('drops a batch that the store rejects for good, and writes the next ones', async () => {
    const { clock, record, written, behavior, named } = setUp({ batch: 2 });
    behavior.fail = (batch) =>
      batch.some(({ requestId }) => requestId === 'X')
        ? Object.assign(new Error('no'), { code: '22003' })
        : undefined;
    record('a', 'b', 'X', 'c', 'd');
    await clock.advance(1_000);
    expect(written().join('')).toBe('abd');
    expect(named('gateway:attempts-dropped')).toEqual([{ count: 2 }]);
  });

  it('clamps numbers and texts to storable values', async () => {
    const { recorder } = setUp();
    recorder.record(
      exampleAttempt({
        requestId: 'a\0b',
        promptTokens: 1e12,
        completionTokens: Number.NaN,
        durationMs: -1,
        firstTokenMs: Number.NaN,
        cacheReadTokens: -1,
        costUsd: Number.NaN,
        requestedModel: `\0${'x'.repeat(500)}`,
        at: 1.5,
      }),
    );
    expect(recorder.waiting).toMatchObject([
      {
        requestId: 'ab',
        promptTokens: 2_147_483_647,
        completionTokens: 0,
        durationMs: 0,
        firstTokenMs: null,
        cacheReadTokens: 0,
        costUsd: null,
        requestedModel: 'x'.repeat(199),
        at: 1,
      },
    ]);
  });

  it('writes failed requests in order with attempts, and shows them to no listener', async () => {
    const { clock, recorder, record, written } = setUp();
    const received: string[] = [];
    recorder.onRecord(({ requestId }) => received.push(requestId));
    record('a');
    recorder.recordFailedRequest(exampleFailedRequest({ requestId: 'X\0', durationMs: Number.NaN }));
    record('b');
    expect(recorder.waiting.map(({ requestId }) => requestId)).toEqual(['a', 'b']);
    await clock.advance(500);
    expect(written()).toEqual(['aXb']);
    expect(received).toEqual(['a', 'b']);
  });

  it('copies no attempt whose values are storable', () => {
    const { recorder } = setUp();
    const attempt = exampleAttempt();
    expect(recorder.record(attempt)).toBe(attempt);
  });

  it('writes everything when it closes, or reports what is dropped', async () => {
    const good = setUp();
    good.record('a', 'b');
    await good.recorder.close();
    expect(good.written()).toEqual(['ab']);
    const bad = setUp();
    bad.behavior.fail = away;
    bad.record('a', 'b');
    await bad.recorder.close();
    expect(bad.named('gateway:attempts-dropped')).toEqual([{ count: 2 }]);
    expect(bad.clock.pending).toBe(0);
  });
});
