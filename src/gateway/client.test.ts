// The in-process client: JSON formats and embeddings.
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { modelOf } from '../../test/support/gateway/routing-world.ts';
import { describe, expect, it } from 'vitest';
import { GatewayClient } from './client.ts';
import { textOf } from './dialects/wire.ts';
import { GatewayError } from './errors.ts';
import type { CompletionRequest, CompletionResult } from './types.ts';

const rejection = new GatewayError('GATEWAY_REQUEST_REJECTED', 'a/b rejects the request.', {
  status: 400,
  details: { failureClass: 'validation' },
});

const schema = { name: 'result', schema: { type: 'object' } };

/** Records the `response_format` of each call, in order. */
function setUp(errorFor: (format: string) => GatewayError | null) {
  const clock = new VirtualClock(0);
  const sent: string[] = [];
  const client = new GatewayClient({
    clock,
    defaults: { deadlineMs: 1_000, waitMs: 1_000 },
    models: { list: () => [] },
    aliases: new Map(),
    complete: async (request: CompletionRequest) => {
      const body = JSON.parse(textOf(request.body)) as { response_format?: { type: string } };
      const format = body.response_format?.type ?? 'text';
      sent.push(format);
      const error = errorFor(format);
      if (error) throw error;
      const response = Buffer.from(JSON.stringify({ choices: [{ message: { content: '{}' } }] }));
      return {
        model: { name: 'a/b' },
        response: { kind: 'response', body: response },
      } as unknown as CompletionResult;
    },
  });
  const complete = () =>
    client.completeText({
      requestId: 'r',
      caller: 'admin',
      messages: [{ role: 'user', content: 'Read.' }],
      json: true,
      schema,
      signal: new AbortController().signal,
    });
  return { clock, sent, complete };
}

describe('completeText with json', () => {
  it('sends the schema', async () => {
    const { sent, complete } = setUp(() => null);
    expect(await complete()).toEqual({ text: '{}', model: 'a/b' });
    expect(sent).toEqual(['json_schema']);
  });

  it('falls back to the next format when one is rejected, and skips that one for ten minutes', async () => {
    const { clock, sent, complete } = setUp((format) => (format === 'json_schema' ? rejection : null));
    await complete();
    await complete();
    expect(sent.splice(0)).toEqual(['json_schema', 'json_object', 'json_object']);
    await clock.advance(601_000);
    await complete();
    expect(sent).toEqual(['json_schema', 'json_object']);
  });

  it('sends no format when all are rejected or no model has a JSON mode', async () => {
    const none = setUp((format) => (format === 'text' ? null : rejection));
    await none.complete();
    await none.complete();
    expect(none.sent).toEqual(['json_schema', 'json_object', 'text', 'text']);
    const unsupported = new GatewayError('GATEWAY_CAPABILITY_UNSUPPORTED', 'No.', {
      details: { missing: ['json'] },
    });
    const without = setUp((format) => (format === 'text' ? null : unsupported));
    await without.complete();
    expect(without.sent).toEqual(['json_schema', 'text']);
  });

  it('passes other errors on, and caches nothing when every format is rejected', async () => {
    const exhausted = new GatewayError('GATEWAY_EXHAUSTED', 'No model.', { isRetryable: true });
    const busy = setUp(() => exhausted);
    await expect(busy.complete()).rejects.toBe(exhausted);
    expect(busy.sent).toEqual(['json_schema']);
    const strict = setUp(() => rejection);
    await expect(strict.complete()).rejects.toBe(rejection);
    await expect(strict.complete()).rejects.toBe(rejection);
    expect(strict.sent).toHaveLength(6);
  });
});

describe('embed', () => {
  it('returns the vectors in the order of the texts and never falls back to another model', async () => {
    const sent: unknown[] = [];
    const client = new GatewayClient({
      clock: new VirtualClock(0),
      defaults: { deadlineMs: 1_000, waitMs: 1_000 },
      models: { list: () => [] },
      aliases: new Map(),
      complete: async (request, { allowFallback, waitMs }) => {
        const { model, input } = JSON.parse(textOf(request.body)) as { model: string; input: string[] };
        sent.push({ model, input, allowFallback, waitMs });
        const data = input.map((text, index) => ({ index, embedding: [text.length, 0] })).toReversed();
        const body = Buffer.from(JSON.stringify({ data }));
        return { response: { kind: 'response', body } } as unknown as CompletionResult;
      },
    });
    const signal = new AbortController().signal;
    const texts = ['a', 'bcd'];
    const vectors = await client.embed({ requestId: 'r', caller: 'x', model: 'a/e', texts, signal });
    expect(vectors).toEqual([Float32Array.of(1, 0), Float32Array.of(3, 0)]);
    expect(sent).toEqual([{ model: 'a/e', input: texts, allowFallback: false, waitMs: 0 }]);
  });
});

describe('unknown models', () => {
  it('are names that neither a model nor an alias has', () => {
    const client = new GatewayClient({
      clock: new VirtualClock(),
      defaults: { deadlineMs: 1_000, waitMs: 0 },
      models: { list: () => [modelOf({ name: 'a/x', upstream: 'x' }, 1)] },
      aliases: new Map([['fast', ['gone']]]),
      complete: () => Promise.reject(new Error('not called')),
    });
    expect(client.unknownModels('a/x, x,auto,fast,,b')).toEqual(['b']);
  });
});
