// Admission of several servers on virtual time: requests, crashes, stalls, outages, flushes and limit changes from a seed.
// Every admission and rejection is compared with what is really held.
import type { Random } from '../../../src/core/index.ts';
import { EventBus, kindOf, seededIds, seededRandom } from '../../../src/core/index.ts';
import { admissionEvents } from '../../../src/tenancy/events.ts';
import type { OpenAdmission } from '../../../src/tenancy/admission/open-admission.ts';
import { openAdmission } from '../../../src/tenancy/admission/open-admission.ts';
import type { AdmissionDeps, Slot } from '../../../src/tenancy/admission/types.ts';
import { VirtualClock } from '../core/virtual-clock.ts';
import { FakeExecutions, standardOptions, stateDown } from './admission-world.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import { MemoryServerRegistry } from './memory-server-registry.ts';
import { SimulatedLink, SimulatedProcess, SimulatedRedis } from './simulated-redis.ts';
import { SlotTruth } from './slot-truth.ts';

const organizations = ['a', 'b', 'c'] as const;
const options = { ...standardOptions, defaultLimit: 6, globalLimit: 12, leaseSeconds: 6 };
const leaseMs = options.leaseSeconds * 1_000;

/** Changes what a server gets from its surroundings, as a fault in its code would. */
export type PlantedFault = (deps: AdmissionDeps) => AdmissionDeps;

export interface SimulatedServer {
  readonly id: string;
  readonly process: SimulatedProcess;
  readonly link: SimulatedLink;
  readonly admission: OpenAdmission;
}

/** Returns the guarantees that were broken, each with what happened. */
export async function simulateAdmission(seed: number, fault?: PlantedFault): Promise<readonly string[]> {
  const simulation = new Simulation(seed, fault);
  await simulation.run();
  return simulation.truth.violations;
}

class Simulation {
  readonly truth: SlotTruth;
  readonly #random: Random;
  readonly #clock = new VirtualClock();
  readonly #redis: SimulatedRedis;
  readonly #limits: MemoryLimitStore;
  readonly #registry: MemoryServerRegistry;
  readonly #executions = new FakeExecutions();
  readonly #servers: SimulatedServer[] = [];
  readonly #fault: PlantedFault | undefined;
  #requests = 0;
  #started = 0;

