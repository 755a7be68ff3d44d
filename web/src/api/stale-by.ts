// Which data an event of the live stream makes stale.
import type { StreamedEventData } from '../../../src/http/contract.ts';

type Table = Readonly<Record<string, readonly string[]>>;

/** The first word of an event's name, and the first words of the query keys whose data it changes. */
const byEvent: Table = {
  extraction: ['extraction', 'flow'],
  gateway: ['models', 'flow'],
  admission: ['tenants', 'flow', 'alerts'],
  deployments: ['tenants', 'flow'],
  ledger: ['ledger', 'alerts', 'flow'],
  job: ['jobs', 'knowledge', 'flow'],
  dependency: ['flow', 'alerts'],
};

/** The same of whatever somebody did over the API, here or elsewhere: the first word of the operation. */
const byOperation: Table = {
  artifacts: ['knowledge'],
  deployments: ['tenants', 'flow'],
  entities: ['knowledge'],
  executions: ['tenants', 'flow'],
  extraction: ['extraction', 'flow'],
  folders: ['knowledge'],
  graph: ['knowledge'],
  jobs: ['jobs', 'knowledge', 'flow'],
  ledger: ['ledger', 'jobs', 'alerts', 'flow'],
  limits: ['tenants', 'flow'],
  models: ['models', 'flow'],
  // Each has spaces of its own.
  organizations: ['tenants', 'knowledge', 'flow'],
  spaces: ['knowledge'],
};

export function staleBy({ name, payload }: Pick<StreamedEventData, 'name' | 'payload'>): readonly string[] {
  if (name !== 'http:changed') return byEvent[name.split(':', 1)[0] ?? ''] ?? [];
  const { operation } = payload;
  return typeof operation === 'string' ? (byOperation[operation.split('.', 1)[0] ?? ''] ?? []) : [];
}
