// What every process tells a scrape of itself: what it is, who needs it, and whether its stores answer.
import { version } from '../config/version.ts';
import type { Readiness } from '../operations/readiness.ts';
import type { Metrics } from '../platform/metrics/index.ts';
import type { Presence } from './presence.ts';
import type { ServerRole } from './server-role.ts';

export interface HouseGaugeParts {
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly role: ServerRole;
  readonly presence: Pick<Presence, 'attached'>;
  readonly readiness: Pick<Readiness, 'report'>;
}

/** Shorter than a gauge may take: a store that hangs is told as 0, not left out. */
const pingTimeoutMs = 1_000;

export function registerHouseGauges({ metrics, role, presence, readiness }: HouseGaugeParts): void {
  metrics.gauge({
    name: 'headworks_process_info',
    help: 'Always 1: what this process is (serve, worker, demo; command: a command that became a server).',
    labels: ['role', 'version'],
    collect: () => [{ labels: { role, version }, value: 1 }],
  });
  metrics.gauge({
    name: 'headworks_clients_attached',
    help: 'Commands, MCP clients and dashboards that need this server now.',
    labels: [],
    collect: () => [{ labels: {}, value: presence.attached }],
  });
  metrics.gauge({
    name: 'headworks_dependency_up',
    help: 'Whether a store that is configured answers now.',
    labels: ['dependency'],
    collect: async () =>
      (await readiness.report(pingTimeoutMs)).dependencies
        .filter(({ state }) => state !== 'not-configured')
        .map(({ name, state }) => ({ labels: { dependency: name }, value: state === 'up' ? 1 : 0 })),
  });
}
