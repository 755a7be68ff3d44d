// Responses of simulated providers, without a network.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { ModelsApi } from './providers-api.ts';
import { readScenario } from './scenario.ts';

const messages = [{ role: 'user', content: 'hello' }];

function api(providers: readonly object[], seed = 1) {
  const made = new ModelsApi(readScenario({ seed, providers }), new VirtualClock());
  const send = (
    model: unknown,
    {
      provider = null,
      key = null,
      more = {},
    }: { provider?: string | null; key?: string | null; more?: object } = {},
  ) => made.handle({ provider, operation: 'chat/completions', key, body: { model, messages, ...more } });
  return { made, send };
}

describe('a simulated provider', () => {
  it('accepts only its own models and keys', () => {
    const { send } = api([
      { name: 'alpha', models: [{ name: 'a' }], keys: ['k'] },
      { name: 'beta', models: [{ name: 'b' }] },
    ]);
    expect(send('a', { provider: 'beta' }).status).toBe(404);
    expect(send('a', { provider: 'alpha' }).status).toBe(401);
    expect(send('a', { provider: 'alpha', key: 'other' }).status).toBe(401);
    expect(send('a', { provider: 'alpha', key: 'k' }).status).toBe(200);
    expect(send('b').status).toBe(200);
    expect(send(undefined).status).toBe(404);
  });

  it('fails independently of another with the same model', () => {
    const models = [{ name: 'm', faults: [{ fault: 500, probability: 0.5 }] }];
    const { made, send } = api([
      { name: 'alpha', models },
      { name: 'beta', models },
    ]);
    const run = (provider: string) => Array.from({ length: 40 }, () => send('m', { provider }).status);
    expect(run('alpha')).not.toEqual(run('beta'));
    expect(Object.keys(made.stats().models)).toEqual(['alpha/m', 'beta/m']);
  });

  it('survives any request', () => {
    const { made, send } = api([{ name: 'alpha', models: [{ name: 'a' }] }]);
    for (const body of [null, 5, 'text', [], { model: {} }])
      expect(made.handle({ provider: null, operation: 'chat/completions', key: null, body }).status).toBe(
        404,
      );
    for (const odd of [[null], [{ content: [null, 7] }], [{ content: { a: 1 } }], ['text']])
      expect(send('a', { more: { messages: odd, tools: [null] } }).status).toBe(200);
    for (const none of [undefined, [], 'hello'])
      expect(send('a', { more: { messages: none } }).status).toBe(400);
  });

  it('accepts only realistic dimensions', () => {
    const { made } = api([{ name: 'alpha', models: [{ name: 'e', kind: 'embeddings', dimensions: 8 }] }]);
    const embed = (dimensions?: unknown) =>
      made.handle({
        provider: null,
        operation: 'embeddings',
        key: null,
        body: { model: 'e', input: 'hello', dimensions },
      }).status;
    for (const good of [undefined, null, 1, 64, 4_096]) expect(embed(good)).toBe(200);
    for (const bad of [0, -1, 1.5, 4_097, 1e12, '8', [8]]) expect(embed(bad)).toBe(400);
  });

  it('waits for its latency and first-token time', () => {
    const models = [{ name: 'a', completion: 'one two three', first_token_ms: 100, token_ms: 10 }];
    const { send } = api([{ name: 'alpha', latency_ms: 5, models }]);
    expect(send('a').delayMs).toBe(5 + 100 + 3 * 10);
    const streamed = send('a', { more: { stream: true } });
    expect(streamed.delayMs).toBe(5);
    expect(streamed.chunks.map(({ afterMs }) => afterMs)).toEqual([0, 100, 10, 10, 10, 10]);
  });
});

describe('a scenario', () => {
  it.each([
    [{ providers: [{ name: 'a', models: [{ name: 'x' }, { name: 'x' }] }] }, /two models have the same name/],
    [
      {
        providers: [
          { name: 'a', models: [{ name: 'x' }] },
          { name: 'a', models: [{ name: 'y' }] },
        ],
      },
      /two providers have the same name/,
    ],
    [{ providers: [] }, /providers/],
    [
      { providers: [{ name: 'a', models: [{ name: 'x', script: ['dance'] }] }] },
      /script.*dance.*allowed: 400, 401/,
    ],
    [
      { providers: [{ name: 'a', models: [{ name: 'x', script: [{ fault: 429, hint: 'soon' }] }] }] },
      /script\.0\.hint: unknown value "soon"; allowed: none, retry-after/,
    ],
    [undefined, /is invalid/],
  ])('is rejected with the reason: %j', (scenario, why) => {
    expect(() => readScenario(scenario)).toThrow(why);
  });
});
