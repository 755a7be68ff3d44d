// Metrics as Prometheus text: counters and histograms from events, gauges collected at each scrape. Only the metrics of the
// process come from prom-client: it takes 7 µs per observation, the counters and histograms here 1 µs.
import type { Registry } from 'prom-client';
import type { EmittedEvent, EventCounter, EventSource, EventSpecs, Redactor } from '../../core/index.ts';
import { systemClock, withTimeout } from '../../core/index.ts';
import { processGauges } from './process-metrics.ts';

/** In seconds; the default of Prometheus' own clients. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface MetricSpec {
  /** `headworks_…`, with the unit at the end. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export interface HistogramSpec extends MetricSpec {
  /** Ascending. */
  readonly buckets?: readonly number[] | undefined;
}

export interface GaugeSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface GaugeSpec extends MetricSpec {
  /** Called at each scrape. When it fails or takes too long, the gauge is absent from that scrape. */
  readonly collect: () => Promise<readonly GaugeSample[]> | readonly GaugeSample[];
}

/** Adds to a counter, or observes a value, for these label values (in the order of the spec's labels). */
export type Observe = (amount: number, labelValues: readonly string[]) => void;

export interface MetricsOptions {
  /** Applied to every label value. */
  readonly redactor: Redactor;
  /** CPU, memory, event loop and garbage collection of this process. Default: true. */
  readonly processMetrics?: boolean;
  /** Label combinations per metric; further ones are counted as "other". Default: 500. */
  readonly maxSeries?: number;
  /** Timeout of a gauge. Default: 2 s. */
  readonly gaugeTimeoutMs?: number;
}

type MetricType = 'counter' | 'histogram' | 'gauge';

interface Metric {
  readonly type: MetricType;
  readonly spec: MetricSpec;
  readonly observe: Observe;
  readonly lines: () => readonly string[] | Promise<readonly string[]>;
  /** Null: unknown now. */
  readonly samples: () => readonly GaugeSample[] | null | Promise<readonly GaugeSample[] | null>;
}

