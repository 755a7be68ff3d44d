// Which queries an event of the live stream makes stale.
import type { StreamedEvent } from '../../../src/api/server.ts';

type Table = Readonly<Record<string, readonly string[]>>;

/** By prefix of the event's name: first elements of the query keys to refetch. */
const byEvent: Table = {
  alert: ['alerts', 'flow', 'models'],
  extraction: ['extraction', 'flow'],
  gateway: ['models', 'flow'],
  admission: ['organizations', 'flow', 'alerts'],
  deployments: ['organizations', 'flow'],
  ledger: ['ledger', 'alerts', 'flow'],
  job: ['jobs', 'knowledge', 'flow'],
  dependency: ['flow', 'alerts'],
};

/** By resource of an API operation that changed something, in this browser or elsewhere. */
const byOperation: Table = {
  artifacts: ['knowledge'],
  deployments: ['organizations', 'flow'],
  entities: ['knowledge'],
  executions: ['organizations', 'flow'],
  folders: ['knowledge'],
  graph: ['knowledge'],
  jobs: ['jobs', 'knowledge', 'flow'],
  ledger: ['ledger', 'jobs', 'alerts', 'flow'],
  limits: ['organizations', 'flow'],
  models: ['models', 'flow'],
  // Each organization has its own spaces.
  organizations: ['organizations', 'knowledge', 'flow'],
  runs: ['extraction', 'flow'],
  sources: ['extraction', 'flow'],
  spaces: ['knowledge'],
};

export function staleBy({ name, payload }: Pick<StreamedEvent, 'name' | 'payload'>): readonly string[] {
  if (name !== 'http:changed') return byEvent[name.split(':', 1)[0] ?? ''] ?? [];
  const { operation } = payload;
  return typeof operation === 'string' ? (byOperation[operation.split('.', 1)[0] ?? ''] ?? []) : [];
}
