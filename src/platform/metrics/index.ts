// Metrics: counters and histograms from events, gauges by asking, all as Prometheus text.
export { createMetrics } from './create-metrics.ts';
export type {
  GaugeSample,
  GaugeSpec,
  Metrics,
  MetricSpec,
  MetricsOptions,
  Observe,
} from './create-metrics.ts';
export { countEvents } from './metrics-events.ts';
