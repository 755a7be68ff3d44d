import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.ts';
import { noTracer, silentLog } from '../core/index.ts';
import { openTracer, pairs, tracingWarnings } from './tracing.ts';

describe('openTracer', () => {
  it.each([{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }])(
    'loads nothing for %o',
    async (env) => {
      const closing = new AsyncDisposableStack();
      expect(await openTracer(resolveConfig({ flags: {}, cwd: '/', env }), closing, () => undefined)).toBe(
        noTracer,
      );
    },
  );

  it('keeps to the trace of the caller, names it for log lines, and parts with it outside', async () => {
    await using closing = new AsyncDisposableStack();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    const tracer = await openTracer(resolveConfig({ flags: {}, cwd: '/', env }), closing, () => undefined);
    const trace_id = '0af7651916cd43dd8448eb211c80319c';
    const unsampled = { traceparent: `00-${trace_id}-b7ad6b7169203331-00` };
    const span = tracer.begin('GET /', {}, unsampled);
    expect(span.run(() => tracer.current())).toMatchObject({ trace_id });
    expect(await span.run(() => tracer.within('inner', {}, async () => tracer.current()))).toMatchObject({
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

describe('a collector that is away', () => {
  it('is in the log once, as is a protocol that is not spoken', async () => {
    const closing = new AsyncDisposableStack();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    const config = resolveConfig({ flags: {}, cwd: '/', env });
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => warnings.push(text) };
    const tracer = await openTracer(config, closing, () => log);
    tracer.begin('GET /', {}).end({}, false);
    await closing.disposeAsync();
    expect(warnings).toEqual(['spans do not reach the collector, and are dropped']);
    expect(tracingWarnings(config)).toEqual([
      'spans are sent as http/json, not as OTEL_EXPORTER_OTLP_PROTOCOL says (grpc)',
    ]);
  });
});

describe('variables that are everybody’s', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const configOf = (env: Record<string, string>) => resolveConfig({ flags: {}, cwd: '/', env });

  it.each([
    [{ OTEL_TRACES_EXPORTER: 'console' }, [/^no spans are sent: .* console$/], false],
    [{ OTEL_TRACES_EXPORTER: 'otlp,console' }, [/console is not known here/], true],
    [{ OTEL_TRACES_EXPORTER: 'none' }, [], false],
    [{ OTEL_TRACES_SAMPLER: 'xray' }, [/xray is not known here; parentbased_always_on is taken/], true],
    [{ OTEL_TRACES_SAMPLER_ARG: 'abc' }, [], true],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'abc' },
      [/no number from 0 to 1 \(abc\)/],
      true,
    ],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' }, [], true],
  ])('%o are never refused, and what is not done is said', async (env, warnings, isOn) => {
    await using closing = new AsyncDisposableStack();
    expect(tracingWarnings(configOf(env))).toEqual([]);
    const config = configOf({ ...endpoint, ...env });
    expect(tracingWarnings(config)).toEqual(warnings.map((words) => expect.stringMatching(words) as string));
    expect((await openTracer(config, closing, () => undefined)) !== noTracer).toBe(isOn);
  });
});

describe('pairs', () => {
  it('reads lists as the variables have them', () => {
    expect(pairs('a=b, c=d%20e=f,,=x,broken,g=%zz')).toEqual({ a: 'b', c: 'd e=f', g: '%zz' });
    expect(pairs(null)).toEqual({});
  });
});
