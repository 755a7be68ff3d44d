// Admission on virtual time, on stores with faults.
import type { Clock, EmittedEvent } from '../../../src/core/index.ts';
import { CoreError, EventBus, seededIds, seededRandom } from '../../../src/core/index.ts';
import { VirtualClock } from '../core/virtual-clock.ts';
import type { Degradation } from '../../../src/ledger/index.ts';
import { admissionEvents } from '../../../src/tenancy/events.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import { MemoryServerRegistry } from './memory-server-registry.ts';
import { openAdmission } from '../../../src/tenancy/admission/open-admission.ts';
import type { OpenAdmission } from '../../../src/tenancy/admission/open-admission.ts';
import { admissionOptions } from '../../../src/tenancy/options.ts';
import type { AdmissionOptions } from '../../../src/tenancy/options.ts';
import type {
  ExecutionIndex,
  ProbeResult,
  Slot,
  SlotStore,
  StoreProbe,
} from '../../../src/tenancy/admission/types.ts';
import { MemorySlotStore } from '../../../src/tenancy/admission/memory-slot-store.ts';

export const standardOptions = Object.fromEntries(
  Object.entries(admissionOptions.fields).map(([name, field]) => [name, field.default]),
) as AdmissionOptions;

/** Executions in memory. */
export class FakeExecutions implements ExecutionIndex {
  readonly running = new Map<string, Slot & { readonly acceptedAt: Date }>();
  readonly over = new Set<string>();
  isDown = false;

  unfinished(): Promise<readonly (Slot & { readonly acceptedAt: Date })[]> {
    return this.isDown ? Promise.reject(stateDown()) : Promise.resolve([...this.running.values()]);
  }

  ended(executionIds: readonly string[]): Promise<readonly string[]> {
    return this.isDown
      ? Promise.reject(stateDown())
      : Promise.resolve(executionIds.filter((id) => this.over.has(id)));
  }

  begin(slot: Slot, at: Date): void {
    this.running.set(slot.executionId, { ...slot, acceptedAt: at });
  }

  end(executionId: string): void {
    this.running.delete(executionId);
    this.over.add(executionId);
  }
}

/** `slow`: replies take `latencyMs`. */
export type StoreState = 'up' | 'down' | 'hanging' | 'slow';

