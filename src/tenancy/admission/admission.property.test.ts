// Random sequences: never above a limit, every acquisition released once, no request starves.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import type { Slot } from './types.ts';

const organizations = ['a', 'b', 'c'] as const;

type Step =
  | {
      readonly kind: 'acquire';
      readonly organization: string;
      readonly waitMs: number;
      readonly server: number;
    }
  | { readonly kind: 'end'; readonly which: number }
  | { readonly kind: 'cancelWaiting'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'redis'; readonly state: 'up' | 'down' | 'hanging'; readonly server: number };

const step = (withOutages: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('acquire' as const),
        organization: fc.constantFrom(...organizations),
        waitMs: fc.constantFrom(0, 0, 300, 5_000, 60_000),
        server: fc.nat(1),
      }),
    },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancelWaiting' as const), which: fc.nat() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.constantFrom(0, 1, 100, 1_000, 25_000),
      }),
    },
    ...(withOutages
      ? [
          {
            weight: 1,
            arbitrary: fc.record({
              kind: fc.constant('redis' as const),
              state: fc.constantFrom('up' as const, 'down' as const, 'hanging' as const),
              server: fc.nat(1),
            }),
          },
        ]
      : []),
  );

const defaultLimit = 2;
const globalLimit = 4;

/** Requests as the tenant API makes them, with a check of both limits at every admission. */
class Requests {
  readonly servers: readonly AdmissionWorld[];
  readonly running = new Map<string, { readonly organization: string; readonly server: AdmissionWorld }>();
  readonly waiting = new Map<string, AbortController>();
  /** Limits that were exceeded at an admission. */
  readonly excesses: string[] = [];
  #next = 0;
  readonly #maxExcessShares: number;

  constructor(servers: readonly AdmissionWorld[], maxExcessShares = 0) {
    this.servers = servers;
    this.#maxExcessShares = maxExcessShares;
  }

  acquire(organization: string, waitMs: number, index: number): void {
    const server = this.servers[index % this.servers.length];
    if (!server) throw new Error('no server');
    const id = `${organization}-${this.#next++}`;
    const caller = new AbortController();
    this.waiting.set(id, caller);
    void this.#request({ organizationId: organization, executionId: id }, server, waitMs, caller.signal);
  }

  async #request(slot: Slot, server: AdmissionWorld, waitMs: number, signal: AbortSignal): Promise<void> {
    const { organizationId, executionId } = slot;
    try {
      await server.acquire(organizationId, executionId, waitMs, signal);
      this.running.set(executionId, { organization: organizationId, server });
      server.executions.begin(slot, new Date(server.clock.now()));
      this.#check();
    } catch {
      // Rejected or canceled: nothing is held.
    } finally {
      this.waiting.delete(executionId);
    }
  }

  async end(which: number): Promise<void> {
    const [id, entry] = [...this.running][which % Math.max(this.running.size, 1)] ?? [];
    if (id === undefined || !entry) return;
    this.running.delete(id);
    const slot = { organizationId: entry.organization, executionId: id };
    entry.server.executions.end(id);
    await entry.server.clock.run(entry.server.admission.controller.release(slot));
  }

  cancelWaiting(which: number): void {
    [...this.waiting.values()][which % Math.max(this.waiting.size, 1)]?.abort();
  }

  #check(): void {
    if (this.running.size > this.#max(globalLimit)) this.excesses.push(`global ${this.running.size}`);
    for (const organization of organizations) {
      const own = [...this.running.values()].filter((each) => each.organization === organization);
      if (own.length > this.#max(defaultLimit)) this.excesses.push(`${organization} ${own.length}`);
    }
  }

  /** A server that alone loses the store may add its share. */
  #max(limit: number): number {
    return limit + this.#maxExcessShares * Math.floor(limit / this.servers.length);
  }
}

async function play(
  requests: Requests,
  clock: AdmissionWorld['clock'],
  steps: readonly Step[],
  together = false,
): Promise<void> {
  for (const each of steps) {
    if (each.kind === 'acquire') requests.acquire(each.organization, each.waitMs, each.server);
    else if (each.kind === 'end') await requests.end(each.which);
    else if (each.kind === 'cancelWaiting') requests.cancelWaiting(each.which);
    else if (each.kind === 'pass') await clock.advance(each.ms);
    else {
      const { servers } = requests;
      // Requests that Redis admitted after the last heartbeat are known to their own server only.
      if (together) await clock.advance(2_100);
      const affected = together ? servers : [servers[each.server % servers.length]];
      for (const server of affected)
        if (each.state === 'up') server?.faulty.goUp();
        else if (server) server.faulty.state = each.state;
      // Until all servers have detected the end of the outage, the others admit up to their shares in addition.
      if (together && each.state === 'up') await clock.advance(2_500);
    }
  }
}

/** Ends executions until no request is queued: each must be admitted in time. */
async function drain(requests: Requests, clock: AdmissionWorld['clock']): Promise<void> {
  // As between steps: servers that detect the end of an outage later admit up to their shares in addition.
  await clock.advance(2_100);
  for (const { faulty } of requests.servers) faulty.goUp();
  await clock.advance(2_500);
  for (let round = 0; round < 400 && (requests.running.size > 0 || requests.waiting.size > 0); round++) {
    await requests.end(0);
    await clock.advance(300);
  }
}

async function expectAllReleased(requests: Requests): Promise<void> {
  const [first] = requests.servers;
  expect(requests.excesses).toEqual([]);
  expect(requests.waiting.size).toBe(0);
  // Slots of calls whose requests gave up are released by then.
  await first?.clock.advance(5_000);
  expect(await first?.slots.holders()).toEqual([]);
  for (const { admission } of requests.servers) await admission.close();
  expect(first?.clock.pending).toBe(0);
}

it('never exceeds a limit with two servers on one store', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(false), { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
      const one = await admissionWorld({ options: { defaultLimit, globalLimit } });
      const two = await admissionWorld({ options: { defaultLimit, globalLimit }, beside: one });
      const requests = new Requests([one, two]);
      await play(requests, one.clock, steps);
      await drain(requests, one.clock);
      await expectAllReleased(requests);
    }),
    { numRuns: 150 },
  );
});

it('never exceeds a limit with one server, whatever its store does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(true), { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
      const world = await admissionWorld({ options: { defaultLimit, globalLimit } });
      const requests = new Requests([world]);
      await play(requests, world.clock, steps);
      await drain(requests, world.clock);
      await expectAllReleased(requests);
    }),
    { numRuns: 300 },
  );
});

it('never exceeds a limit with two servers that lose their store together', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(true), { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
      const one = await admissionWorld({ options: { defaultLimit, globalLimit } });
      const two = await admissionWorld({ options: { defaultLimit, globalLimit }, beside: one });
      await one.clock.advance(2_500);
      const requests = new Requests([one, two]);
      await play(requests, one.clock, steps, true);
      await drain(requests, one.clock);
      await expectAllReleased(requests);
    }),
    { numRuns: 300 },
  );
});

it('exceeds a limit by at most one share when two servers lose their store one by one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(true), { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
      const one = await admissionWorld({ options: { defaultLimit, globalLimit } });
      const two = await admissionWorld({ options: { defaultLimit, globalLimit }, beside: one });
      await one.clock.advance(2_500);
      const requests = new Requests([one, two], 1);
      await play(requests, one.clock, steps);
      await drain(requests, one.clock);
      await expectAllReleased(requests);
    }),
    { numRuns: 300 },
  );
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