export class Metrics {
  /** The content type of `text()`. */
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #options: MetricsOptions;
  readonly #metrics = new Map<string, Metric>();
  readonly #countGaugeFailure: Observe;
  readonly #processGauges = processGauges();
  #process: Promise<Registry> | undefined;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#countGaugeFailure = this.counter({
      name: 'headworks_metrics_gauge_failures_total',
      help: 'Gauges that could not be collected; they are absent from that scrape.',
      labels: ['gauge'],
    });
  }

  /** Everything in the Prometheus text format. Never fails because of one gauge. */
  async text(): Promise<string> {
    const metrics = [...this.#metrics.values()].map(async ({ type, spec: { name, help }, lines }) =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...(await lines()), ''].join('\n'),
    );
    return [...(await Promise.all(metrics)), await this.#processMetrics()].join('\n');
  }

  /**
   * The current samples of counters, gauges and the process metrics that alerts read; null for a gauge that could not be
   * collected, and for names that do not exist.
   */
  async read(names: readonly string[]): Promise<ReadonlyMap<string, readonly GaugeSample[] | null>> {
    const read = async (name: string) => {
      const samples = this.#metrics.get(name)?.samples ?? this.#processGauges[name];
      return [name, samples ? await samples() : null] as const;
    };
    return new Map(await Promise.all(names.map(read)));
  }

  /** Loaded with the first scrape (56 ms and 20 MB): most processes are never scraped. */
  async #processMetrics(): Promise<string> {
    if (this.#options.processMetrics === false) return '';
    this.#process ??= import('prom-client').then(({ collectDefaultMetrics, Registry }) => {
      const register = new Registry();
      collectDefaultMetrics({ register });
      return register;
    });
    return (await this.#process).metrics();
  }

  /** The same name again returns the same metric; with other labels it fails with a TypeError. */
  counter(spec: MetricSpec): Observe {
    return this.#define('counter', spec, () => {
      const series = this.#series(spec, (labels, values) => ({ labels, values, total: 0 }));
      return {
        observe: (amount, values) => (series.of(values).total += amount),
        lines: () => series.all().map(({ labels, total }) => sampleLine(spec.name, labels, total)),
        samples: () => series.all().map(({ values, total }) => ({ labels: values, value: total })),
      };
    });
  }

  histogram(spec: HistogramSpec): Observe {
    return this.#define('histogram', spec, () => {
      const buckets = spec.buckets ?? defaultBuckets;
      const series = this.#series(spec, (labels): Distribution => ({
        labels,
        counts: Array<number>(buckets.length + 1).fill(0),
        sum: 0,
      }));
      return {
        observe: (amount, values) => {
          const distribution = series.of(values);
          let bucket = 0;
          while (bucket < buckets.length && amount > (buckets[bucket] ?? 0)) bucket++;
          distribution.counts[bucket] = (distribution.counts[bucket] ?? 0) + 1;
          distribution.sum += amount;
        },
        lines: () => series.all().flatMap((each) => histogramLines(spec.name, each, buckets)),
        samples: () => null,
      };
    });
  }

  gauge(spec: GaugeSpec): void {
    this.#define('gauge', spec, () => {
      const series = this.#series<{ labels: string; value?: number }>(spec, (labels) => ({ labels }));
      return {
        observe: () => undefined,
        samples: () => this.#collect(spec),
        lines: async () => {
          const samples = (await this.#collect(spec)) ?? [];
          for (const each of series.all()) each.value = undefined;
          for (const { labels, value } of samples) {
            const each = series.of(spec.labels.map((label) => labels[label] ?? ''));
            each.value = (each.value ?? 0) + value;
          }
          return series
            .all()
            .flatMap(({ labels, value }) =>
              value === undefined ? [] : sampleLine(spec.name, labels, value),
            );
        },
      };
    });
  }

  #define(type: MetricType, spec: MetricSpec, create: () => Omit<Metric, 'type' | 'spec'>): Observe {
    const known = this.#metrics.get(spec.name);
    if (known?.type === type && known.spec.labels.join() === spec.labels.join()) return known.observe;
    if (known) throw new TypeError(`The metric ${spec.name} exists with other labels.`);
    const metric = { type, spec, ...create() };
    this.#metrics.set(spec.name, metric);
    return metric.observe;
  }

  /** A counter or histogram without labels is 0 from the start. */
  #series<Series extends object>(spec: MetricSpec, create: CreateSeries<Series>): SeriesSet<Series> {
    const { redactor, maxSeries = 500 } = this.#options;
    const series = new SeriesSet(spec.labels, maxSeries, (text) => redactor.text(text), create);
    if (spec.labels.length === 0) series.of([]);
    return series;
  }

  /** Null when the gauge failed, which is counted. */
  async #collect({ name, collect }: GaugeSpec): Promise<readonly GaugeSample[] | null> {
    const timeoutMs = this.#options.gaugeTimeoutMs ?? 2_000;
    try {
      return await withTimeout(() => collect(), { clock: systemClock, timeoutMs });
    } catch {
      this.#countGaugeFailure(1, [name]);
      return null;
    }
  }
}

interface Distribution {
  readonly labels: string;
  /** Per bucket, not cumulative; the last is everything above. */
  readonly counts: number[];
  sum: number;
}

function histogramLines(
  name: string,
  { labels, counts, sum }: Distribution,
  buckets: readonly number[],
): readonly string[] {
  let count = 0;
  const rows = counts.map((own, index) => {
    count += own;
    const le = `le="${buckets[index] ?? '+Inf'}"`;
    return sampleLine(`${name}_bucket`, labels === '' ? le : `${le},${labels}`, count);
  });
  return [...rows, sampleLine(`${name}_sum`, labels, sum), sampleLine(`${name}_count`, labels, count)];
}

