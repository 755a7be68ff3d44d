import { describe, expect, it } from 'vitest';
import { event, EventBus, Redactor } from '../../core/index.ts';
import { countEvents, Metrics } from './metrics.ts';

function setUp(options: { maxSeries?: number; gaugeTimeoutMs?: number; processMetrics?: boolean } = {}) {
  const redactor = new Redactor();
  redactor.add('hunter22');
  const metrics = new Metrics({ redactor, processMetrics: false, ...options });
  const lines = async () => (await metrics.text()).split('\n');
  return { metrics, lines };
}

const specs = {
  'demo:done': event<{ kind: string; rows: number; tookMs: number }>({
    level: 'info',
    message: 'did it',
    counter: { name: 'headworks_demo_rows_total', help: 'Rows.', labels: ['kind'], by: 'rows' },
    histogram: {
      name: 'headworks_demo_seconds',
      help: 'Time.',
      field: 'tookMs',
      labels: ['kind'],
      buckets: [0.5, 1],
    },
  }),
  'demo:plain': event<object>({
    level: 'info',
    message: 'plain',
    counter: { name: 'headworks_demo_plain_total', help: 'Plain.' },
  }),
  'demo:both': event<{ model: string; read: number; written: number }>({
    level: 'info',
    message: 'two counts of one event',
    counter: [
      {
        name: 'headworks_demo_tokens_total',
        help: 'T.',
        labels: ['model'],
        fixedLabels: { kind: 'in' },
        by: 'read',
      },
      {
        name: 'headworks_demo_tokens_total',
        help: 'T.',
        labels: ['model'],
        fixedLabels: { kind: 'out' },
        by: 'written',
      },
    ],
  }),
  'demo:known': event<{ kind: string }>({
    level: 'info',
    message: 'kinds that are known',
    counter: {
      name: 'headworks_demo_known_total',
      help: 'K.',
      labels: ['kind'],
      knownValues: [['a'], ['b']],
    },
  }),
  'demo:silent': event<object>({ level: 'info', message: 'no metric' }),
};

describe('countEvents', () => {
  it('counts by the field that is named, and observes milliseconds as seconds', async () => {
    const { metrics, lines } = setUp();
    const bus = new EventBus(specs);
    const stop = countEvents(bus, metrics);
    bus.emit('demo:done', { kind: 'a', rows: 3, tookMs: 750 });
    bus.emit('demo:done', { kind: 'a', rows: 4, tookMs: 250 });
    bus.emit('demo:plain', {});
    bus.emit('demo:silent', {});
    stop();
    bus.emit('demo:plain', {});
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'headworks_demo_rows_total{kind="a"} 7',
        'headworks_demo_seconds_bucket{le="0.5",kind="a"} 1',
        'headworks_demo_seconds_bucket{le="1",kind="a"} 2',
        'headworks_demo_seconds_sum{kind="a"} 1',
        'headworks_demo_plain_total 1',
      ]),
    );
  });

  it('counts one event in several counters, and escapes label values', async () => {
    const { metrics, lines } = setUp();
    const bus = new EventBus(specs);
    countEvents(bus, metrics);
    bus.emit('demo:both', { model: 'a "b"\\\n', read: 3, written: 5 });
    expect(await lines()).toEqual(
      expect.arrayContaining([
        String.raw`headworks_demo_tokens_total{model="a \"b\"\\\n",kind="in"} 3`,
        String.raw`headworks_demo_tokens_total{model="a \"b\"\\\n",kind="out"} 5`,
      ]),
    );
  });

  it('shows a counter before its first event, with its known label values', async () => {
    const { metrics, lines } = setUp();
    countEvents(new EventBus(specs), metrics);
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'headworks_demo_plain_total 0',
        'headworks_demo_known_total{kind="a"} 0',
        'headworks_demo_known_total{kind="b"} 0',
      ]),
    );
  });

  it('ignores values that are not finite or negative', async () => {
    const { metrics, lines } = setUp();
    const bus = new EventBus(specs);
    countEvents(bus, metrics);
    for (const bad of [Number.NaN, -1, Number.POSITIVE_INFINITY, undefined as unknown as number])
      bus.emit('demo:done', { kind: 'a', rows: bad, tookMs: Number.NaN });
    bus.emit('demo:done', { kind: 'a', rows: 1, tookMs: 1 });
    expect(await lines()).toContain('headworks_demo_rows_total{kind="a"} 1');
    expect(await lines()).toContain('headworks_demo_seconds_count{kind="a"} 1');
  });

  it('bounds the combinations of labels and keeps secrets out of them', async () => {
    const { metrics, lines } = setUp({ maxSeries: 3 });
    const bus = new EventBus(specs);
    countEvents(bus, metrics);
    bus.emit('demo:done', { kind: 'has hunter22', rows: 1, tookMs: 1 });
    for (let kind = 0; kind < 100; kind += 1)
      bus.emit('demo:done', { kind: `${kind}`.repeat(200), rows: 1, tookMs: 1 });
    const rows = (await lines()).filter((line) => line.startsWith('headworks_demo_rows_total'));
    expect(rows).toHaveLength(4);
    expect(rows).toContain('headworks_demo_rows_total{kind="other"} 98');
    expect(rows).toContain('headworks_demo_rows_total{kind="has [redacted]"} 1');
    expect(Math.max(...rows.map(({ length }) => length))).toBeLessThan(200);
  });

  it('lets two events share a metric, if they agree on its labels', () => {
    const { metrics } = setUp();
    const spec = { name: 'headworks_shared_total', help: 'Shared.', labels: ['kind'] };
    expect(metrics.counter(spec)).toBe(metrics.counter(spec));
    expect(() => metrics.counter({ ...spec, labels: ['other'] })).toThrow(/headworks_shared_total/);
  });
});

