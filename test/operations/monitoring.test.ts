// The shipped alert rules and Grafana dashboard, checked against the metrics of a server.
import { readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import type { CommandFacts } from '../../scripts/doc-facts.ts';
import { readDocFacts } from '../../scripts/doc-facts.ts';
import { openDomains } from '../../src/app/compose.ts';
import { Presence } from '../../src/app/client/local-server.ts';
import { startServer } from '../../src/app/start.ts';
import { openStores } from '../../src/app/compose.ts';
import { createTelemetry, registerProcessMetrics } from '../../src/app/telemetry.ts';
import { Readiness } from '../../src/operations/readiness.ts';
import type { GaugeSpec, Metrics, MetricSpec } from '../../src/platform/telemetry/metrics.ts';
import { countEvents } from '../../src/platform/telemetry/metrics.ts';
import { redisUrl, uniqueName } from '../support/services.ts';
import { testConfig } from '../support/test-server.ts';

const textOf = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

async function rules(): Promise<readonly Rule[]> {
  const { groups } = parse(await textOf('monitoring/headworks-alerts.yml')) as {
    groups: { rules: readonly Rule[] }[];
  };
  return groups.flatMap((group) => group.rules);
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly {
    readonly expr: string;
    readonly legendFormat: string;
    readonly datasource: { readonly uid: string };
  }[];
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
}

const dashboard = async () => JSON.parse(await textOf('monitoring/headworks-dashboard.json')) as Dashboard;

type LabelsByMetric = ReadonlyMap<string, readonly string[]>;

/** Everything a server registers, with its labels, and what a scrape returns before anything happened. */
async function freshServer(): Promise<{ readonly known: LabelsByMetric; readonly text: string }> {
  const found = new Map<string, readonly string[]>();
  const config = await testConfig();
  const telemetry = createTelemetry(config, 'serve');
  const metrics = noting(telemetry.metrics, found);
  countEvents(telemetry.events, metrics);
  await using closing = new AsyncDisposableStack();
  const stores = await openStores(config, telemetry, closing);
  await openDomains(config, stores, { ...telemetry, metrics }, { role: 'serve', env: {} }, closing);
  const readiness = new Readiness({ ...stores, alerts: () => [] });
  registerProcessMetrics({ metrics, role: 'serve', presence: new Presence(), readiness });
  const text = await telemetry.metrics.text();
  for (const [, name = ''] of text.matchAll(/^# TYPE ((?:process|nodejs)_\w+) \w+$/gm)) found.set(name, []);
  return { known: found, text };
}

/** Records the metrics that are registered from now on. */
function noting(metrics: Metrics, found: Map<string, readonly string[]>): Metrics {
  const note = ({ name, labels }: MetricSpec) => found.set(name, labels);
  const gauge = metrics.gauge.bind(metrics);
  const counter = metrics.counter.bind(metrics);
  const histogram = metrics.histogram.bind(metrics);
  return Object.assign(metrics, {
    gauge: (spec: GaugeSpec) => (note(spec), gauge(spec)),
    counter: (spec: MetricSpec) => (note(spec), counter(spec)),
    histogram: (spec: MetricSpec) => {
      for (const part of ['_bucket', '_sum', '_count']) found.set(spec.name + part, [...spec.labels, 'le']);
      return histogram(spec);
    },
  });
}

/** Prometheus adds these to everything that it reads. */
const ofPrometheus = ['job', 'instance'];

/** What is wrong with an expression, and with the labels that its legend or texts show. */
function faultsOf(expr: string, shown: string, known: LabelsByMetric): readonly string[] {
  const names = [...expr.matchAll(/\b(?:headworks|process|nodejs)_\w+/g)].map(([name]) => name);
  const unknown = names.filter((name) => !known.has(name)).map((name) => `no metric ${name}`);
  const selected = [...expr.matchAll(/(\w+)\{([^}]*)\}/g)].flatMap(([, metric = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => [metric, label] as const),
  );
  const badSelectors = selected
    .filter(([metric, label]) => ![...ofPrometheus, ...(known.get(metric) ?? [])].includes(label))
    .map(([metric, label]) => `${metric} has no label ${label}`);
  const all = new Set([...ofPrometheus, ...names.flatMap((name) => known.get(name) ?? [])]);
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const badGroups = grouped.filter((label) => !all.has(label)).map((label) => `cannot group by ${label}`);
  const kept = new Set([...grouped, ...(/\b(?:sum|max|min|count)\b/.test(expr) ? [] : all)]);
  const labelsShown = [...shown.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(
    ([, label = '']) => label,
  );
  const badShown = labelsShown
    .filter((label) => !kept.has(label))
    .map((label) => `shows ${label}, which is not kept`);
  return [
    ...(names.length === 0 ? ['names no metric'] : []),
    ...unknown,
    ...badSelectors,
    ...badGroups,
    ...badShown,
  ];
}

/**
 * A metric whose series begin with the first response of a route: there are too many to create in advance. Its alert
 * requires more than one.
 */
const beginsLate = 'headworks_http_requests_total';

/** Counters in `increase(…)` that have no series yet: Prometheus detects no increase when one begins above 0. */
function unseen(expr: string, text: string): readonly string[] {
  const lines = text.split('\n');
  return [...expr.matchAll(/increase\((\w+)(?:\{([^}]*)\})?\[/g)]
    .filter(([, name = '', matchers = '']) => {
      const series = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
      return (
        name !== beginsLate &&
        !series.some((line) => matchers.split(',').every((each) => line.includes(each)))
      );
    })
    .map(([, name = '', matchers = '']) => `${name}{${matchers}}`);
}

/** Unknown commands after the word headworks, and unknown flags of commands. */
function strangeCommands(text: string, root: CommandFacts): readonly string[] {
  return [...text.matchAll(/\bheadworks ([^;,.)"]+)/g)].flatMap(([whole, rest = '']) => {
    const words = rest.split(/\s+/);
    const [first = ''] = words;
    if (!root.subcommands.has(first)) return [whole];
    const reached = words.reduce((at, word) => at.subcommands.get(word) ?? at, root);
    return words.filter((word) => word.startsWith('--') && !reached.flags.has(word));
  });
}

describe('the monitoring files', () => {
  let started: ReturnType<typeof freshServer> | undefined;
  const server = () => (started ??= freshServer());

  it('counts the first event of every alert: its series are there at 0', async () => {
    const { text } = await server();
    for (const { alert, expr } of await rules()) expect(unseen(expr, text), alert).toEqual([]);
    const zeros = text.split('\n').filter((line) => line.endsWith(' 0'));
    const kinds = ['audit', 'ledger', 'jobs', 'extraction-runs', 'gateway-attempts', 'executions'];
    expect(zeros).toEqual(
      expect.arrayContaining([
        ...['state store', 'redis'].map(
          (name) => `headworks_dependency_changes_total{dependency="${name}",state="down"} 0`,
        ),
        ...['server-error', 'unexpected-shape', 'worker-died'].map(
          (cause) => `headworks_extraction_failed_pages_total{cause="${cause}"} 0`,
        ),
        ...kinds.map((kind) => `headworks_retention_failures_total{kind="${kind}"} 0`),
        'headworks_gateway_exhausted_total{code="GATEWAY_EXHAUSTED"} 0',
        'headworks_knowledge_expansions_total{outcome="timeout"} 0',
        'headworks_ledger_lost_total 0',
        'headworks_ledger_overflowed_total 0',
      ]),
    );
  });

  it('has a Prometheus test case for every alert, made of series that a server has', async () => {
    const { tests } = parse(await textOf('monitoring/headworks-alerts.test.yml')) as {
      tests: { name: string; input_series: { series: string }[] }[];
    };
    const [wellKept, ...cases] = tests;
    expect(cases.map(({ name }) => name)).toEqual((await rules()).map(({ alert }) => alert));
    const { known } = await server();
    for (const { name, input_series: all } of tests)
      for (const { series } of all) expect(faultsOf(series, '', known), name).toEqual([]);
    const inUse = (await rules()).flatMap(({ expr }) => [
      ...new Set(expr.match(/\b(?:headworks|process|nodejs)_\w+/g)),
    ]);
    const quiet = wellKept?.input_series.map(({ series }) => series.replace(/\{.*/, ''));
    expect(new Set(quiet)).toEqual(new Set(inUse));
  });

  it('needs the admin token on a loopback address too: there may be a reverse proxy', async () => {
    const server = await startServer(await testConfig(), { role: 'serve' });
    onTestFinished(() => server.stop());
    const { url, adminToken } = server;
    const proxied = await fetch(`${url}/metrics`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
    expect(proxied.status).toBe(401);
    const read = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
    expect(read.status).toBe(200);
  });

  it('can scrape a worker with the shared admin token', async () => {
    const config = await testConfig({
      REDIS_URL: redisUrl(),
      HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('worker')}:`,
      HEADWORKS_HOST: '0.0.0.0',
      HEADWORKS_ADMIN_TOKEN: 'token-of-all-0123456789',
    });
    const worker = await startServer(config, { role: 'worker' });
    onTestFinished(() => worker.stop());
    const url = `http://127.0.0.1:${new URL(worker.url).port}/metrics`;
    expect((await fetch(url)).status).toBe(401);
    const read = await fetch(url, { headers: { authorization: 'Bearer token-of-all-0123456789' } });
    expect(await read.text()).toMatch(/headworks_process_info\{role="worker"/);
  });

  it('detects a counter that starts with its first event', () => {
    const text = 'a_total{state="up"} 0\nb_total 0';
    expect(unseen('sum(increase(a_total{state="up"}[5m])) + increase(b_total[5m])', text)).toEqual([]);
    expect(unseen('increase(a_total{state="down"}[5m])', text)).toEqual(['a_total{state="down"}']);
    expect(unseen('increase(c_total[5m])', text)).toEqual(['c_total{}']);
  });

  it('names only metrics and labels that a server has', async () => {
    const { known } = await server();
    expect(known.size).toBeGreaterThan(60);
    const faults: string[] = [];
    for (const { alert, expr, annotations } of await rules())
      for (const fault of faultsOf(expr, JSON.stringify(annotations), known))
        faults.push(`${alert}: ${fault}`);
    const { panels, templating } = await dashboard();
    for (const { title, targets = [] } of panels)
      for (const { expr, legendFormat } of targets)
        for (const fault of faultsOf(expr, legendFormat, known)) faults.push(`${title}: ${fault}`);
    for (const { name, definition } of templating.list)
      if (definition !== undefined)
        for (const fault of faultsOf(definition, '', known)) faults.push(`${name}: ${fault}`);
    expect(faults).toEqual([]);
  });

  it('detects a metric that does not exist', () => {
    const known = new Map([['headworks_x_total', ['kind']]]);
    expect(faultsOf('sum by (kind) (rate(headworks_x_total{kind="a"}[5m]))', '{{kind}}', known)).toEqual([]);
    expect(faultsOf('rate(headworks_y_total[5m])', '', known)).toEqual(['no metric headworks_y_total']);
    expect(faultsOf('headworks_x_total{state="a"}', '', known)).toEqual([
      'headworks_x_total has no label state',
    ]);
    expect(faultsOf('sum by (state) (headworks_x_total)', '', known)).toEqual(['cannot group by state']);
    expect(faultsOf('sum(headworks_x_total)', '{{ $labels.kind }}', known)).toEqual([
      'shows kind, which is not kept',
    ]);
  });
});

describe('monitoring/headworks-alerts.yml', () => {
  it('gives every alert a unique name, a severity and texts', async () => {
    const all = await rules();
    expect(new Set(all.map(({ alert }) => alert)).size).toBe(all.length);
    for (const { alert, labels, annotations } of all) {
      expect(alert).toMatch(/^Headworks[A-Z]\w+$/);
      expect(['info', 'warning', 'critical'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\.$/);
      expect(annotations.description, alert).toMatch(/\.$/);
    }
  });

  it('refers to existing commands and flags only', async () => {
    const { command } = await readDocFacts();
    const all = await rules();
    for (const { alert, annotations } of all)
      expect(strangeCommands(annotations.description, command), alert).toEqual([]);
    expect(strangeCommands('headworks nothing; headworks vault verify --nothing.', command)).toHaveLength(2);
    // Without it a failed page is not requested again.
    const pages = all.find(({ alert }) => alert === 'HeadworksExtractionPagesFailed');
    expect(pages?.annotations.description).toContain('headworks sources run NAME --retry-failed');
  });

  it('has a section in docs/guide/operations.md for every alert', async () => {
    const shipped = (await rules()).map(({ alert }) => alert);
    const headings = (await textOf('docs/guide/operations.md')).matchAll(/^### (Headworks\w+)$/gm);
    expect([...headings].map(([, name = '']) => name).sort()).toEqual(shipped.toSorted());
  });
});

describe('monitoring/headworks-dashboard.json', () => {
  it('gives every panel a unique id and position', async () => {
    const { panels } = await dashboard();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), title).toBe(false);
          taken.add(`${x} ${y}`);
        }
    }
  });

  it('lets the data source be chosen at import', async () => {
    const { panels, templating } = await dashboard();
    expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource' });
    const uids = panels.flatMap(({ datasource, targets = [] }) => [
      ...(datasource ? [datasource.uid] : []),
      ...targets.map((target) => target.datasource.uid),
    ]);
    expect(uids.length).toBeGreaterThan(60);
    expect(new Set(uids)).toEqual(new Set(['${datasource}']));
  });

  it('shows every domain, the ledger and the process, in units that fit', async () => {
    const { panels } = await dashboard();
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title.split(':')[0]);
    expect(rows).toEqual(
      expect.arrayContaining([
        'Admission',
        'Gateway',
        'Extraction',
        'Knowledge',
        'Jobs and ledger',
        'Process',
      ]),
    );
    for (const { title, targets = [], fieldConfig } of panels) {
      const isSeconds = targets.some(
        ({ expr }) => /_seconds(_bucket)?\b/.test(expr) && !expr.includes('_seconds_total'),
      );
      if (isSeconds) expect(fieldConfig?.defaults.unit, title).toBe('s');
      if (targets.some(({ expr }) => /_bytes\b/.test(expr)))
        expect(fieldConfig?.defaults.unit, title).toBe('bytes');
    }
  });
});
