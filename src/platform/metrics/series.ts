// Counters and histograms in plain numbers, written out when somebody asks: prom-client hashes the labels of every
// single increment, which made metrics cost 7 µs of a request through the gateway; so they cost 1 µs.
import type { LabelGuard, Labels } from './label-guard.ts';

/** A counter or histogram: takes a number for these label values, and writes all it has. */
export interface CountedMetric {
  readonly observe: (amount: number, labelValues: readonly string[]) => void;
  readonly lines: () => readonly string[];
}

export interface CounterSeries {
  readonly labels: string;
  total: number;
}

export interface HistogramSeries {
  readonly labels: string;
  /** Per bucket, not summed up; the last is everything above. */
  readonly counts: number[];
  sum: number;
}

export const newCounterSeries = (labels: Labels): CounterSeries => ({ labels: written(labels), total: 0 });

export const newHistogramSeries = (labels: Labels, buckets: readonly number[]): HistogramSeries => ({
  labels: written(labels),
  counts: Array.from({ length: buckets.length + 1 }, () => 0),
  sum: 0,
});

export function createCounter(name: string, guard: LabelGuard<CounterSeries>): CountedMetric {
  return {
    observe: (amount, values) => (guard.of(values).total += amount),
    lines: () => guard.all().map(({ labels, total }) => line(name, labels, total)),
  };
}

/** `buckets` ascend. */
export function createHistogram(
  name: string,
  guard: LabelGuard<HistogramSeries>,
  buckets: readonly number[],
): CountedMetric {
  return {
    observe: (amount, values) => {
      const series = guard.of(values);
      let bucket = 0;
      while (bucket < buckets.length && amount > (buckets[bucket] ?? 0)) bucket++;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.sum += amount;
    },
    lines: () => guard.all().flatMap((series) => histogramLines(name, series, buckets)),
  };
}

function histogramLines(
  name: string,
  { labels, counts, sum }: HistogramSeries,
  buckets: readonly number[],
): readonly string[] {
  let count = 0;
  const rows = counts.map((own, index) => {
    count += own;
    const le = `le="${buckets[index] ?? '+Inf'}"`;
    return line(`${name}_bucket`, labels === '' ? le : `${le},${labels}`, count);
  });
  return [...rows, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)];
}

const line = (name: string, labels: string, value: number): string =>
  labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`;

function written(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
