// Whatever happens in whatever order: never over a limit, every admission released once, nobody starves.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AdmissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';
import type { Slot } from './ports.ts';

const organizations = ['a', 'b', 'c'] as const;

type Step =
  | {
      readonly kind: 'admit';
      readonly organization: string;
      readonly waitMs: number;
      readonly server: number;
    }
  | { readonly kind: 'end'; readonly which: number }
  | { readonly kind: 'leave'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'redis'; readonly state: 'up' | 'down' | 'hanging'; readonly server: number };

const step = (withOutages: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('admit' as const),
        organization: fc.constantFrom(...organizations),
        waitMs: fc.constantFrom(0, 0, 300, 5_000, 60_000),
        server: fc.nat(1),
      }),
    },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat() }) },
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

/** Requests as the door makes them; ends check that nothing was lost or counted twice. */
class Door {
  readonly servers: readonly AdmissionWorld[];
  readonly running = new Map<string, { readonly organization: string; readonly server: AdmissionWorld }>();
  readonly waiting = new Map<string, AbortController>();
  /** What was wrong at the moment somebody was let in. */
  readonly excesses: string[] = [];
  #next = 0;
  readonly #isExact: boolean;

  constructor(servers: readonly AdmissionWorld[], isExact = true) {
    this.servers = servers;
    this.#isExact = isExact;
  }

  admit(organization: string, waitMs: number, index: number): void {
    const server = this.servers[index % this.servers.length];
    if (!server) throw new Error('no server');
    const id = `${organization}-${this.#next++}`;
    const caller = new AbortController();
    this.waiting.set(id, caller);
    void this.#enter({ organizationId: organization, executionId: id }, server, waitMs, caller.signal);
  }

  async #enter(slot: Slot, server: AdmissionWorld, waitMs: number, signal: AbortSignal): Promise<void> {
    const { organizationId, executionId } = slot;
    try {
      await server.admit(organizationId, executionId, waitMs, signal);
      this.running.set(executionId, { organization: organizationId, server });
      server.executions.begin(slot, new Date(server.clock.now()));
      this.#check();
    } catch {
      // Refused, or left: nothing is held.
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
    await entry.server.clock.run(entry.server.admission.gate.release(slot));
  }

  leave(which: number): void {
    [...this.waiting.values()][which % Math.max(this.waiting.size, 1)]?.abort();
  }

  #check(): void {
    if (this.running.size > this.#most(globalLimit)) this.excesses.push(`global ${this.running.size}`);
    for (const organization of organizations) {
      const own = [...this.running.values()].filter((each) => each.organization === organization);
      if (own.length > this.#most(defaultLimit)) this.excesses.push(`${organization} ${own.length}`);
    }
  }

  /** Each further server that loses its way to the store may add its share. */
  #most(limit: number): number {
    const { length: count } = this.servers;
    return this.#isExact ? limit : limit + (count - 1) * Math.max(1, Math.floor(limit / count));
  }
}

async function play(door: Door, clock: AdmissionWorld['clock'], steps: readonly Step[]): Promise<void> {
  for (const each of steps) {
    if (each.kind === 'admit') door.admit(each.organization, each.waitMs, each.server);
    else if (each.kind === 'end') await door.end(each.which);
    else if (each.kind === 'leave') door.leave(each.which);
    else if (each.kind === 'pass') await clock.advance(each.ms);
    else {
      const faulty = door.servers[each.server % door.servers.length]?.faulty;
      if (each.state === 'up') faulty?.goUp();
      else if (faulty) faulty.state = each.state;
    }
  }
}

/** Ends everything that runs until nobody waits any more; whoever waits long enough must get in. */
async function drain(door: Door, clock: AdmissionWorld['clock']): Promise<void> {
  for (const { faulty } of door.servers) faulty.goUp();
  for (let round = 0; round < 400 && (door.running.size > 0 || door.waiting.size > 0); round++) {
    await door.end(0);
    await clock.advance(300);
  }
}

async function allIsFree(door: Door): Promise<void> {
  const [first] = door.servers;
  expect(door.excesses).toEqual([]);
  expect(door.waiting.size).toBe(0);
  // What a refused call left behind in a store that hung is freed by then.
  await first?.clock.advance(5_000);
  expect(await first?.slots.holders()).toEqual([]);
  for (const { admission } of door.servers) await admission.close();
  expect(first?.clock.pending).toBe(0);
}

it('is exact with one store for two servers', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(false), { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
      const one = await admissionWorld({ options: { defaultLimit, globalLimit } });
      const two = await admissionWorld({ options: { defaultLimit, globalLimit }, beside: one });
      const door = new Door([one, two]);
      await play(door, one.clock, steps);
      await drain(door, one.clock);
      await allIsFree(door);
    }),
    { numRuns: 150 },
  );
});

it('is exact for one server, whatever its store does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(true), { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
      const world = await admissionWorld({ options: { defaultLimit, globalLimit } });
      const door = new Door([world]);
      await play(door, world.clock, steps);
      await drain(door, world.clock);
      await allIsFree(door);
    }),
    { numRuns: 300 },
  );
});

it('exceeds a limit by one share of it at most when two servers lose their store, together or one by one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(true), { minLength: 10, maxLength: 80, size: 'max' }), async (steps) => {
      const one = await admissionWorld({ options: { defaultLimit, globalLimit } });
      const two = await admissionWorld({ options: { defaultLimit, globalLimit }, beside: one });
      await one.clock.advance(2_500);
      const door = new Door([one, two], false);
      await play(door, one.clock, steps);
      await drain(door, one.clock);
      await allIsFree(door);
    }),
    { numRuns: 300 },
  );
});

it('lets everybody in who waits, in the order of each organization, while slots keep becoming free', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...organizations), { minLength: 1, maxLength: 40 }),
      async (arrivals) => {
        const world = await admissionWorld({ options: { defaultLimit, globalLimit } });
        const entered: string[] = [];
        const visit = async (organizationId: string, executionId: string) => {
          await world.admit(organizationId, executionId, 300_000);
          entered.push(executionId);
          await world.clock.sleep(1_000);
          await world.admission.gate.release({ organizationId, executionId });
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
          expect(order(entered)).toEqual(order(arrivals.map((id, index) => `${id}-${index}`)));
        }
        expect(await world.slots.holders()).toEqual([]);
        await world.admission.close();
      },
    ),
    { numRuns: 60 },
  );
});
