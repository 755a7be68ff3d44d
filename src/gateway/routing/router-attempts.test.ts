import { describe, expect, it } from 'vitest';
import type { RequestOptions, ScriptedModel } from '../../../test/support/gateway/routing-world.ts';
import { requestFor, RoutingWorld, tokens } from '../../../test/support/gateway/routing-world.ts';
import type { ProviderQuotas } from '../quotas/provider-quotas.ts';
import { allKeys } from '../types.ts';
import { failureRules } from '../errors.ts';
import type { FailureClass } from '../errors.ts';

describe('keys of a model', () => {
  it('are used in turn, one per request', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 3 }]);
    for (let index = 0; index < 5; index++) await world.complete();
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-3', 'key-1', 'key-2']);
  });

  it.each(['rate-limit', 'authentication', 'payment'] as const)(
    'are followed by the next key within the same attempt after %s',
    async (failureClass) => {
      const script = (_: number, key: string) => (key === 'key-1' ? failureClass : 'respond');
      const world = new RoutingWorld([{ name: 'a', keys: 2, script, score: 0.9 }, { name: 'b' }], {
        maxRetries: 0,
      });
      expect(await world.complete()).toMatchObject({ model: { name: 'a' }, attempts: 2, isFallback: false });
      expect(world.calls.map(({ key, atMs }) => [key, atMs])).toEqual([
        ['key-1', 0],
        ['key-2', 0],
      ]);
      expect(world.cooldowns.all()).toMatchObject([{ keyId: 'key-1', cause: failureClass }]);
    },
  );

  it('are one try together, each used once in it', async () => {
    const script = (_: number, key: string) => (key === 'key-1' ? 'rate-limit' : 'server-error');
    const world = new RoutingWorld([{ name: 'a', keys: 2, script }], { maxRetries: 1 });
    expect(await world.failure()).toMatchObject({ tried: [{ outcome: 'server-error', attempts: 2 }] });
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-2']);
  });

  it('of a local model that rejects all are each used once', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 3, isLocal: true, script: 'rate-limit' }]);
    await world.failure();
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-3']);
  });

  it('are not followed by the next after a failure unrelated to the key', async () => {
    const world = new RoutingWorld([
      { name: 'a', keys: 2, script: 'server-error', score: 0.9 },
      { name: 'b' },
    ]);
    await world.complete();
    expect(world.called).toEqual(['a', 'b']);
  });

  it('that are cooling down are skipped', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 3 }]);
    world.cool('a', 60_000, 'rate-limit', 'key-2');
    for (let index = 0; index < 4; index++) await world.complete();
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-3', 'key-1', 'key-3']);
  });

  it('that are all revoked cause a fallback, not a failed request', async () => {
    const world = new RoutingWorld([
      { name: 'a', keys: 2, script: 'authentication', score: 0.9 },
      { name: 'b' },
    ]);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' }, attempts: 3 });
    expect(world.rejectedKeys).toEqual(['a authentication', 'a authentication']);
    await world.complete();
    expect(world.called).toEqual(['a', 'a', 'b', 'b']);
  });
});

