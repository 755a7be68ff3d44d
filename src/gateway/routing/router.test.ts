import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ScriptedCall, ScriptedModel } from '../../../test/support/gateway/routing-world.ts';
import { requestFor, modelOf, RoutingWorld } from '../../../test/support/gateway/routing-world.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import type { GatewayError } from '../errors.ts';
import type { FailureClass } from '../errors.ts';
import { failureRules } from '../errors.ts';
import { RoutedRequest } from './routed-request.ts';

const delayMs = 10_000;
const transient = [
  'server-error',
  'timeout',
  'network',
  'invalid-response',
] as const satisfies FailureClass[];
const classes = Object.keys(failureRules).filter((name) => name !== 'canceled') as FailureClass[];

const embedder = modelOf({ name: 'e', capabilities: { embeddings: true } }, 1).capabilities;

describe('rounds', () => {
  it('call the best model once when it responds', async () => {
    const world = new RoutingWorld([
      { name: 'a', score: 0.2 },
      { name: 'b', score: 0.8 },
    ]);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' }, attempts: 1, isFallback: false });
    expect(world.called).toEqual(['b']);
    expect(world.clock.sleeps).toEqual([]);
    expect(world.clock.pending).toBe(0);
  });

  it.each(classes)('continue with the next model at once after %s', async (failureClass) => {
    const world = new RoutingWorld([{ name: 'a', script: failureClass, score: 0.9 }, { name: 'b' }]);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' }, attempts: 2, isFallback: true });
    expect(world.calls.map(({ atMs }) => atMs)).toEqual([0, 0]);
    expect(world.clock.sleeps).toEqual([]);
  });

  it.each([
    [0, 1],
    [1, 2],
    [10, 11],
  ])(
    'with MAX_RETRIES %i make exactly %i attempts per model and sleep only between rounds',
    async (maxRetries, attempts) => {
      for (const failureClass of transient) {
        const world = new RoutingWorld(
          [
            { name: 'a', script: failureClass, score: 0.9 },
            { name: 'b', script: failureClass },
          ],
          { maxRetries },
        );
        const error = (await world.failure()) as GatewayError;
        expect(world.called).toEqual(Array.from({ length: attempts }, () => ['a', 'b']).flat());
        expect(world.clock.sleeps).toEqual(Array.from({ length: attempts - 1 }, () => delayMs));
        expect(world.clock.monotonic()).toBe((attempts - 1) * delayMs);
        expect(error.tried.map((tried) => tried.attempts)).toEqual([attempts, attempts]);
        expect(world.clock.pending).toBe(0);
      }
    },
  );

  it('use the maximum number of retries of the request', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'server-error' }]);
    await world.failure('a', { maxRetries: 2 });
    expect(world.calls).toHaveLength(3);
  });

  it('retry only transient failures in a later round', async () => {
    const world = new RoutingWorld(
      [
        { name: 'broken', script: 'server-error', score: 0.9 },
        { name: 'revoked', script: 'authentication', score: 0.8 },
        { name: 'limited', script: { does: 'rate-limit', hintMs: 60_000 }, score: 0.7 },
        { name: 'picky', script: 'validation', score: 0.6 },
      ],
      { maxRetries: 2 },
    );
    await world.failure();
    expect(world.called).toEqual(['broken', 'revoked', 'limited', 'picky', 'broken', 'broken']);
  });

  it('retry a rate-limited model in a later round after its cooldown while it has attempts left', async () => {
    const script = [
      { does: 'rate-limit', hintMs: 10_001 },
      { does: 'rate-limit', hintMs: 1 },
    ] as const;
    const world = new RoutingWorld(
      [
        { name: 'limited', script, score: 0.9 },
        { name: 'broken', script: 'server-error' },
      ],
      { maxRetries: 2 },
    );
    await world.failure();
    expect(world.calls.map(({ model, atMs }) => [model, atMs])).toEqual([
      ['limited', 0],
      ['broken', 0],
      ['broken', delayMs],
      ['limited', 2 * delayMs],
      ['broken', 2 * delayMs],
    ]);
  });

  it('do not retry a model without attempts left because another has some', async () => {
    const world = new RoutingWorld(
      [
        { name: 'a', script: 'server-error', score: 0.9 },
        { name: 'late', script: 'server-error' },
      ],
      { maxRetries: 1 },
    );
    world.cool('late', 9_000);
    await world.failure();
    expect(world.called).toEqual(['a', 'a', 'late', 'late']);
  });

  it('never retry a local model after 429, although it has no cooldown', async () => {
    const world = new RoutingWorld([
      { name: 'local', script: 'rate-limit', isLocal: true, score: 0.9 },
      { name: 'b', script: ['server-error', 'server-error', 'respond'] },
    ]);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' } });
    expect(world.callsOf('local')).toBe(1);
    expect(world.cooldowns.all()).toEqual([]);
  });

  it('include a model whose cooldown has ended by the next round', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'server-error', score: 0.9 }, { name: 'b' }]);
    world.cool('b', 9_000);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' } });
    expect(world.calls.map(({ model, atMs }) => [model, atMs])).toEqual([
      ['a', 0],
      ['a', delayMs],
      ['b', delayMs],
    ]);
  });

  it('do not retry a failing model before its retry hint', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: [{ does: 'server-error', hintMs: 25_000 }, 'respond'] },
    ]);
    await world.complete();
    expect(world.calls.map(({ atMs }) => atMs)).toEqual([0, 25_000]);
    expect(world.clock.sleeps).toEqual([25_000]);
  });
});

