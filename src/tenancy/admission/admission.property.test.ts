// Admission of several servers over many seeds, and the faults that this must find; no request starves.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlantedFault } from '../../../test/support/tenancy/admission-simulation.ts';
import { simulateAdmission } from '../../../test/support/tenancy/admission-simulation.ts';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import type { AdmissionDeps, SlotStore } from './types.ts';

const organizations = ['a', 'b', 'c'] as const;
const defaultLimit = 2;
const globalLimit = 4;

const withSlots = (deps: AdmissionDeps, changed: Partial<SlotStore>): AdmissionDeps => ({
  ...deps,
  slots: new Proxy(deps.slots, {
    get: (slots, name: keyof SlotStore) => changed[name] ?? slots[name],
  }),
});

const withServers = (deps: AdmissionDeps, change: Partial<AdmissionDeps['servers']>): AdmissionDeps =>
  deps.servers ? { ...deps, servers: { ...deps.servers, ...change } } : deps;

const plantedFaults: Readonly<Record<string, PlantedFault>> = {
  'release under the wrong key': (deps) =>
    withSlots(deps, { release: (slot) => deps.slots.release({ ...slot, organizationId: 'other' }) }),
  'no release': (deps) => withSlots(deps, { release: async () => true }),
  'shares not counted': (deps) =>
    withServers(
      withSlots(deps, { heartbeat: async (id) => ((await deps.slots.heartbeat(id)) === null ? null : 1) }),
      {
        list: async () =>
          ((await deps.servers?.list()) ?? []).filter((each) => each.serverId === deps.serverId),
      },
    ),
  'slow taken for unavailable': (deps) => ({
    ...deps,
    probe: {
      ping: () => {
        const late = deps.clock
          .sleep(40)
          .then(() => ({ kind: 'refused' as const, error: new Error('slow') }));
        return Promise.race([deps.probe?.ping() ?? late, late]);
      },
    },
  }),
  'servers not awaited after a flush': (deps) =>
    withSlots(deps, {
      restore: (slots, peers) => deps.slots.restore(slots, peers && { ...peers, awaited: [] }),
    }),
  'requests being received not reported': (deps) =>
    withServers(deps, { report: async (report) => deps.servers?.report({ ...report, slots: [] }) }),
};

describe('several servers with crashes, stalls, outages, flushes and limit changes', () => {
  it('keep to the limits and use them, for 200 seeds (L3, L4, L5)', async () => {
    for (let seed = 1; seed <= 200; seed++) {
      const violations = await simulateAdmission(seed);
      expect(violations, `seed ${seed}`).toEqual([]);
    }
  });

  it.each(Object.entries(plantedFaults))('fail the check with the injected fault: %s', async (_, fault) => {
    let violations: readonly string[] = [];
    for (let seed = 1; seed <= 200 && violations.length === 0; seed++)
      violations = await simulateAdmission(seed, fault);
    expect(violations[0]).toMatch(/^L[345] /);
  });
});

it('admits every queued request, in the order of each organization, while slots are released', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...organizations), { minLength: 1, maxLength: 40 }),
      async (arrivals) => {
        const world = await admissionWorld({ options: { defaultLimit, globalLimit } });
        const admitted: string[] = [];
        const visit = async (organizationId: string, executionId: string) => {
          await world.acquire(organizationId, executionId, 300_000);
          admitted.push(executionId);
          await world.clock.sleep(1_000);
          await world.admission.controller.release({ organizationId, executionId });
        };
        const visits: Promise<void>[] = [];
        for (const [index, organization] of arrivals.entries()) {
          visits.push(visit(organization, `${organization}-${index}`));
          await world.clock.advance(10);
        }
        await world.clock.advance(arrivals.length * 1_100);
        await Promise.all(visits);
        for (const organization of organizations) {
          const order = (ids: readonly string[]) => ids.filter((id) => id.startsWith(organization));
          expect(order(admitted)).toEqual(order(arrivals.map((id, index) => `${id}-${index}`)));
        }
        expect(await world.slots.holders()).toEqual([]);
        await world.admission.close();
      },
    ),
    { numRuns: 60 },
  );
});
