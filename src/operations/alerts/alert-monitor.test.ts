// The rules that Prometheus loads, evaluated by the server: on the test cases of promtool, and over time.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { EventBus } from '../../core/index.ts';
import type { AlertRule } from './alert-monitor.ts';
import { alertEvents, AlertMonitor, readAlertRules } from './alert-monitor.ts';
import type { Sample } from './metric-history.ts';
import { parsePromql } from './promql.ts';

interface TestCase {
  readonly name: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly promql_expr_test: readonly {
    readonly eval_time: string;
    readonly exp_samples: readonly { readonly labels: string; readonly value: number }[];
  }[];
}

const file = new URL('../../../monitoring/headworks-alerts.test.yml', import.meta.url);
const { tests } = parse(await readFile(file, 'utf8')) as { readonly tests: readonly TestCase[] };

/** A monitor whose metrics are a table, on a virtual clock. */
function openMonitor(rules?: readonly AlertRule[]) {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const values = new Map<string, readonly Sample[] | null>();
  const events = new EventBus(alertEvents);
  const emitted: string[] = [];
  events.listen(({ name, payload }) => emitted.push(`${name} ${String(payload['alert'])}`));
  const metrics = {
    read: async (names: readonly string[]) =>
      new Map(names.map((name) => [name, values.get(name) ?? (values.has(name) ? null : [])])),
  };
  const monitor = new AlertMonitor({ clock, metrics, events, ...(rules && { rules }) });
  const after = async (minutes: number) => {
    await clock.advance(minutes * 60_000);
    await monitor.evaluate();
    return (await monitor.list()).map(({ name, state }) => `${name} ${state}`);
  };
  return { clock, values, monitor, emitted, after };
}

const single = (value: number): readonly Sample[] => [{ labels: {}, value }];

const rule = (expr: string, change: Partial<AlertRule> = {}): AlertRule => ({
  name: 'HeadworksExample',
  severity: 'warning',
  forMs: 0,
  expression: parsePromql(expr),
  summary: 'It happened.',
  description: 'Do something.',
  ...change,
});

/** The values of a series by minute: "0x2 0+5x10" is 0, 0, 0, 0, 5, …, 50. */
function valuesOf(text: string): readonly number[] {
  return text.split(' ').flatMap((part) => {
    const [, start = '', step = '0', times = '0'] = /^([\d.]+)(?:\+([\d.]+))?(?:x(\d+))?$/.exec(part) ?? [];
    return Array.from({ length: Number(times) + 1 }, (_, index) => Number(start) + index * Number(step));
  });
}

