import { expect, it } from 'vitest';
import { Redactor } from '../core/index.ts';
import { Readiness } from '../operations/readiness.ts';
import { Metrics } from '../platform/telemetry/metrics.ts';
import { Presence } from './client/local-server.ts';
import { registerProcessMetrics } from './telemetry.ts';
import type { Stores } from './compose.ts';

it('reports the role of the process and the state of each store, also of one that hangs', async () => {
  const metrics = new Metrics({ redactor: new Redactor(), processMetrics: false });
  const absent = { available: false, reason: 'not there.', remedy: 'None.' };
  const stores = {
    database: {
      capabilities: { version: '15', kind: 'server', vector: absent, trigram: absent },
      ping: () => Promise.resolve(),
      shortage: null,
    },
    redis: { address: '127.0.0.1', ping: () => new Promise(() => undefined) },
  } as unknown as Stores;
  registerProcessMetrics({
    metrics,
    role: 'worker',
    presence: new Presence(),
    readiness: new Readiness({ ...stores, alerts: () => [] }),
  });
  const text = await metrics.text();
  expect(text).toMatch(/^headworks_process_info\{role="worker",version="[\d.]+"\} 1$/m);
  expect(text).toMatch(/^headworks_dependency_up\{dependency="state store"\} 1$/m);
  expect(text).toMatch(/^headworks_dependency_up\{dependency="redis"\} 0$/m);
  expect(text).toMatch(/^headworks_clients_attached 0$/m);
});
