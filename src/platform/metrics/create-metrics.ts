// Metrics: counters and histograms of our own, gauges and those of the process through prom-client.
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Redactor } from '../../core/index.ts';
import type { Labels } from './label-guard.ts';
import { LabelGuard } from './label-guard.ts';
import type { CountedMetric } from './series.ts';
import { createCounter, createHistogram, newCounterSeries, newHistogramSeries } from './series.ts';

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
    const ask = () => this.#ask(spec);
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
  async #ask({ name, collect }: GaugeSpec): Promise<readonly GaugeSample[]> {
    const { promise: timedOut, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('too slow')), this.#gaugeTimeoutMs);
    try {
      return await Promise.race([(async () => collect())(), timedOut]);
    } catch {
      this.#gaugeFailures.inc({ gauge: name });
      return [];
    } finally {
      clearTimeout(timer);
    }
  }
}
