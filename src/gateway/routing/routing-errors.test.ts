import { describe, expect, it } from 'vitest';
import { RoutingWorld } from '../../../test/support/gateway/routing-world.ts';
import type { ScriptedCall } from '../../../test/support/gateway/routing-world.ts';
import type { GatewayError } from '../errors.ts';

const world = (...scripts: readonly ScriptedCall[]) =>
  new RoutingWorld(
    scripts.map((script, index) => ({ name: `p/m${index}`, script, score: 1 - index / 100 })),
    { maxRetries: 0 },
  );

describe('when no model responds', () => {
  it.each<[string, readonly ScriptedCall[], string]>([
    ['all limited', ['rate-limit', 'rate-limit'], 'GATEWAY_ALL_RATE_LIMITED'],
    ['one limited, one broken', ['rate-limit', 'server-error'], 'GATEWAY_EXHAUSTED'],
    ['all broken', ['server-error', 'network'], 'GATEWAY_EXHAUSTED'],
    ['all revoked', ['authentication', 'payment'], 'GATEWAY_EXHAUSTED'],
    ['all reject the request', ['validation', 'content-refused'], 'GATEWAY_REQUEST_REJECTED'],
    ['one rejects the request, one is revoked', ['authentication', 'validation'], 'GATEWAY_REQUEST_REJECTED'],
    ['one rejects the request, one is broken', ['validation', 'server-error'], 'GATEWAY_EXHAUSTED'],
    ['too long for one, the other limited', ['context-too-long', 'rate-limit'], 'GATEWAY_EXHAUSTED'],
  ])('and %s, the code is %3$s', async (_, scripts, code) => {
    const here = world(...scripts);
    const error = (await here.failure()) as GatewayError;
    expect(error.code).toBe(code);
    expect(error.tried).toHaveLength(scripts.length);
    expect(here.events).toContainEqual({
      name: 'gateway:models-exhausted',
      payload: { requestId: 'request-1', code, tried: scripts.length },
    });
  });

  it('the error reports when the first model is available again', async () => {
    const here = world({ does: 'rate-limit', hintMs: 90_000 }, { does: 'rate-limit', hintMs: 30_000 });
    const now = here.clock.now();
    const error = (await here.failure()) as GatewayError;
    expect(error).toMatchObject({
      code: 'GATEWAY_ALL_RATE_LIMITED',
      isRetryable: true,
      retryAfterMs: 30_000,
    });
    expect(error.tried).toEqual([
      {
        model: 'p/m0',
        provider: 'p',
        outcome: 'rate-limit',
        attempts: 1,
        status: 429,
        availableAt: now + 90_000,
      },
      {
        model: 'p/m1',
        provider: 'p',
        outcome: 'rate-limit',
        attempts: 1,
        status: 429,
        availableAt: now + 30_000,
      },
    ]);
    expect(error.message).toContain('The first, p/m1, is available in 30 s.');
  });

  it('the error reports it from cooldowns alone, without a call', async () => {
    const here = world('respond', 'respond');
    here.cool('p/m0', 20_000, 'rate-limit');
    here.cool('p/m1', 10_000, 'quota');
    expect(await here.failure()).toMatchObject({ code: 'GATEWAY_ALL_RATE_LIMITED', retryAfterMs: 10_000 });
    expect(here.calls).toEqual([]);
  });

  it('the error reports the retry hint of a local model, although it has no cooldown', async () => {
    const script = { does: 'rate-limit', hintMs: 50_000 } as const;
    const here = new RoutingWorld([{ name: 'mine', script, isLocal: true }], { maxRetries: 0 });
    const error = (await here.failure()) as GatewayError;
    expect(error).toMatchObject({ code: 'GATEWAY_ALL_RATE_LIMITED', retryAfterMs: 50_000 });
    expect(error.message).toContain('The first, mine, is available in 50 s.');
    expect(error.tried).toMatchObject([{ availableAt: null }]);
  });

  it('the error reports when the rest of a local quota is too small for the request', async () => {
    const now = 1_700_000_000_000;
    const quotas = { take: async () => ({ availableAt: now + 30_000 }) };
    const here = new RoutingWorld([{ name: 'a' }], { maxRetries: 0 }, quotas);
    const error = (await here.failure()) as GatewayError;
    expect(error.message).toContain('a (the rest of its quota is too small for this request)');
    expect(error.tried).toMatchObject([{ outcome: 'cooling-down', availableAt: now + 30_000 }]);
  });

  it('the error has no retry time when a failed model could be called at once', async () => {
    const error = (await world('rate-limit', 'server-error').failure()) as GatewayError;
    expect(error.retryAfterMs).toBeUndefined();
  });

  it('a manual cooldown or a rejected key does not count as a limit', async () => {
    const here = world('respond', 'respond');
    here.cool('p/m0', 20_000, 'manual');
    here.cool('p/m1', 10_000, 'authentication');
    expect(await here.failure()).toMatchObject({ code: 'GATEWAY_EXHAUSTED', retryAfterMs: 10_000 });
  });

  it('the error has the first provider’s status and message when the request is at fault', async () => {
    const here = world(
      { does: 'validation', status: 422, message: 'temperature must be at most 2' },
      { does: 'validation', status: 400, message: 'bad temperature' },
    );
    const error = (await here.failure()) as GatewayError;
    expect(error).toMatchObject({ code: 'GATEWAY_REQUEST_REJECTED', status: 422, isRetryable: false });
    expect(error.message).toContain('p/m0 rejects the request: "temperature must be at most 2"');
  });

  it('the status is 400 for a rejection inside a 200', async () => {
    const here = world({ does: 'content-refused', status: 200 });
    expect(await here.failure()).toMatchObject({ code: 'GATEWAY_REQUEST_REJECTED', status: 400 });
  });

  it('the request is at fault even if other models are cooling down', async () => {
    const here = world('validation', 'respond');
    here.cool('p/m1', 10_000);
    expect(await here.failure()).toMatchObject({
      code: 'GATEWAY_REQUEST_REJECTED',
      tried: [{}, { outcome: 'cooling-down' }],
    });
  });

  it('the message names some models and the list all', async () => {
    const error = (await world(
      ...Array.from({ length: 8 }, () => 'network' as const),
    ).failure()) as GatewayError;
    expect(error.message).toMatch(/p\/m4 \(network: [^)]*\), 3 more\./);
    expect(error.tried).toHaveLength(8);
  });
});
