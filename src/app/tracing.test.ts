import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.ts';
import type { Tracer } from '../core/index.ts';
import { EventBus, noTracer, silentLog } from '../core/index.ts';
import { extractionEvents } from '../extraction/events.ts';
import { admissionEvents } from '../tenancy/events.ts';
import { openTracer, pairs, traceEvents, tracingWarnings } from '../platform/telemetry/tracing.ts';

const optionsOf = (env: Record<string, string | undefined>) =>
  resolveConfig({ flags: {}, cwd: '/', env }).tracing;

describe('openTracer', () => {
  it.each([{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }])(
    'loads nothing for %o',
    async (env) => {
      const closing = new AsyncDisposableStack();
      expect(await openTracer(optionsOf(env), '1', closing, () => undefined)).toBe(noTracer);
    },
  );

  it('continues the trace of the caller, exposes its id to log lines, and ends with the span', async () => {
    await using closing = new AsyncDisposableStack();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    const tracer = await openTracer(optionsOf(env), '1', closing, () => undefined);
    const trace_id = '0af7651916cd43dd8448eb211c80319c';
    const unsampled = { traceparent: `00-${trace_id}-b7ad6b7169203331-00` };
    const span = tracer.begin('GET /', {}, unsampled);
    expect(span.run(() => tracer.current())).toMatchObject({ trace_id });
    expect(await span.run(() => tracer.span('inner', {}, async () => tracer.current()))).toMatchObject({
      trace_id,
    });
    expect(tracer.current()).toBeNull();
    for (const traceparent of [undefined, 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
      const own = tracer.begin('GET /', {}, { traceparent });
      expect(own.run(() => tracer.current()?.trace_id)).not.toBe(trace_id);
    }
    span.end({}, false);
  });
});

describe('an unreachable collector', () => {
  it('is logged once, as is an unsupported protocol', async () => {
    const closing = new AsyncDisposableStack();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    const options = optionsOf(env);
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => warnings.push(text) };
    const tracer = await openTracer(options, '1', closing, () => log);
    tracer.begin('GET /', {}).end({}, false);
    await closing.disposeAsync();
    expect(warnings).toEqual(['spans do not reach the collector, and are dropped']);
    expect(tracingWarnings(options)).toEqual([
      'spans are sent as http/json, not as OTEL_EXPORTER_OTLP_PROTOCOL says (grpc)',
    ]);
  });
});

describe('shared OpenTelemetry variables', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };

  it.each([
    [{ OTEL_TRACES_EXPORTER: 'console' }, [/^no spans are sent: .* console$/], false],
    [{ OTEL_TRACES_EXPORTER: 'otlp,console' }, [/console is not supported/], true],
    [{ OTEL_TRACES_EXPORTER: 'none' }, [], false],
    [{ OTEL_TRACES_SAMPLER: 'xray' }, [/xray is not supported; parentbased_always_on is used/], true],
    [{ OTEL_TRACES_SAMPLER_ARG: 'abc' }, [], true],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'abc' },
      [/not a number from 0 to 1 \(abc\)/],
      true,
    ],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' }, [], true],
  ])('%o are accepted, with a warning for what is not supported', async (env, warnings, isOn) => {
    await using closing = new AsyncDisposableStack();
    expect(tracingWarnings(optionsOf(env))).toEqual([]);
    const options = optionsOf({ ...endpoint, ...env });
    expect(tracingWarnings(options)).toEqual(warnings.map((words) => expect.stringMatching(words) as string));
    expect((await openTracer(options, '1', closing, () => undefined)) !== noTracer).toBe(isOn);
  });
});

describe('pairs', () => {
  it('parses the lists of the variables', () => {
    expect(pairs('a=b, c=d%20e=f,,=x,broken,g=%zz')).toEqual({ a: 'b', c: 'd e=f', g: '%zz' });
    expect(pairs(null)).toEqual({});
  });
});

function recording() {
  const spans: unknown[] = [];
  const past: Tracer['past'] = (...span) => void spans.push(span);
  return { spans, tracer: { ...noTracer, past } };
}

describe('traceEvents', () => {
  it('creates a span of an admission decision, and of a source call', () => {
    const { spans, tracer } = recording();
    const admission = new EventBus(admissionEvents);
    const extraction = new EventBus(extractionEvents);
    traceEvents(admission, tracer);
    const stop = traceEvents(extraction, tracer);
    admission.emit('admission:request-admitted', {
      organizationId: 'org_x',
      executionId: 'e',
      decider: 'store',
      decisionMs: 1,
      cacheHits: 1,
      cacheMisses: 0,
      localDecisions: 0,
    });
    extraction.emit('extraction:call', { session: 's', type: 'looks', outcome: 'responded', durationMs: 5 });
    extraction.emit('extraction:call', { session: 's', type: 'looks', outcome: 'server', durationMs: 6 });
    expect(spans).toMatchObject([
      ['admission decision', { 'headworks.decider': 'store' }, 1, false],
      ['source call', { 'headworks.type': 'looks' }, 5, false],
      ['source call', { 'headworks.outcome': 'server' }, 6, true],
    ]);
    stop();
    extraction.emit('extraction:call', { session: 's', type: 'looks', outcome: 'responded', durationMs: 5 });
    expect(spans).toHaveLength(3);
  });
});