describe('cooldowns', () => {
  it('keep a rate-limited model from being called more than once', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: { does: 'rate-limit', hintMs: 60_000 }, score: 0.9 },
      { name: 'b' },
    ]);
    for (let index = 0; index < 10; index++) await world.complete();
    expect(world.callsOf('a')).toBe(1);
    await world.clock.advance(60_000);
    await world.complete();
    expect(world.callsOf('a')).toBe(2);
  });

  const cooling: readonly (readonly [FailureClass, number, string, string])[] = [
    ['rate-limit', 3_600_000, 'default', 'key-1'],
    ['authentication', 3_600_000, 'default', 'key-1'],
    ['payment', 3_600_000, 'default', 'key-1'],
    ['not-found', 3_600_000, 'default', allKeys],
  ];
  it.each(cooling)('after %s last %i ms by %s, for %s', async (failureClass, forMs, source, keyId) => {
    const world = new RoutingWorld([{ name: 'a', script: failureClass }]);
    await world.failure();
    const now = world.clock.now();
    expect(world.cooldowns.all()).toEqual([
      { modelId: 1, keyId, until: now + forMs, cause: failureClass, source, reason: null, setAt: now },
    ]);
  });

  const classes = Object.keys(failureRules) as FailureClass[];
  it.each(classes)('after %s obey a retry hint where the rules say so', async (failureClass) => {
    const world = new RoutingWorld([{ name: 'a', script: { does: failureClass, hintMs: 7_000 } }], {
      maxRetries: 0,
    });
    await world.failure();
    const { obeysHint, cooldown } = failureRules[failureClass];
    const expected = obeysHint ? [7_000] : cooldown === 0 ? [] : [3_600_000];
    expect(world.cooldowns.all().map(({ until, setAt }) => until - setAt)).toEqual(expected);
    if (obeysHint) expect(world.cooldowns.all()).toMatchObject([{ source: 'retry-after' }]);
  });

  it.each(classes)('are not set on local models after %s', async (failureClass) => {
    const script = { does: failureClass, hintMs: 7_000 } as const;
    const world = new RoutingWorld([{ name: 'a', isLocal: true, script }], { maxRetries: 0 });
    await world.failure();
    expect(world.cooldowns.all()).toEqual([]);
  });

  it('are announced by an event after a rate limit', async () => {
    const world = new RoutingWorld([{ name: 'groq/a', script: { does: 'rate-limit', hintMs: 7_500 } }]);
    await world.failure();
    expect(world.events).toContainEqual({
      name: 'gateway:rate-limit-detected',
      payload: { model: 'groq/a', provider: 'groq', retryAfterSeconds: 8, source: 'retry-after' },
    });
  });

  it('are set by a response whose headers report an exhausted quota', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: { does: 'respond', exhaustedForMs: 30_000 }, score: 0.9 },
      { name: 'local', script: { does: 'respond', exhaustedForMs: 30_000 }, isLocal: true },
    ]);
    for (let index = 0; index < 3; index++) await world.complete();
    expect(world.called).toEqual(['a', 'local', 'local']);
    expect(world.cooldowns.all()).toMatchObject([
      { modelId: 1, keyId: 'key-1', cause: 'quota', source: 'x-ratelimit-reset' },
    ]);
  });
});

describe('attempts', () => {
  it('record only the time of their own call', async () => {
    const world = new RoutingWorld([
      { name: 'slow', script: { does: 'server-error', afterMs: 30_000 }, score: 0.9 },
      { name: 'quick', script: { does: 'respond', afterMs: 200 } },
    ]);
    const completion = await world.complete();
    expect(completion.durationMs).toBe(200);
    const startedAt = world.clock.now() - 30_200;
    expect(world.attempts).toEqual([
      {
        requestId: 'request-1',
        modelId: 1,
        at: startedAt,
        outcome: 'server-error',
        status: 503,
        durationMs: 30_000,
        promptTokens: 0,
        completionTokens: 0,
        caller: 'key:1',
      },
      {
        requestId: 'request-1',
        modelId: 2,
        at: startedAt + 30_000,
        outcome: 'success',
        status: 200,
        durationMs: 200,
        promptTokens: 10,
        completionTokens: 5,
        caller: 'key:1',
      },
    ]);
    const finished = world.events.filter(({ name }) => name === 'gateway:attempt-finished');
    expect(finished).toMatchObject([
      { payload: { model: 'slow' } },
      { payload: { model: 'quick', outcome: 'success' } },
    ]);
  });

  it('record which failure of the same request and model they supersede, so that scores count it once', async () => {
    const keyed = (_: number, key: string) => (key === 'key-1' ? 'rate-limit' : 'server-error');
    const world = new RoutingWorld([
      { name: 'a', script: ['server-error', 'timeout', 'respond'], score: 0.9 },
      { name: 'keyed', script: keyed, keys: 2 },
    ]);
    const rows = () => world.attempts.map(({ modelId, supersedes }) => [modelId, supersedes?.outcome]);
    await world.complete();
    expect(rows()).toEqual([
      [1, undefined],
      [2, undefined],
      [2, undefined],
      [1, 'server-error'],
      [2, 'server-error'],
      [1, 'timeout'],
    ]);
    await world.complete('a');
    expect(rows().at(-1)).toEqual([1, undefined]);
  });
});

describe('a fallback', () => {
  const models = [
    { name: 'a', upstream: 'x', score: 0.9 },
    { name: 'b', upstream: 'x', score: 0.8 },
    { name: 'keyless', keys: 0 },
    { name: 'off', isActive: false },
    { name: 'blind', capabilities: { tools: false } },
    { name: 'small', capabilities: { contextTokens: 10 } },
  ];
  it.each([
    ['auto', 'a', false],
    ['b', 'b', false],
    ['x', 'a', false],
    ['b,a', 'b', false],
    ['keyless', 'a', true],
    ['off,b', 'b', true],
    ['off,auto', 'a', true],
    ['blind', 'a', true],
    ['small,a', 'a', true],
  ])('is reported for "%s": %s, %s', async (model, responding, isFallback) => {
    const requires = { tools: true, json: false, vision: false };
    const completion = await new RoutingWorld(models).complete(model, {
      request: requestFor(model, { requires }),
    });
    expect(completion).toMatchObject({ model: { name: responding }, attempts: 1, isFallback });
  });
});

