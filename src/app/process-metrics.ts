// Metrics of every process: its role and version, attached clients, and the state of its stores.
import { version } from '../config/version.ts';
import type { Readiness } from '../operations/readiness.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import type { Presence } from './client/presence.ts';
import type { ServerRole } from './client/server-file.ts';

export interface ProcessMetricsDeps {
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly role: ServerRole;
  readonly presence: Pick<Presence, 'attached'>;
  readonly readiness: Pick<Readiness, 'report'>;
}

/** Shorter than the limit of a gauge: a store that hangs is reported as 0, not left out. */
const pingTimeoutMs = 1_000;

export function registerProcessMetrics({ metrics, role, presence, readiness }: ProcessMetricsDeps): void {
  metrics.gauge({
    name: 'headworks_process_info',
    help: 'Always 1. Role of this process (serve, worker, demo; command: a command that became the server) and its version.',
    labels: ['role', 'version'],
    collect: () => [{ labels: { role, version }, value: 1 }],
  });
  metrics.gauge({
    name: 'headworks_clients_attached',
    help: 'Commands, MCP clients and dashboards attached to this server.',
    labels: [],
    collect: () => [{ labels: {}, value: presence.attached }],
  });
  metrics.gauge({
    name: 'headworks_dependency_up',
    help: 'Whether a configured store responds: 1 or 0.',
    labels: ['dependency'],
    collect: async () =>
      (await readiness.report(pingTimeoutMs)).dependencies
        .filter(({ state }) => state !== 'not-configured')
        .map(({ name, state }) => ({ labels: { dependency: name }, value: state === 'up' ? 1 : 0 })),
  });
}