describe('model-first', () => {
  const order = { retryOrder: 'model-first', maxRetries: 2 } as const;

  it('makes all attempts of a model before the next', async () => {
    const world = new RoutingWorld(
      [
        { name: 'a', script: 'server-error', score: 0.9 },
        { name: 'b', script: 'timeout' },
      ],
      order,
    );
    await world.failure();
    expect(world.called).toEqual(['a', 'a', 'a', 'b', 'b', 'b']);
    expect(world.clock.sleeps).toEqual([delayMs, delayMs, delayMs, delayMs]);
  });

  it.each(classes.filter((name) => !failureRules[name].isRetried))(
    'continues at once after %s',
    async (failureClass) => {
      const world = new RoutingWorld([{ name: 'a', script: failureClass, score: 0.9 }, { name: 'b' }], order);
      await world.complete();
      expect(world.called).toEqual(['a', 'b']);
      expect(world.clock.sleeps).toEqual([]);
    },
  );

  it('continues at once when the model sends a retry hint', async () => {
    const script = { does: 'server-error', hintMs: 30_000 } as const;
    const world = new RoutingWorld([{ name: 'a', script, score: 0.9 }, { name: 'b' }], order);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' } });
    expect(world.callsOf('a')).toBe(1);
  });

  it('continues with the next model instead of sleeping past the deadline', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'server-error', score: 0.9 }, { name: 'b' }], order);
    expect(await world.complete('auto', { deadlineMs: 15_000 })).toMatchObject({ model: { name: 'b' } });
    expect(world.called).toEqual(['a', 'a', 'b']);
    expect(world.clock.monotonic()).toBe(delayMs);
  });
});

