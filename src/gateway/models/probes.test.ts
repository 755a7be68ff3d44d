// Requests and results of probes.
import { describe, expect, it } from 'vitest';
import { modelOf, scriptedKeys } from '../../../test/support/gateway/routing-world.ts';
import { CoreError, seededIds, seededRandom } from '../../core/index.ts';
import type { TriedModel } from '../errors.ts';
import { GatewayError } from '../errors.ts';
import type { CompletionOptions, CompletionRequest, CompletionResult, Model } from '../types.ts';
import { probeModels } from './health-check.ts';

const never = new AbortController().signal;

type Sent = CompletionOptions & { readonly request: CompletionRequest };

function prober(complete: (sent: Sent) => Promise<CompletionResult>, keyless: readonly string[] = []) {
  const sent: Sent[] = [];
  const deps = {
    complete: (request: CompletionRequest, options: CompletionOptions) => {
      const call = { ...options, request };
      sent.push(call);
      return complete(call);
    },
    keys: scriptedKeys((name) => (keyless.includes(name) ? 0 : 1)),
    ids: seededIds(seededRandom(1), () => 0),
    deadlineMs: 5_000,
  };
  return { sent, probe: (models: readonly Model[], signal = never) => probeModels(deps, models, signal) };
}

const success = async (_sent?: Sent): Promise<CompletionResult> => ({ durationMs: 12 }) as CompletionResult;
const failing =
  (tried: Partial<TriedModel>) =>
  async (_sent?: Sent): Promise<CompletionResult> => {
    const full = {
      model: 'a',
      provider: 'p',
      outcome: 'timeout',
      attempts: 1,
      status: null,
      availableAt: null,
      ...tried,
    };
    throw new GatewayError('GATEWAY_EXHAUSTED', 'x', { tried: [full as TriedModel] });
  };
const a = modelOf({ name: 'a' }, 1);

describe('a probe', () => {
  it('calls only that model, once, with a minimal request', async () => {
    const embedder = modelOf({ name: 'e', capabilities: { embeddings: true } }, 2);
    const { sent, probe } = prober(success);
    expect(await probe([a, embedder])).toEqual([
      { model: 'a', outcome: 'success', reason: null, durationMs: 12 },
      { model: 'e', outcome: 'success', reason: null, durationMs: 12 },
    ]);
    for (const request of sent)
      expect(request).toMatchObject({
        caller: 'probe',
        allowFallback: false,
        maxRetries: 0,
        waitMs: 0,
        deadlineMs: 5_000,
      });
    expect(sent.map(({ request }) => [request.model, request.operation])).toEqual([
      ['a', 'chat'],
      ['e', 'embeddings'],
    ]);
    expect(sent[0]?.request.estimatedTokens).toBeLessThan(40);
    expect(new Set(sent.map(({ requestId }) => requestId)).size).toBe(2);
  });

  it('has the response timeout of its model as deadline', async () => {
    const { sent, probe } = prober(success);
    await probe([modelOf({ name: 'slow', timeouts: { responseSeconds: 300 } }, 1), a]);
    expect(sent.map(({ deadlineMs }) => deadlineMs)).toEqual([300_000, 5_000]);
  });

  it('limits the completion, and repeats without the limit when that is rejected', async () => {
    const limits = () =>
      sent.map(({ request }) => (JSON.parse(Buffer.from(request.body).toString()) as Body).max_tokens);
    type Body = { readonly max_tokens?: number };
    const refuses = failing({ outcome: 'validation', status: 400 });
    let answers = [refuses, success];
    const { sent, probe } = prober((request) => (answers.shift() ?? success)(request));
    expect(await probe([a])).toMatchObject([{ outcome: 'success' }]);
    expect(limits()).toEqual([16, undefined]);
    answers = [refuses, refuses];
    expect(await probe([a])).toMatchObject([{ outcome: 'validation', reason: 'responded with 400' }]);
    answers = [failing({ outcome: 'server-error', status: 500 })];
    expect(await probe([a])).toMatchObject([{ outcome: 'server-error' }]);
    expect(limits()).toEqual([16, undefined, 16, undefined, 16]);
  });

  it('skips models that are disabled or have no key', async () => {
    const { sent, probe } = prober(success, ['b']);
    const results = await probe([modelOf({ name: 'a', isActive: false }, 1), modelOf({ name: 'b' }, 2)]);
    expect(results).toMatchObject([
      { outcome: 'skipped', reason: 'disabled' },
      { outcome: 'skipped', reason: expect.stringContaining('needs ') },
    ]);
    expect(sent).toEqual([]);
  });

  it.each<[string, Partial<TriedModel>, object]>([
    [
      'refused',
      { outcome: 'authentication', status: 401 },
      { outcome: 'authentication', reason: 'responded with 401' },
    ],
    ['unheard', { outcome: 'timeout' }, { outcome: 'timeout', reason: null }],
    [
      'cooling',
      { outcome: 'cooling-down', attempts: 0, availableAt: Date.parse('2026-03-01T12:00:00Z') },
      { outcome: 'skipped', reason: 'cooling down until 2026-03-01T12:00:00.000Z' },
    ],
    ['late', { outcome: 'not-tried', attempts: 0 }, { outcome: 'skipped' }],
  ])('reports a model that was %s', async (_what, tried, expected) => {
    expect(await prober(failing(tried)).probe([a])).toMatchObject([
      { model: 'a', durationMs: null, ...expected },
    ]);
  });

  it('that could not be sent is skipped with the reason', async () => {
    const disabled = new GatewayError('GATEWAY_NOT_CONFIGURED', 'It is disabled.');
    const { probe } = prober(() => Promise.reject(disabled));
    expect(await probe([a])).toMatchObject([{ outcome: 'skipped', reason: 'It is disabled.' }]);
  });
});

describe('many probes', () => {
  it('run with limited concurrency and keep their order', async () => {
    const models = Array.from({ length: 30 }, (_, index) => modelOf({ name: `m${index}` }, index + 1));
    let running = 0;
    let max = 0;
    const { probe } = prober(async () => {
      max = Math.max(max, ++running);
      await Promise.resolve();
      running -= 1;
      return success();
    });
    const results = await probe(models);
    expect(results.map(({ model }) => model)).toEqual(models.map(({ name }) => name));
    expect(max).toBe(8);
  });

  it('end when they are canceled, with none left running', async () => {
    const models = Array.from({ length: 20 }, (_, index) => modelOf({ name: `m${index}` }, index + 1));
    const leaving = new AbortController();
    let running = 0;
    const { sent, probe } = prober(async ({ signal }) => {
      running += 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      running -= 1;
      throw new CoreError('CANCELED', 'gone');
    });
    const probing = probe(models, leaving.signal);
    leaving.abort();
    await expect(probing).rejects.toMatchObject({ code: 'CANCELED' });
    expect({ running, sent: sent.length }).toEqual({ running: 0, sent: 8 });
  });

  it('do not hide unexpected errors', async () => {
    await expect(prober(() => Promise.reject(new TypeError('a bug'))).probe([a])).rejects.toThrow('a bug');
  });
});
