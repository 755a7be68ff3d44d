// A world in which admission runs on virtual time, on stores that a test can take away.
import type { EmittedEvent } from '../../../src/core/index.ts';
import { CoreError, EventBus, seededIds, seededRandom } from '../../../src/core/index.ts';
import { VirtualClock } from '../core/virtual-clock.ts';
import type { Degradation } from '../../../src/ledger/index.ts';
import { admissionEvents } from '../../../src/tenancy/admission/events.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import { openAdmission } from '../../../src/tenancy/admission/open-admission.ts';
import type { OpenAdmission } from '../../../src/tenancy/admission/open-admission.ts';
import { admissionOptions } from '../../../src/tenancy/admission/options.ts';
import type { AdmissionOptions } from '../../../src/tenancy/admission/options.ts';
import type { ExecutionsView, Slot, SlotStore } from '../../../src/tenancy/admission/ports.ts';
import { MemorySlotStore } from '../../../src/tenancy/admission/slots/memory-slot-store.ts';

export const standardOptions = Object.fromEntries(
  Object.entries(admissionOptions.fields).map(([name, field]) => [name, field.default]),
) as AdmissionOptions;

/** Executions as deployments would have them. */
export class FakeExecutions implements ExecutionsView {
  readonly running = new Map<string, Slot & { readonly acceptedAt: Date }>();
  readonly over = new Set<string>();
  isAway = false;

  unfinished(): Promise<readonly (Slot & { readonly acceptedAt: Date })[]> {
    return this.isAway ? Promise.reject(stateAway()) : Promise.resolve([...this.running.values()]);
  }

  ended(executionIds: readonly string[]): Promise<readonly string[]> {
    return this.isAway
      ? Promise.reject(stateAway())
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

export type StoreState = 'up' | 'down' | 'hanging';

/** The store of slots, as long as it is there. A call that hangs is carried out when the store is up again. */
export class FaultySlotStore {
  state: StoreState = 'up';
  calls = 0;
  readonly store: SlotStore;
  #inner: SlotStore;
  readonly #held: (() => void)[] = [];

  constructor(given: SlotStore) {
    this.#inner = given;
    this.store = new Proxy(given, {
      get:
        (_, name: keyof SlotStore) =>
        (...args: unknown[]) => {
          this.calls++;
          const run = () =>
            (this.#inner[name] as (...all: unknown[]) => Promise<unknown>).apply(this.#inner, args);
          if (this.state === 'up') return run();
          if (this.state === 'down') return Promise.reject(redisAway());
          return new Promise((resolve, reject) => {
            this.#held.push(() => void run().then(resolve, reject));
          });
        },
    });
  }

  /** As if it had been flushed. */
  replace(inner: SlotStore): void {
    this.#inner = inner;
  }

  goUp(): void {
    this.state = 'up';
    for (const run of this.#held.splice(0)) run();
  }
}

export interface AdmissionWorld {
  readonly clock: VirtualClock;
  readonly slots: MemorySlotStore;
  readonly faulty: FaultySlotStore;
  readonly limits: MemoryLimitStore;
  readonly executions: FakeExecutions;
  readonly admission: OpenAdmission;
  readonly emitted: EmittedEvent[];
  readonly recorded: Degradation[];
  readonly overdue: Slot[];
  admit(organizationId: string, executionId: string, waitMs?: number, signal?: AbortSignal): Promise<unknown>;
  onEvent(name: string, run: () => void): void;
  /** How often this event happened. */
  count(name: string): number;
  /** What was told each time. */
  payloads(name: string): readonly unknown[];
}

export interface WorldOptions {
  readonly options?: Partial<AdmissionOptions>;
  /** To share one store, one state and one clock between servers. */
  readonly beside?: AdmissionWorld;
  readonly executions?: FakeExecutions;
  readonly serverId?: string | null;
  readonly countsSlots?: boolean;
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
  const faulty = new FaultySlotStore(slots);
  const limits = beside?.limits ?? new MemoryLimitStore(ids);
  const executions = given.executions ?? beside?.executions ?? new FakeExecutions();
  const events = new EventBus(admissionEvents, () => clock.now());
  const emitted: EmittedEvent[] = [];
  events.listen((event) => void emitted.push(event));
  const recorded: Degradation[] = [];
  const overdue: Slot[] = [];
  const admission = await openAdmission({
    clock,
    events,
    ledger: { record: async (degradation) => void recorded.push(degradation) },
    slots: faulty.store,
    limits,
    executions,
    options: all,
    serverId:
      given.serverId === undefined ? (beside ? `server-${clock.pending}` : 'server-1') : given.serverId,
    storeName: 'redis.test:6379/0',
    countsSlots: given.countsSlots ?? true,
    endOverdue: async (slot) => {
      overdue.push(slot);
      executions.end(slot.executionId);
      await admission.gate.release(slot);
    },
    checkReady: () => undefined,
  });
  return {
    clock,
    slots,
    faulty,
    limits,
    executions,
    admission,
    emitted,
    recorded,
    overdue,
    admit: (organizationId, executionId, waitMs = 0, signal = new AbortController().signal) =>
      admission.gate.admit({ organizationId, executionId, waitMs, signal }),
    onEvent: (name, run) => void events.listen((event) => event.name === name && run()),
    count: (name) => emitted.filter((event) => event.name === name).length,
    payloads: (name) => emitted.filter((event) => event.name === name).map(({ payload }) => payload),
  };
}

export const redisAway = (): CoreError => new CoreError('REDIS_UNAVAILABLE', 'Redis is away.');
export const stateAway = (): CoreError => new CoreError('STATE_UNAVAILABLE', 'The state store is away.');