describe('a model that changes between its attempts', () => {
  const failing = (...more: readonly ScriptedModel[]) =>
    new RoutingWorld([{ name: 'a', script: 'server-error', score: 0.9 }, ...more], { maxRetries: 2 });
  /** Sends a request and changes the models after the first round. */
  async function meanwhile(
    world: RoutingWorld,
    change: () => void,
    differing: Parameters<RoutingWorld['begin']>[1] = {},
  ): Promise<unknown> {
    const completing = world.begin('auto', differing);
    await world.clock.advance(1_000);
    change();
    return world.clock.run(completing.catch((error: unknown) => error));
  }

  it.each<[string, (world: RoutingWorld) => void]>([
    ['is disabled', (world) => world.replace('a', { isActive: false })],
    ['is removed', (world) => (world.models = world.models.filter(({ name }) => name !== 'a'))],
    ['becomes another model', (world) => world.replace('a', { upstreamModel: 'other' })],
    [
      'no longer supports what the request requires',
      (world) => world.replace('a', { capabilities: embedder }),
    ],
    ['loses its address', (world) => world.replace('a', { baseUrl: 'https://{ACME_REGION}.example' })],
  ])('is not tried again when it %s; the others are', async (_, change) => {
    for (const retryOrder of ['rounds', 'model-first'] as const) {
      const world = new RoutingWorld(
        [
          { name: 'a', script: 'server-error', score: 0.9 },
          { name: 'b', script: ['server-error', 'respond'] },
        ],
        { retryOrder },
      );
      const completion = await meanwhile(world, () => change(world));
      expect(completion).toMatchObject({ model: { name: 'b' } });
      expect([retryOrder, world.callsOf('a')]).toEqual([retryOrder, 1]);
    }
  });

  it('ends the request when it was the last; one that was not tried is reported as unavailable', async () => {
    const alone = failing();
    expect(await meanwhile(alone, () => (alone.models = []))).toMatchObject({
      code: 'GATEWAY_EXHAUSTED',
      tried: [{ model: 'a', outcome: 'server-error', attempts: 1 }],
    });
    const slow = {
      name: 'a',
      script: { does: 'rate-limit', afterMs: 5_000, hintMs: 60_000 },
      score: 0.9,
    } as const;
    const world = new RoutingWorld([slow, { name: 'b' }]);
    world.cool('b', 30_000);
    expect(await meanwhile(world, () => world.replace('b', { isActive: false }))).toMatchObject({
      code: 'GATEWAY_ALL_RATE_LIMITED',
      retryAfterMs: 60_000,
      tried: [
        { outcome: 'rate-limit' },
        { model: 'b', outcome: 'unavailable', attempts: 0, availableAt: null },
      ],
    });
    expect(world.called).toEqual(['a']);
  });

  it('is called at its new endpoint, with its earlier failures reset except for the attempts', async () => {
    const world = failing();
    const error = await meanwhile(world, () => world.replace('a', { baseUrl: 'https://moved.example/v1' }));
    expect(world.calls.map(({ baseUrl }) => baseUrl)).toEqual([
      'https://1.example/v1',
      'https://moved.example/v1',
      'https://moved.example/v1',
    ]);
    expect(error).toMatchObject({ tried: [{ attempts: 3 }] });
    expect(world.attempts.map(({ isStale }) => isStale)).toEqual([undefined, undefined, undefined]);
  });
});

