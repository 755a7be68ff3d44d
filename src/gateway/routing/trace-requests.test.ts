// Attributes by the GenAI conventions of OpenTelemetry.
import { describe, expect, it } from 'vitest';
import { modelOf, requestFor, tokens } from '../../../test/support/gateway/routing-world.ts';
import type { SpanFacts, Tracer } from '../../core/index.ts';
import { noTracer } from '../../core/telemetry.ts';
import type { Call } from './settle-call.ts';
import { traceAttempts } from './trace-requests.ts';

describe('the span of an attempt', () => {
  it('has the tokens of caches and of reasoning, each part of the total, and only if there are any', () => {
    const spans: SpanFacts[] = [];
    const tracer: Tracer = { ...noTracer, past: (_name, facts) => void spans.push(facts) };
    const model = modelOf({ name: 'a' }, 1);
    const call = {
      routed: { request: requestFor('a', { isStream: true }), options: { requestId: 'r' } },
      state: { candidate: { baseUrl: model.baseUrl } },
      model,
      number: 1,
    } as unknown as Call;
    const result = { outcome: 'success', status: 200, durationMs: 1 } as const;
    traceAttempts(tracer)(call, { ...result, tokens });
    traceAttempts(tracer)(call, {
      ...result,
      tokens: { ...tokens, cacheRead: 4, cacheWrite: 3, reasoning: 2 },
    });
    const usage = { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5 };
    const usageIn = (facts: SpanFacts = {}) =>
      Object.fromEntries(Object.entries(facts).filter(([name]) => name.startsWith('gen_ai.usage.')));
    expect(spans.map(usageIn)).toEqual([
      usage,
      {
        ...usage,
        'gen_ai.usage.cache_read.input_tokens': 4,
        'gen_ai.usage.cache_creation.input_tokens': 3,
        'gen_ai.usage.reasoning.output_tokens': 2,
      },
    ]);
    expect(spans[0]).toMatchObject({ 'gen_ai.request.stream': true });
  });
});
