import { describe, expect, it } from 'vitest';
import type { RequestOptions, ScriptedModel } from '../../../test/support/gateway/routing-world.ts';
import { requestFor, RoutingWorld, tokens } from '../../../test/support/gateway/routing-world.ts';
import type { ProviderQuotas } from '../quotas/provider-quotas.ts';
import { isReliabilityOutcome } from '../state/attempt-log.ts';
import type { Attempt } from '../types.ts';
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

  it('without a retry hint follow the steps of the setting, by key, until a response', async () => {
    const script = (call: number) => (call === 5 ? 'respond' : 'rate-limit');
    const world = new RoutingWorld([{ name: 'a', script }], { rateLimitPausesMs: [10_000, 60_000, 600_000] });
    const untils: number[] = [];
    for (let request = 0; request < 7; request++) {
      const before = world.clock.now();
      await world.complete().catch(() => undefined);
      const [cooldown] = world.cooldowns.all();
      untils.push(Math.max(0, (cooldown?.until ?? 0) - before));
      await world.clock.advance(untils.at(-1) ?? 0);
    }
    expect(untils).toEqual([10_000, 60_000, 600_000, 600_000, 600_000, 0, 10_000]);
    expect(world.calls).toHaveLength(7);
  });

  it('without a retry hint take one step for requests that are rejected together', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'rate-limit', afterMs: 100 } }], {
      rateLimitPausesMs: [10_000, 60_000],
    });
    await world.clock.run(Promise.allSettled(Array.from({ length: 24 }, () => world.begin())));
    expect(world.cooldowns.all().map(({ until, setAt }) => until - setAt)).toEqual([10_000]);
  });

  it('with a retry hint take no step', async () => {
    const hinted = { does: 'rate-limit', hintMs: 5_000 } as const;
    const world = new RoutingWorld([{ name: 'a', script: [hinted, hinted, 'rate-limit'] }], {
      rateLimitPausesMs: [10_000, 60_000],
    });
    for (let request = 0; request < 3; request++) {
      await world.failure();
      await world.clock.advance(5_000);
    }
    expect(world.cooldowns.all().map(({ until, setAt }) => until - setAt)).toEqual([10_000]);
  });

  it('are not set on a model whose server does not count tokens', async () => {
    const world = new RoutingWorld([{ name: 'a', script: 'not-found' }]);
    const request = requestFor('a', { operation: 'messages/count_tokens', api: null });
    // Models of this world have the chat API only.
    world.replace('a', { apis: ['messages'] });
    await world.failure('a', { request, allowFallback: false });
    expect(world.attempts).toMatchObject([{ outcome: 'validation' }]);
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

describe('a model that rejects requests', () => {
  const minuteMs = 60_000;
  const picky = { name: 'picky', script: 'validation', score: 0.9 } as const;
  const counted = (world: RoutingWorld) =>
    world.attempts.map(({ modelId, outcome, isModelsFault }) => [modelId, outcome, isModelsFault]);

  it('is charged with those that another model completes, recorded before the response', async () => {
    const world = new RoutingWorld([picky, { name: 'b' }]);
    await world.complete();
    expect(counted(world)).toEqual([
      [1, 'validation', true],
      [2, 'success', undefined],
    ]);
    expect(isReliabilityOutcome(world.attempts[0] as Attempt)).toBe(true);
  });

  it('is not charged when all reject alike, and the caller gets the reason', async () => {
    const message = 'temperature must be at most 2';
    const world = new RoutingWorld([
      { ...picky, script: { does: 'validation', message } },
      { name: 'b', script: 'validation' },
    ]);
    for (let index = 0; index < 5; index++) {
      const error = await world.failure();
      expect(error).toMatchObject({ code: 'GATEWAY_REQUEST_REJECTED' });
      expect(error.message).toContain(message);
    }
    expect(world.cooldowns.all()).toEqual([]);
    expect(world.attempts).toHaveLength(10);
    expect(world.attempts.some((attempt) => isReliabilityOutcome(attempt))).toBe(false);
  });

  it('cools down after three requests in a row that others complete, longer each time', async () => {
    const world = new RoutingWorld([picky, { name: 'b' }]);
    const cooldown = () => world.cooldowns.all().map(({ until, setAt, ...rest }) => [until - setAt, rest]);
    for (let request = 0; request < 40; request++) await world.complete();
    expect(world.callsOf('picky')).toBe(3);
    const own = { modelId: 1, keyId: allKeys, cause: 'validation', source: 'rejections', reason: null };
    expect(cooldown()).toEqual([[minuteMs, own]]);
    for (const nextMs of [10 * minuteMs, 60 * minuteMs, 60 * minuteMs]) {
      await world.clock.advance(cooldown()[0]?.[0] as number);
      for (let request = 0; request < 5; request++) await world.complete();
      expect(cooldown()).toEqual([[nextMs, own]]);
    }
    expect(world.callsOf('picky')).toBe(6);
  });

  it('starts over after a response', async () => {
    const script = (call: number) => (call % 3 === 2 ? 'respond' : 'validation');
    const world = new RoutingWorld([{ ...picky, script }, { name: 'b' }]);
    for (let request = 0; request < 12; request++) await world.complete();
    expect(world.callsOf('picky')).toBe(12);
    expect(world.cooldowns.all()).toEqual([]);
  });

  it.each(['context-too-long', 'content-refused'] as const)(
    'for a reason of this request alone (%s) is neither charged nor cooled down',
    async (failureClass) => {
      const world = new RoutingWorld([{ ...picky, script: failureClass }, { name: 'b' }]);
      for (let request = 0; request < 10; request++) await world.complete();
      expect(world.callsOf('picky')).toBe(10);
      expect(world.cooldowns.all()).toEqual([]);
      expect(world.attempts.filter(({ modelId }) => modelId === 1).some(isReliabilityOutcome)).toBe(false);
    },
  );

  it('supersedes its earlier failure in the same request', async () => {
    const world = new RoutingWorld([
      { name: 'a', script: ['server-error', 'validation'], score: 0.9 },
      { name: 'b', script: ['server-error', 'respond'] },
    ]);
    await world.complete();
    expect(world.attempts.map(({ outcome, supersedes }) => [outcome, supersedes?.outcome])).toEqual([
      ['server-error', undefined],
      ['server-error', undefined],
      ['validation', 'server-error'],
      ['success', 'server-error'],
    ]);
  });

  it('in a stream that has started is recorded at once', async () => {
    const script = { does: 'stream', endsAfterMs: 1_000, broken: 'validation' } as const;
    const world = new RoutingWorld([{ name: 'a', script }]);
    await world.complete('auto', { request: requestFor('auto', { isStream: true }) });
    await world.clock.advance(1_000);
    expect(counted(world)).toEqual([[1, 'validation', undefined]]);
  });

  it('and is replaced meanwhile is not charged', async () => {
    const world = new RoutingWorld([picky, { name: 'b', script: { does: 'respond', afterMs: 1_000 } }]);
    for (let request = 0; request < 3; request++) {
      const completing = world.begin();
      await world.clock.advance(100);
      world.replace('picky', { baseUrl: `https://${request}.example/moved` });
      await world.clock.run(completing);
    }
    expect(counted(world).filter(([modelId]) => modelId === 1)).toEqual(
      Array.from({ length: 3 }, () => [1, 'validation', undefined]),
    );
    expect(world.cooldowns.all()).toEqual([]);
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
    const common = { requestId: 'request-1', caller: 'key:1', api: 'chat', requestedModel: 'auto' };
    const plain = { firstTokenMs: null, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null };
    expect(world.attempts).toEqual([
      {
        ...common,
        ...plain,
        modelId: 1,
        at: startedAt,
        outcome: 'server-error',
        status: 503,
        durationMs: 30_000,
        promptTokens: 0,
        completionTokens: 0,
        callNumber: 1,
        waitedMs: 0,
        endsRequest: false,
      },
      {
        ...common,
        ...plain,
        modelId: 2,
        at: startedAt + 30_000,
        outcome: 'success',
        status: 200,
        durationMs: 200,
        promptTokens: 10,
        completionTokens: 5,
        callNumber: 2,
        waitedMs: 30_000,
        endsRequest: true,
      },
    ]);
    expect(world.failedRequests).toEqual([]);
    const finished = world.events.filter(({ name }) => name === 'gateway:attempt-finished');
    expect(finished).toMatchObject([
      { payload: { model: 'slow' } },
      { payload: { model: 'quick', outcome: 'success' } },
    ]);
  });

  it('cost what the price of their model says', async () => {
    const price = { inputPerMillion: 1, outputPerMillion: 10 };
    const world = new RoutingWorld([
      { name: 'a', price, script: 'server-error', score: 0.9 },
      { name: 'b', price, script: { does: 'stream', endsAfterMs: 100, broken: 'network' }, score: 0.8 },
    ]);
    await world.complete('auto', { maxRetries: 0, request: requestFor('auto', { isStream: true }) });
    await world.clock.advance(100);
    const costs = world.attempts.map(({ outcome, costUsd, endsRequest }) => [outcome, costUsd, endsRequest]);
    expect(costs).toEqual([
      ['server-error', null, false],
      // An interrupted stream has tokens, and its request ends with it.
      ['network', (10 * 1 + 5 * 10) / 1_000_000, true],
    ]);
    const reported = world.events.filter(({ name }) => name === 'gateway:attempt-finished');
    expect(reported).toMatchObject([{ payload: { costUsd: null } }, { payload: { costUsd: 0.00006 } }]);
  });

  it('that all fail are followed by the end of their request', async () => {
    const world = new RoutingWorld([{ name: 'a', script: { does: 'server-error', afterMs: 500 } }]);
    const startedAt = world.clock.now();
    await world.failure('a', { maxRetries: 1 });
    expect(world.attempts.map(({ endsRequest }) => endsRequest)).toEqual([false, false]);
    expect(world.failedRequests).toEqual([
      {
        requestId: 'request-1',
        at: startedAt,
        durationMs: 11_000,
        errorCode: 'GATEWAY_EXHAUSTED',
        calls: 2,
        caller: 'key:1',
        api: 'chat',
        requestedModel: 'a',
      },
    ]);
  });

  it('are none when no model is suitable: only the end is recorded', async () => {
    const world = new RoutingWorld([{ name: 'a' }]);
    await world.failure('unknown');
    expect(world.attempts).toEqual([]);
    expect(world.failedRequests).toMatchObject([{ errorCode: 'GATEWAY_MODEL_NOT_FOUND', calls: 0 }]);
    const counting = requestFor('unknown', { operation: 'messages/count_tokens', api: null });
    await world.failure('unknown', { request: counting });
    expect(world.failedRequests).toHaveLength(1);
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
    ['small,a', 'small', false],
  ])('is reported for "%s": %s, %s', async (model, responding, isFallback) => {
    const requires = { tools: true, json: false, vision: false };
    const completion = await new RoutingWorld(models).complete(model, {
      request: requestFor(model, { requires }),
    });
    expect(completion).toMatchObject({ model: { name: responding }, attempts: 1, isFallback });
  });
});

describe('the same model at several providers', () => {
  const equal = (first: Partial<ScriptedModel> = {}, second: Partial<ScriptedModel> = {}) => [
    { name: 'a/x', upstream: 'x', score: 0.8, ...first },
    { name: 'b/x', upstream: 'x', score: 0.78, ...second },
    { name: 'other', score: 0.79 },
  ];

  it('shares the load in turn, without counting as a fallback', async () => {
    const world = new RoutingWorld(equal());
    const results = [];
    for (let request = 0; request < 6; request++) results.push(await world.complete());
    expect(world.called).toEqual(['a/x', 'b/x', 'a/x', 'b/x', 'a/x', 'b/x']);
    expect(results.some(({ isFallback }) => isFallback)).toBe(false);
  });

  it('includes one without any request, which has no score yet', async () => {
    const [first] = equal();
    const world = new RoutingWorld([
      ...(first ? [first] : []),
      { name: 'b/x', upstream: 'x' },
      { name: 'c/y', score: 0.7 },
    ]);
    for (let request = 0; request < 4; request++) await world.complete();
    expect(world.called).toEqual(['a/x', 'b/x', 'a/x', 'b/x']);
  });

  it('gets a request where the fewest are in flight, streams until their end', async () => {
    const script = { does: 'stream', endsAfterMs: 10_000 } as const;
    const world = new RoutingWorld(equal({ script }));
    const request = requestFor('x', { isStream: true });
    await world.complete('x', { request });
    for (let count = 0; count < 3; count++) await world.complete('x');
    expect(world.called).toEqual(['a/x', 'b/x', 'b/x', 'b/x']);
    await world.clock.advance(10_000);
    await world.complete('x', { request });
    expect(world.called.at(-1)).toBe('a/x');
  });

  it.each<[string, readonly ScriptedModel[], string]>([
    ['with different scores', equal({}, { score: 0.7 }), 'auto'],
    ['with different names upstream', equal({}, { upstream: 'y' }), 'auto'],
    ['if one of them is named', equal(), 'a/x'],
  ])('does not share it %s', async (_, models, name) => {
    const world = new RoutingWorld(models);
    for (let request = 0; request < 4; request++) await world.complete(name);
    expect(world.called).toEqual(['a/x', 'a/x', 'a/x', 'a/x']);
  });

  it('does not share it while one of them is cooling down or backed off', async () => {
    const world = new RoutingWorld(equal());
    world.cool('b/x', 60_000);
    for (let request = 0; request < 3; request++) await world.complete();
    expect(world.called).toEqual(['a/x', 'a/x', 'a/x']);
    for (let count = 0; count < 3; count++) world.backoff.failed(1);
    expect(await world.complete('x')).toMatchObject({ model: { name: 'a/x' } });
  });

  it('falls back to the other', async () => {
    const world = new RoutingWorld(equal({ script: 'server-error' }));
    expect(await world.complete('x')).toMatchObject({ model: { name: 'b/x' }, isFallback: true });
    expect(world.called).toEqual(['a/x', 'b/x']);
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
        firstTokenMs: 500,
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
    expect(same.attempts[0]?.isStale).toBeUndefined();
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