describe('the deadline', () => {
  it('is never exceeded by a sleep', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'server-error' }]);
    const error = await world.failure('auto', { deadlineMs: 25_000 });
    expect(error).toMatchObject({
      code: 'GATEWAY_EXHAUSTED',
      message: expect.stringContaining('The deadline of 25 s leaves no time for another try.') as unknown,
      details: { deadlineMs: 25_000 },
      tried: [{ outcome: 'server-error', attempts: 3 }],
    });
    expect(world.clock.monotonic()).toBe(20_000);
    expect(world.clock.pending).toBe(0);
  });

  it('is not used up by a model that hangs', async () => {
    const world = new RoutingWorld([{ name: 'hangs', script: 'hang', score: 0.9 }, { name: 'b' }]);
    expect(await world.complete('auto', { deadlineMs: 10_000 })).toMatchObject({ model: { name: 'b' } });
    expect(world.calls.map(({ atMs }) => atMs)).toEqual([0, 5_000]);
  });

  it('is over when less than 5 ms are left', async () => {
    const clock = new VirtualClock();
    const options = { deadlineMs: 1_000, waitMs: 0, signal: new AbortController().signal };
    const routed = new RoutedRequest(requestFor('auto'), options as never, [], clock);
    await clock.advance(995);
    expect([routed.remainingMs(), routed.isExpired]).toEqual([5, false]);
    await clock.advance(0.5);
    expect([routed.remainingMs(), routed.isExpired]).toEqual([0, true]);
  });

  it('leaves all remaining time to the last available model', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: { does: 'respond', afterMs: 9_000 }, score: 0.9 },
      { name: 'cools' },
      { name: 'unwanted', isActive: false },
    ]);
    world.cool('cools', 60_000);
    expect(await world.complete('auto', { deadlineMs: 10_000 })).toMatchObject({ model: { name: 'a' } });
  });

  it('bounds every timeout of an attempt', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    await world.complete('a', { deadlineMs: 3_000 });
    expect(world.timeouts).toEqual([{ connectMs: 3_000, firstTokenMs: 3_000, idleMs: 3_000 }]);
  });

  it('bounds a stream until it has started, not its idle timeout after that', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    await world.complete('a', { deadlineMs: 3_000, request: requestFor('a', { isStream: true }) });
    expect(world.timeouts).toEqual([{ connectMs: 3_000, firstTokenMs: 3_000, idleMs: 20_000 }]);
  });

  it('leaves every attempt its configured timeout while there is enough time', async () => {
    const world = new RoutingWorld([{ name: 'a' }, { name: 'b' }]);
    await world.complete();
    await world.complete('auto', { request: requestFor('auto', { isStream: true }) });
    expect(world.timeouts).toEqual([
      { connectMs: 5_000, firstTokenMs: 60_000, idleMs: 20_000 },
      { connectMs: 5_000, firstTokenMs: 20_000, idleMs: 20_000 },
    ]);
  });

  it('set by the caller is left to the last model in full, for whole responses and first content', async () => {
    const slow = { does: 'respond', afterMs: 250_000 } as const;
    const byCaller = { deadlineMs: 300_000, isDeadlineByCaller: true };
    const alone = new RoutingWorld([{ name: 'a', script: slow }]);
    expect(await alone.complete('a', byCaller)).toMatchObject({ durationMs: 250_000, attempts: 1 });
    expect(alone.timeouts).toEqual([{ connectMs: 5_000, firstTokenMs: 300_000, idleMs: 300_000 }]);
    const stream = requestFor('a', { isStream: true });
    await alone.complete('a', { ...byCaller, request: stream });
    expect(alone.timeouts.at(-1)).toEqual({ connectMs: 5_000, firstTokenMs: 300_000, idleMs: 20_000 });

    const world = new RoutingWorld([
      { name: 'hangs', script: 'hang', score: 0.9 },
      { name: 'last', script: { does: 'respond', afterMs: 200_000 } },
    ]);
    expect(await world.complete('auto', byCaller)).toMatchObject({ model: { name: 'last' } });
    expect(world.timeouts.map(({ firstTokenMs }) => firstTokenMs)).toEqual([60_000, 240_000]);
    expect(world.attempts[0]).toMatchObject({ outcome: 'timeout', durationMs: 60_000 });
  });

  it('by default is left to the last model, too: one whose responses take longer would never succeed', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'respond', afterMs: 70_000 } }]);
    expect(await world.complete('a')).toMatchObject({ attempts: 1, durationMs: 70_000 });
    await world.complete('a', { request: requestFor('a', { isStream: true }) });
    expect(world.timeouts).toEqual([
      { connectMs: 5_000, firstTokenMs: 120_000, idleMs: 120_000 },
      { connectMs: 5_000, firstTokenMs: 120_000, idleMs: 20_000 },
    ]);
  });

  it('by default leaves the last model its configured timeout while a failed one is to be retried', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: ['server-error', 'respond'], score: 0.9 },
      { name: 'b', script: 'hang' },
    ]);
    expect(await world.complete()).toMatchObject({ model: { name: 'a' }, attempts: 3 });
    expect(world.timeouts[1]).toMatchObject({ firstTokenMs: 60_000 });
  });

  it('by default does not lengthen a timeout of the model’s own', async () => {
    const world = new RoutingWorld([
      { name: 'a', timeouts: { responseSeconds: 10 }, script: ['hang', 'respond'] },
    ]);
    expect(await world.complete('a')).toMatchObject({ attempts: 2 });
    expect(world.timeouts[0]).toMatchObject({ firstTokenMs: 10_000 });
  });

  it('is divided among models that are all slow', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: { does: 'invalid-response', afterMs: 4_900 }, score: 0.9 },
      { name: 'b', script: () => ({ does: 'server-error', afterMs: 2_000 }), score: 0.8 },
      { name: 'c', script: 'hang', score: 0.7 },
      { name: 'd', script: 'hang' },
    ]);
    const error = (await world.failure('auto', { deadlineMs: 10_000 })) as GatewayError;
    expect(error.code).toBe('GATEWAY_EXHAUSTED');
    expect(error.message).toContain('The deadline of 10 s was reached.');
    expect(error.tried.map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
      ['invalid-response', 1],
      ['server-error', 1],
      ['deadline-too-short', 1],
      ['deadline-too-short', 1],
    ]);
    expect(world.clock.monotonic()).toBe(10_000);
  });

  it('ends a running call and reports models that were not tried', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'hang', score: 0.9 }, { name: 'b' }]);
    // No other model is available, so the first one gets all of the time.
    world.cool('b', 60_000);
    const availableAt = world.clock.now() + 60_000;
    expect(await world.failure('auto', { deadlineMs: 10_000 })).toMatchObject({
      code: 'GATEWAY_EXHAUSTED',
      tried: [
        { model: 'a', outcome: 'deadline-too-short', attempts: 1, availableAt: null },
        { model: 'b', outcome: 'not-tried', attempts: 0, availableAt },
      ],
    });
    expect(world.clock.monotonic()).toBe(10_000);
  });

  it('is reported in round figures, with advice and the host of unreachable models', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'network' }]);
    const { message } = await world.failure('auto', { deadlineMs: 9_999.8368 });
    expect(message).toMatch(/\(network: connection to [\w.:-]+ failed\)/);
    expect(message).toContain(
      'The deadline of 10 s leaves no time for another try. Check that it runs and that its base URL is correct',
    );
    expect(message).not.toContain('longer timeout');
  });

  it('causes DEADLINE_EXCEEDED only when no model was tried', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    expect(await world.failure('auto', { deadlineMs: 0 })).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(world.calls).toEqual([]);
  });

  it('counts as reached when a timer fires slightly early', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    expect(await world.failure('auto', { deadlineMs: 4 })).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(world.calls).toEqual([]);
  });

  it('does not count against a model that had less than half of its timeout', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'hang' }]);
    const hasty = await world.failure('a', { deadlineMs: 20_000 });
    expect(hasty).toMatchObject({ tried: [{ outcome: 'deadline-too-short' }] });
    expect(hasty.message).toContain('Set a longer timeout');
    await world.failure('a', { deadlineMs: 40_000 });
    expect(world.attempts.map(({ outcome }) => outcome)).toEqual(['deadline-too-short', 'timeout']);
    for (let index = 0; index < 5; index++)
      await world.failure('a', { deadlineMs: 100, allowFallback: false });
    expect(world.backoff.isBackedOff(1)).toBe(false);
    for (let index = 0; index < 2; index++) await world.failure('a', { deadlineMs: 40_000 });
    expect(world.backoff.isBackedOff(1)).toBe(true);
  });

  it.each([
    ['its whole time to connect', 'unreachable', 20_000, 5_000, 'timeout'],
    ['less than half of its time to connect', 'unreachable', 2_000, 2_000, 'deadline-too-short'],
    ['its whole silence', 'silent', 25_000, 20_000, 'timeout'],
    ['less than half of its silence', 'silent', 9_000, 9_000, 'deadline-too-short'],
  ] as const)(
    'judges a model by the limit that ran out: %s',
    async (_, script, deadlineMs, tookMs, outcome) => {
      const timeouts = { responseSeconds: 60 };
      const world = new RoutingWorld([{ name: 'a', script, timeouts }], { maxRetries: 0 });
      await world.failure('a', { deadlineMs });
      expect(world.attempts).toMatchObject([{ outcome, durationMs: tookMs }]);
    },
  );

  it('counts a timeout reported by the provider as a failure', async () => {
    const script = { does: 'timeout', status: 504 } as const;
    const world = new RoutingWorld([{ name: 'a', script }], { maxRetries: 0 });
    await world.failure('a', { deadlineMs: 100 });
    expect(world.attempts).toMatchObject([{ outcome: 'timeout', status: 504 }]);
  });

  it('allows another try of a model that had too little time while time is left', async () => {
    const world = new RoutingWorld(
      [
        { name: 'a', script: ['hang', 'respond'], score: 0.9 },
        { name: 'b', script: 'server-error' },
      ],
      { retryDelayMs: 1_000 },
    );
    expect(await world.complete('auto', { deadlineMs: 20_000 })).toMatchObject({ model: { name: 'a' } });
    expect(world.attempts.map(({ outcome }) => outcome)).toEqual([
      'deadline-too-short',
      'server-error',
      'success',
    ]);
  });
});

