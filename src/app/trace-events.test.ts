import { describe, expect, it } from 'vitest';
import { admissionEvents } from '../tenancy/admission/events.ts';
import { EventBus, noTracer, type Tracer } from '../core/index.ts';
import { extractionEvents } from '../extraction/events.ts';
import { gatewayEvents } from '../gateway/events.ts';
import { traceEvents } from './trace-events.ts';

function recording() {
  const spans: unknown[] = [];
  const past: Tracer['past'] = (...span) => void spans.push(span);
  return { spans, tracer: { ...noTracer, past } };
}

describe('traceEvents', () => {
  it('makes a span of an attempt at a model: its ids and numbers, and whether it failed', () => {
    const bus = new EventBus(gatewayEvents, () => 0);
    const { spans, tracer } = recording();
    const stop = traceEvents(bus, tracer);
    const attempt = {
      requestId: 'r-1',
      model: 'a',
      status: null,
      durationMs: 12,
      promptTokens: 3,
      completionTokens: 4,
      isOutdated: false,
    };
    bus.emit('gateway:attempt-finished', { ...attempt, outcome: 'success' });
    bus.emit('gateway:attempt-finished', { ...attempt, outcome: 'rate-limit' });
    const facts = {
      'headworks.request_id': 'r-1',
      'headworks.model': 'a',
      'headworks.prompt_tokens': 3,
      'headworks.completion_tokens': 4,
    };
    expect(spans).toEqual([
      ['model attempt', { ...facts, 'headworks.outcome': 'success' }, 12, false],
      ['model attempt', { ...facts, 'headworks.outcome': 'rate-limit' }, 12, true],
    ]);
    stop();
    bus.emit('gateway:models-exhausted', { requestId: 'r-1', code: 'X', tried: 1 });
    expect(spans).toHaveLength(2);
  });

  it('makes a span of a decision about a slot, and of a call of a source', () => {
    const { spans, tracer } = recording();
    const admission = new EventBus(admissionEvents, () => 0);
    const extraction = new EventBus(extractionEvents, () => 0);
    traceEvents(admission, tracer);
    traceEvents(extraction, tracer);
    admission.emit('admission:request-admitted', {
      organizationId: 'org_x',
      executionId: 'e',
      decider: 'store',
      decisionMs: 1,
      cacheHits: 1,
      cacheMisses: 0,
      localDecisions: 0,
    });
    extraction.emit('extraction:call', { session: 's', type: 'looks', outcome: 'answered', durationMs: 5 });
    extraction.emit('extraction:call', { session: 's', type: 'looks', outcome: 'server', durationMs: 6 });
    expect(spans).toMatchObject([
      ['admission decision', { 'headworks.decider': 'store' }, 1, false],
      ['source call', { 'headworks.type': 'looks' }, 5, false],
      ['source call', { 'headworks.outcome': 'server' }, 6, true],
    ]);
  });
});