describe('a stream', () => {
  const request = requestFor('auto', { isStream: true });

  it('is recorded at its end with its time and tokens', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: { does: 'stream', afterMs: 500, endsAfterMs: 3_000 } },
    ]);
    const completion = await world.complete('auto', { request });
    expect(completion).toMatchObject({ durationMs: 500, response: { kind: 'stream' } });
    expect(world.attempts).toEqual([]);
    await world.clock.advance(3_000);
    expect(world.attempts).toMatchObject([
      {
        outcome: 'success',
        durationMs: 3_500,
        promptTokens: tokens.prompt,
        completionTokens: tokens.completion,
      },
    ]);
    expect(world.clock.pending).toBe(0);
  });

  it('that is interrupted counts as its failure and leads to a backoff', async () => {
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'timeout' } as const;
    const world = new RoutingWorld([{ name: 'a', script, score: 0.9 }, { name: 'b' }]);
    for (let index = 0; index < 3; index++) {
      await world.complete('auto', { request });
      await world.clock.advance(1_000);
    }
    expect(world.attempts.map(({ outcome }) => outcome)).toEqual(['timeout', 'timeout', 'timeout']);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' } });
  });

  it('interrupted by a rate limit sets a cooldown on its key', async () => {
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'rate-limit' } as const;
    const world = new RoutingWorld([{ name: 'a', script }]);
    await world.complete('auto', { request });
    await world.clock.advance(1_000);
    expect(world.cooldowns.all()).toMatchObject([{ modelId: 1, cause: 'rate-limit' }]);
  });

  it('interrupted by a rate limit with a retry hint sets a cooldown of that length', async () => {
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'rate-limit', hintMs: 42_000 } as const;
    const world = new RoutingWorld([{ name: 'a', script }]);
    await world.complete('auto', { request });
    await world.clock.advance(1_000);
    const until = world.clock.now() + 42_000;
    expect(world.cooldowns.all()).toMatchObject([{ until, source: 'retry-after' }]);
  });

  it('is not cut by the deadline once it has started', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'stream', endsAfterMs: 60_000 } }]);
    await world.complete('auto', { request, deadlineMs: 5_000 });
    await world.clock.advance(60_000);
    expect(world.attempts).toMatchObject([{ outcome: 'success', durationMs: 60_000 }]);
  });

  it('ends when its caller disconnects and is recorded as canceled', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'stream', endsAfterMs: 60_000 } }]);
    const caller = new AbortController();
    await world.complete('auto', { request, signal: caller.signal });
    await world.clock.advance(1_000);
    caller.abort();
    await world.clock.advance(0);
    expect(world.attempts).toMatchObject([{ outcome: 'canceled', durationMs: 1_000 }]);
    expect(world.clock.pending).toBe(0);
  });
});

describe('a call during which its model is replaced', () => {
  const meanwhile = async (
    script: ScriptedModel['script'],
    change: (world: RoutingWorld) => void,
    differing: RequestOptions = {},
  ) => {
    const world = new RoutingWorld([{ name: 'a', script: script ?? 'respond' }], { maxRetries: 0 });
    for (let index = 0; index < 3; index++) {
      const completing = world.begin('a', differing);
      await world.clock.advance(100);
      change(world);
      await world.clock.run(completing.catch(() => undefined));
      await world.clock.advance(5_000);
    }
    return world;
  };
  let places = 0;
  const moved = (world: RoutingWorld) =>
    world.replace('a', { baseUrl: `https://moved-${++places}.example/v1` });

  it.each(['rate-limit', 'authentication', 'not-found', 'server-error', 'timeout'] as const)(
    'affects neither cooldown, backoff nor score of the new one after %s',
    async (does) => {
      const world = await meanwhile({ does, afterMs: 1_000, hintMs: 60_000 }, moved);
      expect(world.cooldowns.all()).toEqual([]);
      expect(world.backoff.isBackedOff(1)).toBe(false);
      expect(world.rejectedKeys).toEqual([]);
      expect(world.attempts).toMatchObject(
        Array.from({ length: 3 }, () => ({ outcome: does, isStale: true })),
      );
      expect(world.events).toContainEqual({
        name: 'gateway:attempt-finished',
        payload: expect.objectContaining({ outcome: does, isStale: true }) as unknown,
      });
    },
  );

  it('does not affect it after a response or an interrupted stream either, but its cost counts', async () => {
    const empty = await meanwhile({ does: 'respond', afterMs: 1_000, exhaustedForMs: 60_000 }, moved);
    expect(empty.cooldowns.all()).toEqual([]);
    expect(empty.attempts[0]).toMatchObject({ outcome: 'success', isStale: true, promptTokens: 10 });
    const request = requestFor('a', { isStream: true });
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'timeout' } as const;
    const broken = await meanwhile(script, moved, { request });
    expect(broken.backoff.isBackedOff(1)).toBe(false);
    expect(broken.attempts).toMatchObject(Array.from({ length: 3 }, () => ({ isStale: true })));
  });

  it('does not affect a removed model, but one with the same endpoint', async () => {
    const limit = { does: 'rate-limit', afterMs: 1_000, hintMs: 60_000 } as const;
    const removed = await meanwhile(limit, (world) => (world.models = []), { allowFallback: false });
    expect(removed.cooldowns.all()).toEqual([]);
    const same = await meanwhile(limit, (world) => world.replace('a', { quotas: { requestsPerDay: 5 } }));
    expect(same.cooldowns.all()).toHaveLength(1);
    expect(same.attempts[0]).not.toHaveProperty('isStale');
  });
});