describe("a model's own timeouts", () => {
  const timeouts = { connectSeconds: 1, firstTokenSeconds: 45, responseSeconds: 90, idleSeconds: 30 };

  it('apply instead of those of the gateway, the rest as configured', async () => {
    const world = new RoutingWorld([{ name: 'a', timeouts, script: { does: 'respond', afterMs: 80_000 } }]);
    expect(await world.complete('a')).toMatchObject({ durationMs: 80_000 });
    await world.complete('a', { request: requestFor('a', { isStream: true }) }).catch(() => undefined);
    expect(world.timeouts.slice(0, 2)).toEqual([
      { connectMs: 1_000, firstTokenMs: 90_000, idleMs: 30_000 },
      { connectMs: 1_000, firstTokenMs: 45_000, idleMs: 30_000 },
    ]);
    world.replace('a', { timeouts: { responseSeconds: 90 } });
    await world.complete('a');
    expect(world.timeouts.at(-1)).toEqual({ connectMs: 5_000, firstTokenMs: 90_000, idleMs: 20_000 });
  });

  it('decide whether the deadline was too short for it', async () => {
    const world = new RoutingWorld(
      [
        { name: 'slow', timeouts, script: 'hang' },
        { name: 'quick', timeouts: { responseSeconds: 5 }, script: 'hang' },
      ],
      { maxRetries: 0 },
    );
    const options = { deadlineMs: 40_000, allowFallback: false };
    await world.failure('slow', options);
    await world.failure('quick', options);
    expect(world.attempts.map(({ outcome, durationMs }) => [outcome, durationMs])).toEqual([
      ['deadline-too-short', 40_000],
      ['timeout', 5_000],
    ]);
  });
});

