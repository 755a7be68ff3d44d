// Turns events into metrics: the counters and histograms that their specs declare.
import type { EmittedEvent, EventCounter, EventListener, EventSpecs } from '../../core/index.ts';
import type { Metrics } from './create-metrics.ts';

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