  constructor(seed: number, fault: PlantedFault | undefined) {
    this.#random = seededRandom(seed);
    this.#fault = fault;
    this.#redis = new SimulatedRedis({ ...options, clock: this.#clock });
    this.#limits = new MemoryLimitStore(seededIds(seededRandom(seed), () => this.#clock.now()));
    this.#registry = new MemoryServerRegistry(this.#clock, options.leaseSeconds);
    this.truth = new SlotTruth(this.#clock, { organizations, ...options });
  }

  async run(): Promise<void> {
    const count = 2 + this.#below(2);
    const starts = Array.from({ length: count }, () => this.#startServer());
    await this.#clock.run(Promise.all(starts));
    await this.#traffic(3_000);
    for (let event = 0; event < 4; event++) {
      await this.#disrupt();
      await this.#traffic(500 + this.#below(2_500));
    }
    for (const { link } of this.#servers) this.#heal(link);
    // Leaked slots expire, and every server has noticed the end of an outage.
    await this.#clock.advance(2 * leaseMs);
    await this.#finalBurst();
  }

  /** After everything was released, exactly the limits are used. */
  async #finalBurst(): Promise<void> {
    await this.#clock.advance(10_000);
    const held = await this.#redis.store.holders();
    if (held.length > 0) this.truth.violated('L3', `${held.length} slots have no holder at the end`);
    const admitted = new Map<string, number>(organizations.map((id) => [id, 0]));
    const burst = Array.from({ length: 60 }, async (_, index) => {
      const organizationId = organizations[index % organizations.length] ?? 'a';
      const { signal } = new AbortController();
      const slot = { organizationId, executionId: `final-${index}` };
      await this.#any()
        .admission.controller.acquire({ ...slot, waitMs: 0, signal })
        .then(
          () => admitted.set(organizationId, (admitted.get(organizationId) ?? 0) + 1),
          () => undefined,
        );
    });
    await this.#clock.run(Promise.all(burst));
    const total = [...admitted.values()].reduce((sum, each) => sum + each, 0);
    const limits = organizations.map((id) => this.truth.limitOf(id));
    const expected = Math.min(
      options.globalLimit,
      limits.reduce((sum, each) => sum + each, 0),
    );
    if (total !== expected) this.truth.violated('L3', `a last burst got ${total} slots of ${expected}`);
  }

  async #startServer(): Promise<void> {
    const clock = this.#clock;
    const process = new SimulatedProcess(clock);
    const id = `server-${++this.#started}`;
    const link = new SimulatedLink({
      clock,
      random: this.#random,
      redis: this.#redis,
      process,
      onChange: (isUp) => server?.admission.connectionChanged(isUp),
    });
    const events = new EventBus(admissionEvents);
    events.listen(({ name, payload }) => this.truth.emitted(id, name, payload, link));
    let server: SimulatedServer | undefined;
    const stateStore = <T>(work: () => Promise<T>): Promise<T> =>
      process.receive(clock.sleep(this.#random.next() * 3).then(work));
    const deps: AdmissionDeps = {
      clock: process,
      events,
      ledger: { record: async () => undefined },
      slots: link.store,
      probe: link.probe,
      limits: {
        get: (organizationId) => stateStore(() => this.#limits.get(organizationId)),
        list: () => stateStore(() => this.#limits.list()),
        set: (...change) => stateStore(() => this.#limits.set(...change)),
        delete: (organizationId) => stateStore(() => this.#limits.delete(organizationId)),
      },
      executions: {
        unfinished: () => stateStore(() => this.#executions.unfinished()),
        ended: (ids) => stateStore(() => this.#executions.ended(ids)),
      },
      servers: {
        report: (report) => stateStore(() => this.#whileStateIsUp(() => this.#registry.report(report))),
        list: () => stateStore(() => this.#whileStateIsUp(() => this.#registry.list())),
        remove: (serverId) => stateStore(() => this.#registry.remove(serverId)),
      },
      options,
      serverId: id,
      storeName: 'redis.test:6379/0',
      countsSlots: true,
      endOverdue: async () => undefined,
      checkReady: () => undefined,
    };
    const [first] = this.#servers;
    if (first && first.link.state !== 'up' && this.#servers.every((each) => each.link.state !== 'up'))
      link.break(first.link.state);
    const admission = await openAdmission(this.#fault?.(deps) ?? deps).catch(() => null);
    if (admission === null || process.isDead) return;
    server = { id, process, link, admission };
    this.#servers.push(server);
    this.truth.setServers(this.#servers.length);
  }

  #whileStateIsUp<T>(work: () => Promise<T>): Promise<T> {
    return this.#executions.isDown ? Promise.reject(stateDown()) : work();
  }

  /** Requests in bursts for so long. */
  async #traffic(ms: number): Promise<void> {
    for (let elapsed = 0; elapsed < ms;) {
      const burst = 1 + this.#below(9);
      for (let request = 0; request < burst; request++) void this.#request(this.#any());
      const pause = 100 + this.#below(400);
      await this.#clock.advance(pause);
      elapsed += pause;
    }
  }

  /** As the tenant API: acquires, receives the body, gives up or commits the execution, which some server runs. */
  async #request(server: SimulatedServer): Promise<void> {
    const organizationId = organizations[this.#below(organizations.length)] ?? 'a';
    const slot: Slot = { organizationId, executionId: `${organizationId}-${this.#requests++}` };
    const waitMs = [0, 0, 0, 400, 2_000][this.#below(5)] ?? 0;
    const startedAt = this.#clock.monotonic();
    const { controller } = server.admission;
    try {
      await controller.acquire({ ...slot, waitMs, signal: new AbortController().signal });
    } catch (error) {
      return this.truth.rejected(slot, { code: kindOf(error), startedAt, waitMs });
    }
    this.truth.admitted(slot, server.id, startedAt);
    await server.process.sleep(this.#random.next() * 1_200);
    if (this.#executions.isDown || this.#random.next() < 0.25) {
      this.truth.ended(slot);
      return controller.release(slot);
    }
    this.#executions.begin(slot, new Date(this.#clock.now()));
    this.truth.accepted(slot);
    controller.detach(slot);
    const runner = this.#any();
    runner.admission.controller.attach(slot);
    await this.#clock.sleep(this.#random.next() * 1_500);
    this.#executions.end(slot.executionId);
    this.truth.ended(slot);
    // The execution of a server that crashed is run and ended by another one.
    const { admission } = runner.process.isDead ? this.#any() : runner;
    void admission.controller.release(slot);
    for (const each of this.#servers)
      each.process.deliver(() => each.admission.controller.executionEnded(slot.executionId));
  }

  async #disrupt(): Promise<void> {
    const kinds = [
      'flush',
      'outage',
      'outage',
      'partial',
      'stall',
      'slow',
      'crash',
      'limit',
      'state',
    ] as const;
    const kind = kinds[this.#below(kinds.length)] ?? 'flush';
    const lasts = 300 + this.#below(4_500);
    const server = this.#any();
    if (kind !== 'limit') this.truth.disrupted();
    if (kind === 'flush') this.#redis.flush();
    else if (kind === 'outage') await this.#outage([...this.#servers], lasts, true);
    else if (kind === 'partial') await this.#outage([server], lasts, false);
    else if (kind === 'stall') {
      // Less than what is left of a lease when it is renewed.
      server.process.stall(Math.min(lasts, leaseMs / 2));
      await this.#traffic(leaseMs / 2);
    } else if (kind === 'slow') {
      for (const { link } of this.#servers) link.slowMs = 700;
      await this.#traffic(lasts);
      for (const { link } of this.#servers) link.slowMs = 0;
    } else if (kind === 'crash') await this.#crash(server);
    else if (kind === 'limit') this.#changeLimit(server);
    else {
      this.#executions.isDown = true;
      await this.#traffic(Math.min(lasts, 2_000));
      this.#executions.isDown = false;
    }
  }

  async #outage(affected: readonly SimulatedServer[], ms: number, isFull: boolean): Promise<void> {
    const state = this.#random.next() < 0.5 ? 'refused' : 'hanging';
    const wereUp = this.#servers.every(({ admission }) => admission.health().state === 'up');
    this.truth.isFullOutage = isFull && wereUp;
    for (const { link } of affected) link.break(state);
    await this.#traffic(ms / 2);
    if (this.#random.next() < 0.2) await this.#crash(this.#any());
    await this.#traffic(ms / 2);
    if (isFull && state === 'refused' && this.#random.next() < 0.5) this.#redis.flush();
    this.truth.isFullOutage = false;
    for (const { link } of this.#servers) this.#heal(link);
    this.truth.disrupted();
  }

  #heal(link: SimulatedLink): void {
    if (link.state !== 'up') link.restore();
  }

  /** The connections of its requests break with it; another server takes its place later. */
  async #crash(server: SimulatedServer): Promise<void> {
    if (this.#servers.length < 2) return;
    this.truth.disrupted();
    server.process.isDead = true;
    this.#servers.splice(this.#servers.indexOf(server), 1);
    this.truth.crashed(server.id);
    if (this.#random.next() < 0.7) void this.#startServer();
    await this.#clock.advance(this.#below(1_000));
  }

  #changeLimit(server: SimulatedServer): void {
    const organizationId = organizations[this.#below(organizations.length)] ?? 'a';
    const limit = 1 + this.#below(8);
    const isUndisturbed = this.truth.isUndisturbed;
    const applied = this.truth.limitChanges(organizationId, limit);
    void server.admission.limits.set(organizationId, limit).then(
      // A cache that cannot be invalidated is corrected within a third of a lease after the outage.
      () => this.#clock.after(isUndisturbed ? 0 : 2 * leaseMs, applied),
      applied,
    );
  }

  #any(): SimulatedServer {
    const server = this.#servers[this.#below(this.#servers.length)];
    if (!server) throw new Error('No server is alive.');
    return server;
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }
}