describe('a caller that disconnects', () => {
  it('aborts the call, which is recorded as canceled without a backoff', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'hang', score: 0.9 }, { name: 'b' }]);
    for (let index = 0; index < 4; index++) {
      const caller = new AbortController();
      const completing = world.begin('auto', { signal: caller.signal });
      await world.clock.advance(1_000);
      caller.abort();
      await expect(completing).rejects.toMatchObject({ code: 'CANCELED' });
    }
    expect(world.called).toEqual(['a', 'a', 'a', 'a']);
    expect(world.attempts.map(({ outcome, durationMs }) => [outcome, durationMs])).toEqual(
      Array.from({ length: 4 }, () => ['canceled', 1_000]),
    );
    expect(world.backoff.isBackedOff(world.idOf('a'))).toBe(false);
    expect(world.clock.pending).toBe(0);
  });

  it('ends a sleep between rounds', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'server-error' }]);
    const caller = new AbortController();
    const completing = world.begin('auto', { signal: caller.signal });
    await world.clock.advance(5_000);
    caller.abort();
    await expect(completing).rejects.toMatchObject({ code: 'CANCELED' });
    expect(world.calls).toHaveLength(1);
    expect(world.clock.pending).toBe(0);
  });

  it('before the request starts causes no call', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    expect(await world.failure('a', { signal: AbortSignal.abort() })).toMatchObject({ code: 'CANCELED' });
    expect(world.calls).toEqual([]);
  });
});