describe('gauges', () => {
  it('are collected at each scrape, without samples of the last one', async () => {
    const { metrics, lines } = setUp();
    let samples = [
      { labels: { kind: 'a' }, value: 1 },
      { labels: { kind: 'b' }, value: 2 },
    ];
    metrics.gauge({ name: 'headworks_open', help: 'Open.', labels: ['kind'], collect: async () => samples });
    expect((await lines()).filter((line) => line.startsWith('headworks_open'))).toEqual([
      'headworks_open{kind="a"} 1',
      'headworks_open{kind="b"} 2',
    ]);
    samples = [{ labels: { kind: 'b' }, value: 5 }];
    expect((await lines()).filter((line) => line.startsWith('headworks_open'))).toEqual([
      'headworks_open{kind="b"} 5',
    ]);
  });

  it.each([
    ['fail', () => Promise.reject(new Error('away'))],
    [
      'throw at once',
      () => {
        throw new Error('away');
      },
    ],
    ['take too long', () => new Promise<never>(() => undefined)],
  ])('that %s are absent, and everything else is there', async (_, collect) => {
    const { metrics, lines } = setUp({ gaugeTimeoutMs: 5 });
    metrics.gauge({ name: 'headworks_away', help: 'Away.', labels: [], collect });
    metrics.gauge({
      name: 'headworks_there',
      help: 'There.',
      labels: [],
      collect: () => [{ labels: {}, value: 7 }],
    });
    const all = await lines();
    expect(all.filter((line) => line.startsWith('headworks_away'))).toEqual([]);
    expect(all).toContain('headworks_there 7');
    expect(await lines()).toContain('headworks_metrics_gauge_failures_total{gauge="headworks_away"} 1');
  });
});

describe('Metrics', () => {
  it('includes the metrics of the process, for two instances as well', async () => {
    for (let time = 0; time < 2; time += 1) {
      const { metrics } = setUp({ processMetrics: true });
      expect(await metrics.text()).toContain('process_resident_memory_bytes');
      expect(metrics.contentType).toContain('text/plain');
    }
  });
});