/** A slot store with faults. A call that hangs is executed when the store is up again. */
export class FaultySlotStore {
  state: StoreState = 'up';
  /** The state of the health connection; as the store when undefined. */
  probeState: StoreState | undefined;
  latencyMs = 0;
  calls = 0;
  pings = 0;
  readonly store: SlotStore;
  readonly probe: StoreProbe = { ping: () => this.#ping() };
  readonly #clock: Clock;
  #inner: SlotStore;
  readonly #held: (() => void)[] = [];

  constructor(clock: Clock, given: SlotStore) {
    this.#clock = clock;
    this.#inner = given;
    this.store = new Proxy(given, {
      get:
        (_, name: keyof SlotStore) =>
        (...args: unknown[]) => {
          this.calls++;
          return this.#after(this.state, () =>
            (this.#inner[name] as (...all: unknown[]) => Promise<unknown>).apply(this.#inner, args),
          );
        },
    });
  }

  /** As if it had been flushed. */
  replace(inner: SlotStore): void {
    this.#inner = inner;
  }

  goUp(): void {
    this.state = 'up';
    this.probeState = undefined;
    for (const run of this.#held.splice(0)) run();
  }

  async #ping(): Promise<ProbeResult> {
    this.pings++;
    const state = this.probeState ?? this.state;
    if (state === 'down') return { kind: 'refused', error: redisDown() };
    return this.#after(state, async () => ({ kind: 'pong' }));
  }

  async #after<T>(state: StoreState, run: () => Promise<T>): Promise<T> {
    if (state === 'down') throw redisDown();
    if (state === 'slow') {
      // Executed at once; only the reply is late.
      const reply = run();
      await this.#clock.sleep(this.latencyMs);
      return reply;
    }
    if (state === 'hanging') await new Promise<void>((resolve) => this.#held.push(resolve));
    return run();
  }
}

export interface AdmissionWorld {
  readonly clock: VirtualClock;
  readonly slots: MemorySlotStore;
  readonly faulty: FaultySlotStore;
  readonly limits: MemoryLimitStore;
  readonly executions: FakeExecutions;
  readonly servers: MemoryServerRegistry;
  readonly admission: OpenAdmission;
  readonly events: EventBus<typeof admissionEvents>;
  readonly emitted: EmittedEvent[];
  readonly recorded: Degradation[];
  readonly overdue: Slot[];
  readonly stall: { ms: number };
  acquire(organizationId: string, executionId: string, waitMs?: number, signal?: AbortSignal): Promise<void>;
  onEvent(name: string, run: () => void): void;
  /** How often this event was emitted. */
  count(name: string): number;
  /** Payloads of the events of this name. */
  payloads(name: string): readonly unknown[];
}

export interface WorldOptions {
  readonly options?: Partial<AdmissionOptions>;
  /** To share one store, one state and one clock between servers. */
  readonly beside?: AdmissionWorld;
  readonly executions?: FakeExecutions;
  readonly serverId?: string | null;
  readonly countsSlots?: boolean;
  /** Redis is down when the server starts. */
  readonly isDown?: boolean;
  /** How much later than due every timer runs, as on a busy event loop. */
  readonly stallMs?: number;
}

export async function admissionWorld({
  options = {},
  beside,
  ...given
}: WorldOptions = {}): Promise<AdmissionWorld> {
  const clock = beside?.clock ?? new VirtualClock();
  const all = { ...standardOptions, ...options };
  const ids = seededIds(seededRandom(1), () => clock.now());
  const slots = beside?.slots ?? new MemorySlotStore({ ...all, clock });
  const faulty = new FaultySlotStore(clock, slots);
  if (given.isDown) faulty.state = 'down';
  const limits = beside?.limits ?? new MemoryLimitStore(ids);
  const executions = given.executions ?? beside?.executions ?? new FakeExecutions();
  const servers = beside?.servers ?? new MemoryServerRegistry(clock, all.leaseSeconds);
  const events = new EventBus(admissionEvents);
  const emitted: EmittedEvent[] = [];
  events.listen((event) => void emitted.push(event));
  const recorded: Degradation[] = [];
  const overdue: Slot[] = [];
  const stall = { ms: given.stallMs ?? 0 };
  const admission = await openAdmission({
    clock: stalling(clock, stall),
    events,
    ledger: { record: async (degradation) => void recorded.push(degradation) },
    slots: faulty.store,
    probe: faulty.probe,
    limits,
    executions,
    servers,
    options: all,
    serverId:
      given.serverId === undefined ? (beside ? `server-${clock.pending}` : 'server-1') : given.serverId,
    storeName: 'redis.test:6379/0',
    countsSlots: given.countsSlots ?? true,
    endOverdue: async (slot) => {
      overdue.push(slot);
      executions.end(slot.executionId);
      await admission.controller.release(slot);
    },
    checkReady: () => undefined,
  });
  return {
    clock,
    slots,
    faulty,
    limits,
    executions,
    servers,
    admission,
    events,
    emitted,
    recorded,
    overdue,
    stall,
    acquire: (organizationId, executionId, waitMs = 0, signal = new AbortController().signal) =>
      admission.controller.acquire({ organizationId, executionId, waitMs, signal }),
    onEvent: (name, run) => void events.listen((event) => event.name === name && run()),
    count: (name) => emitted.filter((event) => event.name === name).length,
    payloads: (name) => emitted.filter((event) => event.name === name).map(({ payload }) => payload),
  };
}

const stalling = (clock: VirtualClock, stall: { readonly ms: number }): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  sleep: (ms, signal) => clock.sleep(ms, signal),
  after: (ms, run) => clock.after(ms + stall.ms, run),
});

export const redisDown = (): CoreError => new CoreError('REDIS_UNAVAILABLE', 'Redis is down.');
export const stateDown = (): CoreError => new CoreError('STATE_UNAVAILABLE', 'The state store is down.');