describe('waiting for a model', () => {
  it('waits for the model that is available first instead of failing', async () => {
    const world = new RoutingWorld([{ name: 'a', score: 0.9 }, { name: 'b' }]);
    world.cool('a', 30_000);
    world.cool('b', 12_000);
    expect(await world.complete('auto', { waitMs: 15_000 })).toMatchObject({
      model: { name: 'b' },
      attempts: 1,
    });
    expect(world.clock.sleeps).toEqual([12_000]);
  });

  it('is counted in the load, as are requests in flight', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    world.cool('a', 12_000);
    const completion = world.complete('auto', { waitMs: 15_000 });
    expect(world.router.load().inFlight).toBe(1);
    // The clock does not move before all promises have settled.
    for (let turn = 0; turn < 20 && world.router.load().queued === 0; turn++) await Promise.resolve();
    expect(world.router.load()).toEqual({ inFlight: 1, queued: 1 });
    await completion;
    expect(world.router.load()).toEqual({ inFlight: 0, queued: 0 });
    world.cool('a', 12_000);
    await world.failure('a', { waitMs: 0 });
    expect(world.router.load()).toEqual({ inFlight: 0, queued: 0 });
  });

  it.each([
    ['longer than asked for', { waitMs: 11_999, deadlineMs: 120_000 }],
    ['into the deadline', { waitMs: 60_000, deadlineMs: 12_000 }],
  ])('does not wait %s', async (_, request) => {
    const world = new RoutingWorld([{ name: 'a' }]);
    world.cool('a', 12_000);
    expect(await world.failure('auto', request)).toMatchObject({
      code: 'GATEWAY_ALL_RATE_LIMITED',
      retryAfterMs: 12_000,
    });
    expect(world.clock.sleeps).toEqual([]);
    expect(world.calls).toEqual([]);
  });

  it('retries a rate-limited model after its cooldown', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: [{ does: 'rate-limit', hintMs: 5_000 }, 'respond'] },
    ]);
    await world.complete('auto', { waitMs: 10_000 });
    expect(world.calls.map(({ atMs }) => atMs)).toEqual([0, 5_000]);
  });

  it('ends when the waits together would be too long', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'rate-limit', hintMs: 4_000 } }]);
    await world.failure('auto', { waitMs: 10_000 });
    expect(world.calls.map(({ atMs }) => atMs)).toEqual([0, 4_000, 8_000]);
  });

  it('is not delayed by a failing model with a much later retry', async () => {
    const script = [{ does: 'server-error', hintMs: 90_000 }, 'respond'] as const;
    const models = [{ name: 'far', script, score: 0.9 }, { name: 'near' }];
    for (const [deadlineMs, waitMs, model, atMs] of [
      [120_000, 6_000, 'near', 5_000],
      [60_000, 6_000, 'near', 5_000],
      [120_000, 4_000, 'far', 90_000],
    ] as const) {
      const world = new RoutingWorld(models);
      world.cool('near', 5_000);
      // With a shorter wait it sleeps until the failing model is due; by then both are available.
      expect(await world.complete('far', { deadlineMs, waitMs })).toMatchObject({ model: { name: model } });
      expect(world.calls.at(-1)).toMatchObject({ model, atMs });
    }
  });

  it('does not shorten the retry delay of a failing model', async () => {
    const world = new RoutingWorld([
      { name: 'failing', script: ['server-error', 'respond'], score: 0.9 },
      { name: 'near', script: 'server-error' },
    ]);
    world.cool('near', 4_000);
    expect(await world.complete('auto', { waitMs: 5_000 })).toMatchObject({ model: { name: 'failing' } });
    expect(world.calls.map(({ model, atMs }) => [model, atMs])).toEqual([
      ['failing', 0],
      ['near', 4_000],
      ['failing', delayMs],
    ]);
  });

  it('makes one try after the wait, and no more, when MAX_RETRIES is 0', async () => {
    const limit = { does: 'rate-limit', hintMs: 5_000 } as const;
    const world = new RoutingWorld([{ name: 'a', script: [limit, 'respond'] }], { maxRetries: 0 });
    expect(await world.complete('auto', { waitMs: 10_000 })).toMatchObject({ attempts: 2 });
    const withoutRetries = new RoutingWorld([{ name: 'a', script: limit }], { maxRetries: 0 });
    await withoutRetries.failure('auto', { waitMs: 60_000 });
    expect(withoutRetries.calls.map(({ atMs }) => atMs)).toEqual([0, 5_000]);
    await withoutRetries.clock.advance(5_000);
    await withoutRetries.failure('auto', { waitMs: 0 });
    expect(withoutRetries.calls).toHaveLength(3);
  });

  it.each([
    ['cooled', 'respond', 'validation', 2_000],
    ['refused', { does: 'rate-limit', hintMs: 1_000 }, 'validation', 2_000 + delayMs],
  ] as const)(
    'tries a model that %s and became available while another was called',
    async (how, first, otherwise, atMs) => {
      const world = new RoutingWorld([
        { name: 'a', script: [first, 'respond'] },
        { name: 'slow', script: { does: otherwise, afterMs: 2_000 } },
      ]);
      if (how === 'cooled') world.cool('a', 1_000);
      expect(await world.complete('a', { waitMs: 15_000 })).toMatchObject({ model: { name: 'a' } });
      expect(world.calls.at(-1)?.atMs).toBeLessThanOrEqual(atMs + 1);
      expect(world.calls.at(-1)?.atMs).toBeGreaterThanOrEqual(atMs);
    },
  );
});

