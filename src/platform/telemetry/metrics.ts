// Metrics as Prometheus text: counters and histograms from events, gauges collected at each scrape.
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { EmittedEvent, EventCounter, EventListener, EventSpecs, Redactor } from '../../core/index.ts';
import { systemClock, withTimeout } from '../../core/index.ts';
import type { CountedMetric, Labels } from './metric-series.ts';
import {
  createCounter,
  createHistogram,
  LabelGuard,
  newCounterSeries,
  newHistogramSeries,
} from './metric-series.ts';

/** In seconds; what Prometheus' own clients take. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface GaugeSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface GaugeSpec {
  /** `headworks_…`, with the unit at the end. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Asked at each scrape. When it fails or takes too long, the gauge is absent from that scrape. */
  readonly collect: () => Promise<readonly GaugeSample[]> | readonly GaugeSample[];
}

export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Adds to a counter, or observes a value, for these label values (in the order of the spec's labels). */
export type Observe = (amount: number, labelValues: readonly string[]) => void;

export interface Metrics {
  /** The content type of `text()`. */
  readonly contentType: string;
  /** Everything in the Prometheus text format. Never fails because of one gauge. */
  text(): Promise<string>;
  gauge(spec: GaugeSpec): void;
  /** The same name again gives the same metric; with other labels it fails with a TypeError. */
  counter(spec: MetricSpec): Observe;
  histogram(spec: MetricSpec & { readonly buckets?: readonly number[] | undefined }): Observe;
}

export interface MetricsOptions {
  /** Goes over every label value. */
  readonly redactor: Redactor;
  /** CPU, memory, event loop and garbage collection of this process. Default: yes. */
  readonly processMetrics?: boolean;
  /** Label combinations one metric may have; what comes after counts as "other". Default 500. */
  readonly maxSeries?: number;
  /** The longest a gauge may take to answer. Default 2 s. */
  readonly gaugeTimeoutMs?: number;
}

export function createMetrics(options: MetricsOptions): Metrics {
  return new PrometheusMetrics(options);
}

interface Counted {
  readonly labels: string;
  readonly observe: Observe;
  /** All that a scrape is told of it. */
  readonly text: () => string;
}

class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #redactor: Redactor;
  readonly #maxSeries: number;
  readonly #gaugeTimeoutMs: number;
  readonly #counted = new Map<string, Counted>();
  readonly #gaugeFailures: Counter<'gauge'>;

  constructor({ redactor, processMetrics = true, maxSeries = 500, gaugeTimeoutMs = 2_000 }: MetricsOptions) {
    this.#redactor = redactor;
    this.#maxSeries = maxSeries;
    this.#gaugeTimeoutMs = gaugeTimeoutMs;
    if (processMetrics) collectDefaultMetrics({ register: this.#registry });
    this.#gaugeFailures = new Counter({
      name: 'headworks_metrics_gauge_failures_total',
      help: 'Gauges that could not be asked; they are absent from that scrape.',
      labelNames: ['gauge'],
      registers: [this.#registry],
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    const counted = [...this.#counted.values()].map(({ text }) => text());
    return [...counted, await this.#registry.metrics()].join('\n');
  }

  gauge(spec: GaugeSpec): void {
    const guard = this.#guard(spec, (labels) => ({ ...labels }));
    const ask = () => this.#collect(spec);
    const gauge = new Gauge({
      name: spec.name,
      help: spec.help,
      labelNames: [...spec.labels],
      registers: [this.#registry],
      async collect() {
        const samples = await ask();
        this.reset();
        // A gauge without labels is 0 after a reset; one that was not answered has no value at all.
        if (samples.length === 0 && spec.labels.length === 0) this.remove();
        for (const { labels, value } of samples)
          this.inc(guard.of(spec.labels.map((label) => labels[label] ?? '')), value);
      },
    });
    gauge.reset();
  }

  counter(spec: MetricSpec): Observe {
    return this.#once(spec, 'counter', () => {
      const guard = this.#guard(spec, newCounterSeries);
      if (spec.labels.length === 0) guard.of([]);
      return createCounter(spec.name, guard);
    });
  }

  histogram(spec: MetricSpec & { readonly buckets?: readonly number[] | undefined }): Observe {
    return this.#once(spec, 'histogram', () => {
      const buckets = spec.buckets ?? defaultBuckets;
      const guard = this.#guard(spec, (labels) => newHistogramSeries(labels, buckets));
      if (spec.labels.length === 0) guard.of([]);
      return createHistogram(spec.name, guard, buckets);
    });
  }

  #guard<Series>({ labels }: MetricSpec, make: (labels: Labels) => Series): LabelGuard<Series> {
    return new LabelGuard(labels, this.#maxSeries, (text) => this.#redactor.text(text), make);
  }

  #once(spec: MetricSpec, type: 'counter' | 'histogram', make: () => CountedMetric): Observe {
    const { name, help } = spec;
    const labels = `${type} ${spec.labels.join()}`;
    const known = this.#counted.get(name);
    if (known?.labels === labels) return known.observe;
    if (known) throw new TypeError(`The metric ${name} exists with other labels.`);
    const { observe, lines } = make();
    const text = () => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines(), ''].join('\n');
    this.#counted.set(name, { labels, observe, text });
    return observe;
  }

  /** The samples; none when the gauge failed, which is counted. */
  async #collect({ name, collect }: GaugeSpec): Promise<readonly GaugeSample[]> {
    try {
      return await withTimeout(() => collect(), { clock: systemClock, timeoutMs: this.#gaugeTimeoutMs });
    } catch {
      this.#gaugeFailures.inc({ gauge: name });
      return [];
    }
  }
}

interface EventSource {
  readonly specs: EventSpecs;
  listen(listener: EventListener): () => void;
}

type Count = (payload: EmittedEvent['payload']) => void;

/** Makes every metric at once, so that a scrape shows it before the first event. The returned function stops it. */
export function countEvents(events: EventSource, metrics: Metrics): () => void {
  const counts = new Map<string, readonly Count[]>();
  for (const [name, { counter, histogram }] of Object.entries(events.specs)) {
    const own: Count[] = [];
    for (const each of counter === undefined ? [] : [counter].flat()) own.push(counterOf(each, metrics));
    if (histogram) own.push(histogramOf(histogram, metrics));
    counts.set(name, own);
  }
  return events.listen(({ name, payload }) => {
    const own = counts.get(name);
    if (own) for (const count of own) count(payload);
  });
}

function counterOf(spec: EventCounter<Record<string, unknown>>, metrics: Metrics): Count {
  const { name, help, labels = [], fixedLabels = {}, knownValues = [], by } = spec;
  const fixed = Object.values(fixedLabels);
  const observe = metrics.counter({ name, help, labels: [...labels, ...Object.keys(fixedLabels)] });
  for (const values of knownValues) observe(0, [...values, ...fixed]);
  return (payload) => {
    const amount = by === undefined ? 1 : Number(payload[by]);
    // A counter must not fall, and one bad number would spoil it for good.
    if (Number.isFinite(amount) && amount >= 0) observe(amount, valuesOf(payload, labels, fixed));
  };
}

function histogramOf(spec: NonNullable<EventSpecs[string]['histogram']>, metrics: Metrics): Count {
  const { name, help, labels = [], field, buckets } = spec;
  const observe = metrics.histogram({ name, help, labels, buckets });
  const unit = field.endsWith('Ms') ? 1_000 : 1;
  return (payload) => {
    const value = payload[field];
    if (typeof value === 'number' && Number.isFinite(value)) observe(value / unit, valuesOf(payload, labels));
  };
}

function valuesOf(
  payload: EmittedEvent['payload'],
  labels: readonly string[],
  fixed: readonly string[] = [],
): readonly string[] {
  const values: string[] = [];
  for (const label of labels) {
    const value = payload[label];
    values.push(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  }
  values.push(...fixed);
  return values;
}