const sampleLine = (name: string, labels: string, value: number): string =>
  labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`;

const maxLabelLength = 120;

/** A map per label: a combined key would have to be built and hashed for every observation. */
class Level<Series> {
  readonly next = new Map<string, Level<Series>>();
  series: Series | undefined;
}

/** `labels` as in the text format, and `values` by name. */
type CreateSeries<Series> = (labels: string, values: Readonly<Record<string, string>>) => Series;

/** One `Series` per combination of label values, created when it is first seen. */
class SeriesSet<Series extends object> {
  readonly #names: readonly string[];
  readonly #maxSeries: number;
  readonly #redact: (text: string) => string;
  readonly #create: CreateSeries<Series>;
  readonly #root = new Level<Series>();
  readonly #known: Series[] = [];
  #other: Series | undefined;
  /** Most events have the values of the one before, as the same list. */
  #lastValues: readonly string[] | undefined;
  #last: Series | undefined;

  constructor(
    names: readonly string[],
    maxSeries: number,
    redact: (text: string) => string,
    create: CreateSeries<Series>,
  ) {
    this.#names = names;
    this.#maxSeries = maxSeries;
    this.#redact = redact;
    this.#create = create;
  }

  /** The series of these values; beyond the maximum, the one with "other" for every label. */
  of(values: readonly string[]): Series {
    if (values === this.#lastValues) return this.#last as Series;
    this.#lastValues = values;
    return (this.#last = this.#find(values));
  }

  all(): readonly Series[] {
    return this.#other === undefined ? this.#known : [...this.#known, this.#other];
  }

  #find(values: readonly string[]): Series {
    let level: Level<Series> | undefined = this.#root;
    for (const value of values) {
      level = level.next.get(value);
      if (!level) return this.#add(values);
    }
    return level.series ?? this.#add(values);
  }

  #add(values: readonly string[]): Series {
    if (this.#known.length >= this.#maxSeries) return (this.#other ??= this.#labeled(() => 'other'));
    const series = this.#labeled((index) => this.#redact(values[index] ?? '').slice(0, maxLabelLength));
    let level = this.#root;
    for (const value of values) {
      const next: Level<Series> = level.next.get(value) ?? new Level();
      level.next.set(value, next);
      level = next;
    }
    level.series = series;
    this.#known.push(series);
    return series;
  }

  #labeled(valueOf: (index: number) => string): Series {
    const pairs = this.#names.map((name, index) => [name, valueOf(index)] as const);
    const labels = pairs.map(([name, value]) => `${name}="${escaped(value)}"`).join(',');
    return this.#create(labels, Object.fromEntries(pairs));
  }
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

type Payload = EmittedEvent['payload'];
type Count = (payload: Payload) => void;
type MetricFactory = Pick<Metrics, 'counter' | 'histogram'>;

/** Creates every metric at once, so that a scrape shows it before the first event. The returned function stops it. */
export function countEvents(events: EventSource, metrics: MetricFactory): () => void {
  const counts = new Map<string, readonly Count[]>();
  for (const [name, { counter, histogram }] of Object.entries(events.specs)) {
    const own = (counter === undefined ? [] : [counter].flat()).map((each) => counterOf(each, metrics));
    if (histogram) own.push(histogramOf(histogram, metrics));
    if (own.length > 0) counts.set(name, own);
  }
  const count = ({ name, payload }: EmittedEvent): void => {
    for (const each of counts.get(name) ?? []) each(payload);
  };
  return events.listen(count, (name) => counts.has(name));
}

function counterOf(spec: EventCounter<Record<string, unknown>>, metrics: MetricFactory): Count {
  const { name, help, labels = [], fixedLabels = {}, knownValues = [], by } = spec;
  const fixed = Object.values(fixedLabels);
  const observe = metrics.counter({ name, help, labels: [...labels, ...Object.keys(fixedLabels)] });
  for (const values of knownValues) observe(0, [...values, ...fixed]);
  const valuesOf = labelReader(labels, fixed);
  return (payload) => {
    const amount = by === undefined ? 1 : payload[by];
    // A counter must not decrease, and NaN would stay in it. Null is no amount.
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0)
      observe(amount, valuesOf(payload));
  };
}

function histogramOf(spec: NonNullable<EventSpecs[string]['histogram']>, metrics: MetricFactory): Count {
  const { name, help, labels = [], field, buckets } = spec;
  const observe = metrics.histogram({ name, help, labels, buckets });
  const unit = field.endsWith('Ms') ? 1_000 : 1;
  const valuesOf = labelReader(labels, []);
  return (payload) => {
    const value = payload[field];
    if (typeof value === 'number' && Number.isFinite(value)) observe(value / unit, valuesOf(payload));
  };
}

/** Reads the values of labels. The same array while they stay the same: most events are like the one before. */
function labelReader(
  labels: readonly string[],
  fixed: readonly string[],
): (payload: Payload) => readonly string[] {
  let last: readonly string[] | undefined;
  return (payload) => {
    if (!last || labels.some((label, index) => textOf(payload[label]) !== last?.[index]))
      last = [...labels.map((label) => textOf(payload[label])), ...fixed];
    return last;
  };
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
