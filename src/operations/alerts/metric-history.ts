// Recent values of the metrics that alert rules read, in memory. A series takes one entry per change, not one per sample.

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Point {
  readonly at: number;
  /** Null: the series was absent from then on. */
  readonly value: number | null;
}

interface Series {
  readonly labels: Sample['labels'];
  /** Oldest first. */
  readonly points: Point[];
}

export class MetricHistory {
  readonly #retentionMs: ReadonlyMap<string, number>;
  readonly #metrics = new Map<string, Map<string, Series>>();
  #now = 0;

  /** `retentionMs`: the metrics, and how far back each is read. */
  constructor(retentionMs: ReadonlyMap<string, number>) {
    this.#retentionMs = retentionMs;
  }

  /** All samples that the metric has now. `now` must not decrease. */
  add(metric: string, samples: readonly Sample[], now: number): void {
    this.#now = now;
    const known = this.#metrics.get(metric) ?? new Map<string, Series>();
    this.#metrics.set(metric, known);
    const absent = new Set(known.keys());
    for (const { labels, value } of samples) {
      const key = JSON.stringify(labels);
      absent.delete(key);
      const series = known.get(key) ?? { labels, points: [] };
      known.set(key, series);
      append(series, now, value);
    }
    for (const key of absent) append(known.get(key) as Series, now, null);
    const start = now - (this.#retentionMs.get(metric) ?? 0);
    for (const [key, { points }] of known) {
      // The last point before the window is the value at its start.
      while (points.length > 1 && (points[1]?.at ?? now) <= start) points.shift();
      if (points.length === 1 && points[0]?.value === null) known.delete(key);
    }
  }

  at(metric: string, agoMs: number): readonly Sample[] {
    const at = this.#now - agoMs;
    return this.#read(metric, ({ points }) => valueAt(points, at));
  }

  /** Counters start at 0 with the process, and so does a series that appears later. */
  increase(metric: string, windowMs: number): readonly Sample[] {
    const start = this.#now - windowMs;
    return this.#read(metric, ({ points }) => {
      const last = points.at(-1)?.value ?? null;
      return last === null ? null : last - (valueAt(points, start) ?? 0);
    });
  }

  min(metric: string, windowMs: number): readonly Sample[] {
    const start = this.#now - windowMs;
    return this.#read(metric, ({ points }) => {
      const values = [
        valueAt(points, start),
        ...points.filter(({ at }) => at > start).map(({ value }) => value),
      ];
      const present = values.filter((value) => value !== null);
      return present.length === 0 ? null : Math.min(...present);
    });
  }

  #read(metric: string, valueOf: (series: Series) => number | null): readonly Sample[] {
    return [...(this.#metrics.get(metric)?.values() ?? [])].flatMap((series) => {
      const value = valueOf(series);
      return value === null ? [] : [{ labels: series.labels, value }];
    });
  }
}

function append({ points }: Series, at: number, value: number | null): void {
  if (points.length === 0 || points.at(-1)?.value !== value) points.push({ at, value });
}

const valueAt = (points: readonly Point[], at: number): number | null =>
  points.findLast((point) => point.at <= at)?.value ?? null;
