import { describe, expect, it, onTestFinished } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { EventBus } from '../../core/index.ts';
import type { Database } from '../postgres/ports.ts';
import { jobEventSpecs, StoreHealth } from './events.ts';
import { JobMaintenance } from './maintenance.ts';
import type { JobStatements } from './statements.ts';
import type { JobWorker } from './worker.ts';

const timing = { pollMs: 1_000, heartbeatMs: 10_000, lostAfterMs: 30_000 };

/** Maintenance on a store that records which statements run, and can be unavailable. */
function maintenanceOn({ isShared }: { readonly isShared: boolean }) {
  const clock = new VirtualClock();
  const events = new EventBus(jobEventSpecs);
  const store = { isAvailable: true, statements: [] as string[] };
  const query = async (statement: unknown) => {
    if (!store.isAvailable) throw new Error('unavailable');
    store.statements.push(statement as string);
    return { rows: [], affected: 0 };
  };
  const worker = { freeSlots: 1, running: new Map(), wake: () => undefined };
  const maintenance = new JobMaintenance({
    database: { capabilities: { isShared }, query } as unknown as Database,
    statements: { reap: () => 'reap', due: () => 'due' } as unknown as JobStatements,
    clock,
    events,
    health: new StoreHealth(clock, events),
    workers: new Map([['test.kind', worker as unknown as JobWorker]]),
    timing,
  });
  maintenance.start();
  onTestFinished(() => maintenance.stop());
  return { clock, store, maintenance };
}

describe('JobMaintenance', () => {
  it('lets nothing be claimed on an embedded store until jobs of the dead process are queued again', async () => {
    const { clock, store, maintenance } = maintenanceOn({ isShared: false });
    store.isAvailable = false;
    await clock.advance(3_000);
    expect(maintenance.hasRecovered).toBe(false);
    store.isAvailable = true;
    await clock.advance(1_000);
    expect(maintenance.hasRecovered).toBe(true);
    expect(store.statements).toEqual(['reap', 'due']);
  });

  it('reaps nothing right after an outage: every process first gets the time to send a heartbeat', async () => {
    const { clock, store } = maintenanceOn({ isShared: true });
    await clock.advance(12_000);
    expect(store.statements).toContain('reap');
    store.isAvailable = false;
    await clock.advance(60_000);
    store.isAvailable = true;
    store.statements = [];
    await clock.advance(timing.lostAfterMs - 2_000);
    expect(store.statements).toContain('due');
    expect(store.statements).not.toContain('reap');
    await clock.advance(2 * timing.heartbeatMs);
    expect(store.statements).toContain('reap');
  });
});