describe('whatever the models do', () => {
  const deed = fc.oneof(
    fc.constantFrom<ScriptedCall>('respond', 'hang', ...classes),
    fc.record({
      does: fc.constantFrom<'respond' | FailureClass>('respond', ...classes),
      afterMs: fc.integer({ min: 0, max: 90_000 }),
      hintMs: fc.integer({ min: 0, max: 60_000 }),
    }),
  );
  const scripted = fc.record({
    script: fc.array(deed, { minLength: 1, maxLength: 6 }),
    score: fc.double({ min: 0, max: 1, noNaN: true }),
    keys: fc.integer({ min: 0, max: 3 }),
    isLocal: fc.boolean(),
    coolForMs: fc.option(fc.integer({ min: 1, max: 200_000 })),
  });

  it('keeps every guarantee about attempts, cooldowns, keys and time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(scripted, { minLength: 1, maxLength: 4 }),
        fc.record({
          maxRetries: fc.integer({ min: 0, max: 3 }),
          retryDelayMs: fc.constantFrom(0, 1_000, 10_000),
          retryOrder: fc.constantFrom('rounds' as const, 'model-first' as const),
        }),
        fc.record({
          deadlineMs: fc.integer({ min: 0, max: 150_000 }),
          waitMs: fc.constantFrom(0, 5_000, 100_000),
        }),
        async (models, policy, request) => {
          const world = new RoutingWorld(
            models.map((model, index) => ({ ...model, name: `m${index}` })),
            policy,
          );
          for (const [index, { coolForMs }] of models.entries())
            if (coolForMs !== null) world.cool(`m${index}`, coolForMs);
          const coolingAt = new Map(world.cooldowns.all().map(({ modelId, until }) => [modelId, until]));
          const startedAt = world.clock.now();
          const end = await world.complete('auto', request).catch((error: GatewayError) => error);

          // A model that is waited for has a second try in any case.
          const maxTries = 1 + Math.max(policy.maxRetries, request.waitMs > 0 ? 1 : 0);
          for (const [index, { keys }] of models.entries())
            expect(world.callsOf(`m${index}`)).toBeLessThanOrEqual(maxTries * keys);
          // No call used a key that was cooling down.
          for (const { model, key, atMs } of world.calls)
            if (key === 'key-1')
              expect(startedAt + atMs).toBeGreaterThanOrEqual(coolingAt.get(world.idOf(model)) ?? 0);
          // One attempt per call with its own time; no timer or call outlives the deadline.
          expect(world.attempts).toHaveLength(world.calls.length);
          expect(world.clock.monotonic()).toBeLessThanOrEqual(request.deadlineMs);
          expect(world.clock.pending).toBe(0);
          const spent = world.attempts.reduce((sum, { durationMs }) => sum + durationMs, 0);
          const slept = world.clock.sleeps.reduce((sum, ms) => sum + ms, 0);
          expect(spent + slept).toBeCloseTo(world.clock.monotonic(), 3);

          if (!(end instanceof Error)) {
            expect(end.attempts).toBe(world.calls.length);
            expect(world.attempts.at(-1)).toMatchObject({ outcome: 'success', durationMs: end.durationMs });
            return;
          }
          const configured = models.filter(({ keys }) => keys > 0).length;
          if (end.code === 'GATEWAY_NOT_CONFIGURED') expect(configured).toBe(0);
          else if ((end.code as string) === 'DEADLINE_EXCEEDED') expect(world.calls).toEqual([]);
          else expect(end.tried).toHaveLength(configured);
        },
      ),
      { numRuns: 300 },
    );
  });
});
