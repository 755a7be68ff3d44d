import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import { GatewayError } from '../gateway/index.ts';
import { confirmationSchema } from '../knowledge/entities/confirm.ts';
import { readingSchema } from '../knowledge/reading/model-reader.ts';
import type { CompletionGateway } from './workflows.ts';
import { languageModelOf } from './workflows.ts';

const refusal = new GatewayError('GATEWAY_REQUEST_REJECTED', 'a/b refuses the request.', {
  status: 400,
  details: { failureClass: 'validation' },
});

/** Refuses formats; everything else is answered. What was sent as `response_format`, in order. */
function world(refuses: (format: unknown) => GatewayError | null) {
  const clock = new VirtualClock(0);
  const sent: unknown[] = [];
  const gateway = {
    defaults: { deadlineMs: 1_000, waitMs: 1_000 },
    read: (_: unknown, body: Uint8Array) => JSON.parse(Buffer.from(body).toString()) as unknown,
    complete: async ({ ask }: { ask: { response_format?: { type: string } } }) => {
      sent.push(ask.response_format?.type ?? 'words');
      const error = refuses(ask.response_format?.type ?? 'words');
      if (error) throw error;
      const body = Buffer.from(JSON.stringify({ choices: [{ message: { content: '{}' } }] }));
      return { model: { name: 'a/b' }, answer: { outcome: 'answer', body } };
    },
  } as unknown as CompletionGateway;
  const model = languageModelOf(gateway, clock);
  const ask = () =>
    model.complete({
      requestId: 'r',
      caller: 'admin',
      messages: [{ role: 'user', content: 'Read.' }],
      json: true,
      schema: readingSchema,
      signal: new AbortController().signal,
    });
  return { clock, sent, ask };
}

describe('a model that is asked for JSON', () => {
  it('gets the schema, strictly', async () => {
    const { sent, ask } = world(() => null);
    expect(await ask()).toEqual({ text: '{}', model: 'a/b' });
    expect(sent).toEqual(['json_schema']);
  });

  it('is asked without what it refuses, and not for it again until some minutes later', async () => {
    const { clock, sent, ask } = world((format) => (format === 'json_schema' ? refusal : null));
    await ask();
    await ask();
    expect(sent.splice(0)).toEqual(['json_schema', 'json_object', 'json_object']);
    await clock.advance(601_000);
    await ask();
    expect(sent).toEqual(['json_schema', 'json_object']);
  });

  it('is asked in words when it takes no format, or nobody has a JSON mode', async () => {
    const none = world((format) => (format === 'words' ? null : refusal));
    await none.ask();
    await none.ask();
    expect(none.sent).toEqual(['json_schema', 'json_object', 'words', 'words']);
    const unable = new GatewayError('GATEWAY_CAPABILITY_UNSUPPORTED', 'No.', {
      details: { missing: ['json'] },
    });
    const without = world((format) => (format === 'words' ? null : unable));
    await without.ask();
    expect(without.sent).toEqual(['json_schema', 'words']);
  });

  it('is not asked again for a failure of another kind, and nothing is remembered of a request it refuses in any format', async () => {
    const busy = new GatewayError('GATEWAY_EXHAUSTED', 'Nobody.', { isRetryable: true });
    const tired = world(() => busy);
    await expect(tired.ask()).rejects.toBe(busy);
    expect(tired.sent).toEqual(['json_schema']);
    const strict = world(() => refusal);
    await expect(strict.ask()).rejects.toBe(refusal);
    await expect(strict.ask()).rejects.toBe(refusal);
    expect(strict.sent).toHaveLength(6);
  });
});

describe('schemas of answers', () => {
  it.each([readingSchema, confirmationSchema])(
    'of a $name are closed, and require all they name',
    ({ schema }) => {
      const objects: Record<string, unknown>[] = [];
      JSON.stringify(schema, (_, value: unknown) => {
        if (typeof value === 'object' && value !== null && 'properties' in value) objects.push(value);
        return value;
      });
      expect(objects.length).toBeGreaterThan(0);
      for (const { properties, required, additionalProperties } of objects) {
        expect(additionalProperties).toBe(false);
        expect(required).toEqual(Object.keys(properties as object));
      }
    },
  );
});