describe('local quotas', () => {
  function scriptedQuotas(world: () => RoutingWorld, freeAfterMs: Readonly<Record<string, number>>) {
    const calls: string[] = [];
    const quotas: Pick<ProviderQuotas, 'take'> = {
      take: async (model, keyId, { estimatedTokens }) => {
        const availableAt = 1_700_000_000_000 + (freeAfterMs[`${model.name} ${keyId}`] ?? 0);
        if (availableAt > world().clock.now()) return { availableAt };
        calls.push(`${model.name} takes ${estimatedTokens}`);
        return {
          grant: {
            settle: (count) => void calls.push(`${model.name} settles ${count}`),
            refund: () => void calls.push(`${model.name} refunds`),
          },
        };
      },
    };
    return { quotas, calls };
  }

  it('keep a model from being called and report when it is available', async () => {
    const { quotas } = scriptedQuotas(() => world, { 'a key-1': 20_000, 'b key-1': 5_000 });
    const world: RoutingWorld = new RoutingWorld([{ name: 'a' }, { name: 'b' }], {}, quotas);
    expect(await world.failure()).toMatchObject({
      code: 'GATEWAY_ALL_RATE_LIMITED',
      retryAfterMs: 5_000,
      tried: [
        { outcome: 'cooling-down', attempts: 0, availableAt: 1_700_000_020_000 },
        { outcome: 'cooling-down' },
      ],
    });
    expect(world.calls).toEqual([]);
    expect(world.attempts).toEqual([]);
  });

  it('lead to the next key', async () => {
    const { quotas } = scriptedQuotas(() => world, { 'a key-1': 20_000 });
    const world: RoutingWorld = new RoutingWorld([{ name: 'a', keys: 2 }], {}, quotas);
    expect(await world.complete()).toMatchObject({ attempts: 1 });
    expect(world.calls).toMatchObject([{ key: 'key-2' }]);
  });

  it('are waited for like cooldowns', async () => {
    const { quotas } = scriptedQuotas(() => world, { 'a key-1': 5_000 });
    const world: RoutingWorld = new RoutingWorld([{ name: 'a' }], {}, quotas);
    await world.complete('auto', { waitMs: 6_000 });
    expect(world.calls).toMatchObject([{ atMs: 5_000 }]);
  });

  it('are charged the cost of the call, nothing for rejected calls, and the estimate if the cost is unknown', async () => {
    const { quotas, calls } = scriptedQuotas(() => world, {});
    const world: RoutingWorld = new RoutingWorld(
      [
        { name: 'limited', script: 'rate-limit', score: 0.9 },
        { name: 'silent', script: 'hang', score: 0.8 },
        { name: 'good' },
      ],
      {},
      quotas,
    );
    await world.complete();
    expect(calls).toEqual([
      'limited takes 100',
      'limited settles 0',
      'silent takes 100',
      'good takes 100',
      'good settles 15',
    ]);
  });

  it('are refunded when the caller disconnects before the call', async () => {
    const calls: string[] = [];
    const caller = new AbortController();
    const world = new RoutingWorld(
      [{ name: 'a' }],
      {},
      {
        take: async () => {
          caller.abort();
          const grant = { settle: () => undefined, refund: () => void calls.push('refunded') };
          return { grant };
        },
      },
    );
    expect(await world.failure('a', { signal: caller.signal })).toMatchObject({ code: 'CANCELED' });
    expect(calls).toEqual(['refunded']);
    expect(world.calls).toEqual([]);
  });
});
