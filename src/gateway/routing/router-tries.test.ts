import { describe, expect, it } from 'vitest';
import type { RequestOptions, ScriptedModel } from '../../../test/support/gateway/routing-world.ts';
import { requestFor, RoutingWorld, tokens } from '../../../test/support/gateway/routing-world.ts';
import type { ProviderQuotas } from '../quotas/provider-quotas.ts';
import { allKeys } from '../types.ts';
import { failureRules } from '../errors.ts';
import type { FailureClass } from '../errors.ts';

describe('keys of a model', () => {
  it('take turns', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 3 }]);
    for (let index = 0; index < 5; index++) await world.complete();
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-3', 'key-1', 'key-2']);
  });

  it.each(['rate-limit', 'authentication', 'payment'] as const)(
    'give way to the next at once, within one try, after %s',
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

  it('are one try together, and each of them is asked once in it', async () => {
    const script = (_: number, key: string) => (key === 'key-1' ? 'rate-limit' : 'server-error');
    const world = new RoutingWorld([{ name: 'a', keys: 2, script }], { maxRetries: 1 });
    expect(await world.failure()).toMatchObject({ tried: [{ outcome: 'server-error', tries: 2 }] });
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-2']);
  });

  it('of a local model that all refuse are each asked once', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 3, isLocal: true, script: 'rate-limit' }]);
    await world.failure();
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-2', 'key-3']);
  });

  it('do not give way after a failure that is not the key’s', async () => {
    const world = new RoutingWorld([
      { name: 'a', keys: 2, script: 'server-error', score: 0.9 },
      { name: 'b' },
    ]);
    await world.complete();
    expect(world.called).toEqual(['a', 'b']);
  });

  it('that cool are passed over', async () => {
    const world = new RoutingWorld([{ name: 'a', keys: 3 }]);
    world.cool('a', 60_000, 'rate-limit', 'key-2');
    for (let index = 0; index < 4; index++) await world.complete();
    expect(world.calls.map(({ key }) => key)).toEqual(['key-1', 'key-3', 'key-1', 'key-3']);
  });

  it('that are all revoked make the model fall back, not the request fail', async () => {
    const world = new RoutingWorld([
      { name: 'a', keys: 2, script: 'authentication', score: 0.9 },
      { name: 'b' },
    ]);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' }, attempts: 3 });
    await world.complete();
    expect(world.called).toEqual(['a', 'a', 'b', 'b']);
  });
});