function sampleOf(series: string, value: number): readonly [metric: string, sample: Sample] {
  const [, metric = '', matchers = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const labels = [...matchers.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', text = '']) => [name, text]);
  return [metric, { labels: Object.fromEntries(labels) as Sample['labels'], value }];
}

const minutesOf = (text: string): number => Number.parseInt(text, 10) * (text.endsWith('h') ? 60 : 1);

describe('a server', () => {
  it.for(tests)(
    'fires as Prometheus does: $name (T3)',
    async ({ input_series: all, promql_expr_test: [expected] }) => {
      const { values, monitor, after } = openMonitor();
      const series = all.map((each) => ({ series: each.series, values: valuesOf(each.values) }));
      const minutes = minutesOf(expected?.eval_time ?? '');
      for (let minute = 0; minute <= minutes; minute++) {
        values.clear();
        for (const each of series) {
          const value = each.values[minute];
          if (value === undefined) continue;
          const [metric, sample] = sampleOf(each.series, value);
          values.set(metric, [...(values.get(metric) ?? []), sample]);
        }
        await after(minute === 0 ? 0 : 1);
      }
      const firing = (await monitor.list()).filter(({ state }) => state === 'firing');
      expect([...new Set(firing.map(({ name }) => name))]).toEqual(
        (expected?.exp_samples ?? []).map(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1]),
      );
    },
  );

  it('fires when the condition has lasted, with the labels in the text, and reports both changes', async () => {
    const high = rule('max by (model) (x_y) > 1', {
      forMs: 120_000,
      summary: 'Model {{ $labels.model }} fails.',
    });
    const { values, monitor, after, emitted, clock } = openMonitor([high]);
    values.set('x_y', [
      { labels: { model: 'a' }, value: 2 },
      { labels: { model: 'b' }, value: 1 },
    ]);
    expect(await after(0)).toEqual(['HeadworksExample pending']);
    const since = new Date(clock.now());
    expect(await after(1)).toEqual(['HeadworksExample pending']);
    expect(emitted).toEqual([]);
    expect(await after(1)).toEqual(['HeadworksExample firing']);
    expect(await monitor.list()).toMatchObject([
      { labels: { model: 'a' }, message: 'Model a fails. Do something.', since, severity: 'warning' },
    ]);
    values.set('x_y', []);
    expect(await after(1)).toEqual([]);
    expect(emitted).toEqual(['alert:firing HeadworksExample', 'alert:resolved HeadworksExample']);
  });

  it('counts an increase from the start of a series, and until it is older than the window', async () => {
    const { values, after } = openMonitor([rule('sum(increase(x_total[15m])) > 2')]);
    expect(await after(0)).toEqual([]);
    values.set('x_total', single(3));
    expect(await after(1)).toHaveLength(1);
    expect(await after(14)).toHaveLength(1);
    expect(await after(1)).toEqual([]);
    values.set('x_total', single(5));
    expect(await after(1)).toEqual([]);
    values.set('x_total', single(6));
    expect(await after(1)).toHaveLength(1);
  });

  it('keeps the state of an alert while its metric cannot be read', async () => {
    const { values, after } = openMonitor([rule('max(x_y) > 1')]);
    values.set('x_y', single(2));
    expect(await after(0)).toHaveLength(1);
    values.set('x_y', null);
    expect(await after(60)).toHaveLength(1);
    values.set('x_y', single(1));
    expect(await after(1)).toEqual([]);
  });

  it('evaluates at once and then every ten seconds', async () => {
    const { values, monitor, clock } = openMonitor([rule('max(x_y) > 1')]);
    values.set('x_y', single(2));
    const stop = monitor.start();
    expect(await monitor.list()).toHaveLength(1);
    values.set('x_y', single(1));
    expect(await monitor.list()).toHaveLength(1);
    await clock.advance(10_000);
    expect(await monitor.list()).toEqual([]);
    stop();
  });

  it('reports nothing of an evaluation that ends after it was stopped', async () => {
    const { values, monitor, emitted } = openMonitor([rule('max(x_y) > 1')]);
    values.set('x_y', single(2));
    const stop = monitor.start();
    stop();
    expect(await monitor.list()).toHaveLength(1);
    expect(emitted).toEqual([]);
  });
});

describe('the rules', () => {
  it('are all supported', async () => {
    expect((await readAlertRules()).length).toBeGreaterThan(20);
  });

  it.for([
    'quantile(0.9, x_y)',
    'x_y{a!~"b"}',
    'max without (a) (x_y)',
    'x_y >',
    'max(x_y',
    'x_y # comment',
    'increase(x_y[5y])',
  ])('reject what they could not evaluate: %s', (expr) => {
    expect(() => parsePromql(expr)).toThrow(SyntaxError);
  });

  it.for([
    ['x_y + 1 > 2 * 3', [[{ a: '1' }, 7]]],
    [
      'x_y > 6 or x_z',
      [
        [{ a: '1' }, 0],
        [{ a: '2' }, 1],
      ],
    ],
    ['x_z and x_y', [[{ a: '1' }, 0]]],
    ['x_z unless x_y', [[{ a: '2' }, 1]]],
    ['count(x_z) - sum(x_z) == 1', [[{}, 1]]],
    ['min by (b) (x_z)', [[{ b: '' }, 0]]],
    ['x_z{a=~"[12]", a!="1"}', [[{ a: '2' }, 1]]],
    ['absent(x_none)', [[{}, 1]]],
    ['absent(x_z)', []],
    ['x_y / x_z < 0', []],
  ] as const)('evaluate %s', ([expr, expected]) => {
    const samples: Readonly<Record<string, readonly Sample[]>> = {
      x_y: [{ labels: { a: '1' }, value: 6 }],
      x_z: [
        { labels: { a: '1' }, value: 0 },
        { labels: { a: '2' }, value: 1 },
      ],
    };
    const at = (metric: string) => samples[metric] ?? [];
    const found = parsePromql(expr).evaluate({ at, increase: at, min: at });
    expect(found.map(({ labels, value }) => [labels, value])).toEqual(expected);
  });
});