describe('cooldowns', () => {
  it('keep a limited model from being asked: once, not once per request', async () => {
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
  it.each(classes)('after %s obey a hint where the table says so', async (failureClass) => {
    const world = new RoutingWorld([{ name: 'a', script: { does: failureClass, hintMs: 7_000 } }], {
      maxRetries: 0,
    });
    await world.failure();
    const { obeysHint, cooldown } = failureRules[failureClass];
    const expected = obeysHint ? [7_000] : cooldown === 0 ? [] : [3_600_000];
    expect(world.cooldowns.all().map(({ until, setAt }) => until - setAt)).toEqual(expected);
    if (obeysHint) expect(world.cooldowns.all()).toMatchObject([{ source: 'retry-after' }]);
  });

  it.each(classes)('do not come over local models after %s', async (failureClass) => {
    const script = { does: failureClass, hintMs: 7_000 } as const;
    const world = new RoutingWorld([{ name: 'a', isLocal: true, script }], { maxRetries: 0 });
    await world.failure();
    expect(world.cooldowns.all()).toEqual([]);
  });

  it('are announced when a limit is met', async () => {
    const world = new RoutingWorld([{ name: 'groq/a', script: { does: 'rate-limit', hintMs: 7_500 } }]);
    await world.failure();
    expect(world.events).toContainEqual({
      name: 'gateway:rate-limit-detected',
      payload: { model: 'groq/a', provider: 'groq', retryAfterSeconds: 8, source: 'retry-after' },
    });
  });

  it('are learned from an answer that says that nothing is left', async () => {
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

describe('what is written down', () => {
  it('charges each model only its own time', async () => {
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

  it('records which failure of the same request and model an attempt supersedes, so that scores count it once', async () => {
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
  ])('is what answers for "%s": %s, %s', async (model, spoke, isFallback) => {
    const requires = { tools: true, json: false, vision: false };
    const completion = await new RoutingWorld(models).complete(model, {
      request: requestFor(model, { requires }),
    });
    expect(completion).toMatchObject({ model: { name: spoke }, attempts: 1, isFallback });
  });
});

describe('a stream', () => {
  const request = requestFor('auto', { isStream: true });

  it('is recorded at its end, with its own time and tokens', async () => {
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

  it('that breaks off counts as what broke it, and rests the model in the end', async () => {
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'timeout' } as const;
    const world = new RoutingWorld([{ name: 'a', script, score: 0.9 }, { name: 'b' }]);
    for (let index = 0; index < 3; index++) {
      await world.complete('auto', { request });
      await world.clock.advance(1_000);
    }
    expect(world.attempts.map(({ outcome }) => outcome)).toEqual(['timeout', 'timeout', 'timeout']);
    expect(await world.complete()).toMatchObject({ model: { name: 'b' } });
  });

  it('that breaks off for a limit cools its key', async () => {
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'rate-limit' } as const;
    const world = new RoutingWorld([{ name: 'a', script }]);
    await world.complete('auto', { request });
    await world.clock.advance(1_000);
    expect(world.cooldowns.all()).toMatchObject([{ modelId: 1, cause: 'rate-limit' }]);
  });

  it('that breaks off for a limit and says how long cools its key for so long', async () => {
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'rate-limit', hintMs: 42_000 } as const;
    const world = new RoutingWorld([{ name: 'a', script }]);
    await world.complete('auto', { request });
    await world.clock.advance(1_000);
    const until = world.clock.now() + 42_000;
    expect(world.cooldowns.all()).toMatchObject([{ until, source: 'retry-after' }]);
  });

  it('is not cut by the deadline once it has begun', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'stream', endsAfterMs: 60_000 } }]);
    await world.complete('auto', { request, deadlineMs: 5_000 });
    await world.clock.advance(60_000);
    expect(world.attempts).toMatchObject([{ outcome: 'success', durationMs: 60_000 }]);
  });

  it('ends when its caller goes, and is recorded as cancelled', async () => {
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

describe('a call that is under way while its model is replaced', () => {
  const meanwhile = async (
    script: ScriptedModel['script'],
    change: (world: RoutingWorld) => void,
    differing: RequestOptions = {},
  ) => {
    const world = new RoutingWorld([{ name: 'a', script: script ?? 'respond' }], { maxRetries: 0 });
    for (let index = 0; index < 3; index++) {
      const speaking = world.begin('a', differing);
      await world.clock.advance(100);
      change(world);
      await world.clock.run(speaking.catch(() => undefined));
      await world.clock.advance(5_000);
    }
    return world;
  };
  let places = 0;
  const moved = (world: RoutingWorld) =>
    world.replace('a', { baseUrl: `https://moved-${++places}.example/v1` });

  it.each(['rate-limit', 'authentication', 'not-found', 'server-error', 'timeout'] as const)(
    'says nothing of the new one: neither cooldown nor rest nor score, by %s',
    async (does) => {
      const world = await meanwhile({ does, afterMs: 1_000, hintMs: 60_000 }, moved);
      expect(world.cooldowns.all()).toEqual([]);
      expect(world.backoff.isBackedOff(1)).toBe(false);
      expect(world.attempts).toMatchObject(
        Array.from({ length: 3 }, () => ({ outcome: does, isStale: true })),
      );
      expect(world.events).toContainEqual({
        name: 'gateway:attempt-finished',
        payload: expect.objectContaining({ outcome: does, isStale: true }) as unknown,
      });
    },
  );

  it('nor by an answer, or a stream that breaks; what it cost is still counted', async () => {
    const empty = await meanwhile({ does: 'respond', afterMs: 1_000, exhaustedForMs: 60_000 }, moved);
    expect(empty.cooldowns.all()).toEqual([]);
    expect(empty.attempts[0]).toMatchObject({ outcome: 'success', isStale: true, promptTokens: 10 });
    const request = requestFor('a', { isStream: true });
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'timeout' } as const;
    const broken = await meanwhile(script, moved, { request });
    expect(broken.backoff.isBackedOff(1)).toBe(false);
    expect(broken.attempts).toMatchObject(Array.from({ length: 3 }, () => ({ isStale: true })));
  });

  it('nor of one that was removed; but of one that leads where it led', async () => {
    const limit = { does: 'rate-limit', afterMs: 1_000, hintMs: 60_000 } as const;
    const removed = await meanwhile(limit, (world) => (world.models = []), { allowFallback: false });
    expect(removed.cooldowns.all()).toEqual([]);
    const same = await meanwhile(limit, (world) => world.replace('a', { quotas: { requestsPerDay: 5 } }));
    expect(same.cooldowns.all()).toHaveLength(1);
    expect(same.attempts[0]).not.toHaveProperty('isStale');
  });
});

describe('own quotas', () => {
  function keeper(world: () => RoutingWorld, freeAfterMs: Readonly<Record<string, number>>) {
    const told: string[] = [];
    const quotas: Pick<ProviderQuotas, 'take'> = {
      take: async (model, keyId, { estimatedTokens }) => {
        const availableAt = 1_700_000_000_000 + (freeAfterMs[`${model.name} ${keyId}`] ?? 0);
        if (availableAt > world().clock.now()) return { availableAt };
        told.push(`${model.name} takes ${estimatedTokens}`);
        return {
          grant: {
            settle: (count) => void told.push(`${model.name} settles ${count}`),
            refund: () => void told.push(`${model.name} gives back`),
          },
        };
      },
    };
    return { quotas, told };
  }

  it('keep a model from being called, and say when it is free', async () => {
    const { quotas } = keeper(() => world, { 'a key-1': 20_000, 'b key-1': 5_000 });
    const world: RoutingWorld = new RoutingWorld([{ name: 'a' }, { name: 'b' }], {}, quotas);
    expect(await world.failure()).toMatchObject({
      code: 'GATEWAY_ALL_RATE_LIMITED',
      retryAfterMs: 5_000,
      tried: [
        { outcome: 'cooling-down', tries: 0, availableAt: 1_700_000_020_000 },
        { outcome: 'cooling-down' },
      ],
    });
    expect(world.calls).toEqual([]);
    expect(world.attempts).toEqual([]);
  });

  it('pass on to the next key', async () => {
    const { quotas } = keeper(() => world, { 'a key-1': 20_000 });
    const world: RoutingWorld = new RoutingWorld([{ name: 'a', keys: 2 }], {}, quotas);
    expect(await world.complete()).toMatchObject({ attempts: 1 });
    expect(world.calls).toMatchObject([{ key: 'key-2' }]);
  });

  it('are waited for like cooldowns', async () => {
    const { quotas } = keeper(() => world, { 'a key-1': 5_000 });
    const world: RoutingWorld = new RoutingWorld([{ name: 'a' }], {}, quotas);
    await world.complete('auto', { waitMs: 6_000 });
    expect(world.calls).toMatchObject([{ atMs: 5_000 }]);
  });

  it('are charged what the call cost; nothing where the provider did not work; the estimate where nobody knows', async () => {
    const { quotas, told } = keeper(() => world, {});
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
    expect(told).toEqual([
      'limited takes 100',
      'limited settles 0',
      'silent takes 100',
      'good takes 100',
      'good settles 15',
    ]);
  });

  it('come back when the caller went away before the call', async () => {
    const told: string[] = [];
    const caller = new AbortController();
    const world = new RoutingWorld(
      [{ name: 'a' }],
      {},
      {
        take: async () => {
          caller.abort();
          const grant = { settle: () => undefined, refund: () => void told.push('given back') };
          return { grant };
        },
      },
    );
    expect(await world.failure('a', { signal: caller.signal })).toMatchObject({ code: 'CANCELED' });
    expect(told).toEqual(['given back']);
    expect(world.calls).toEqual([]);
  });
});
