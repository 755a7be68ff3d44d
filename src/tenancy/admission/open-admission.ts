// Puts admission together: the gate, its leases, the desks, and the work beside requests.
import type { Clock, Emitter } from '../../core/index.ts';
import { CoreError, kindOf, messageOf } from '../../core/index.ts';
import type { RegisteredRepair } from '../../ledger/index.ts';
import { every } from '../../resilience/index.ts';
import { AlertWatch } from './alerts/alert-watch.ts';
import type { AlertDesk, LimitDesk } from './desk-ports.ts';
import type { AdmissionEvents } from './events.ts';
import { Decider } from './gate/decider.ts';
import { redisAwayDegradation, redisAwayRepair } from './gate/redis-away.ts';
import { SlotBooks } from './gate/slot-books.ts';
import { SlotGate } from './gate/slot-gate.ts';
import { StoreReturn } from './gate/store-return.ts';
import { StoreWatch } from './gate/store-watch.ts';
import { UsageBoard } from './gate/usage-board.ts';
import { keepLeases, sayAlive } from './leases/lease-keeper.ts';
import { Reconciler } from './leases/reconciler.ts';
import { StoredLimitDesk } from './limits/limit-desk.ts';
import { LimitReader } from './limits/limit-reader.ts';
import type { AdmissionParts } from './parts.ts';

const alertsEveryMs = 15_000;
/** So long a new server is not known to the others, which then think their shares larger. */
const aliveEveryMs = 2_000;
/** While Redis is away the ledger's row says how recently. */
const recordEveryMs = 60_000;

export interface OpenAdmission {
  readonly gate: SlotGate;
  readonly limits: LimitDesk;
  readonly alerts: AlertDesk;
  readonly board: UsageBoard;
  readonly repair: RegisteredRepair;
  /** Does the store of slots decide? */
  readonly isStoreUp: () => boolean;
  /** Redis went away or came back, says the connection. */
  readonly redisChanged: (isUp: boolean) => void;
  /** Frees the slot of an execution that holds one for no reason. False when it holds none. Fails with REDIS_UNAVAILABLE. */
  readonly freeSlotOf: (executionId: string) => Promise<boolean>;
  /** Compares slots with executions now; what every server does three times a lease. */
  readonly reconcile: () => Promise<void>;
  /** Turns away whoever waits, and ends the work beside requests. */
  close(): Promise<void>;
}

/** Starts the work beside requests. Slots of executions under way are taken before it resolves, if Redis is there. */
export async function openAdmission(given: AdmissionParts): Promise<OpenAdmission> {
  let problem: string | null = null;
  const alerts = new AlertWatch({
    clock: given.clock,
    sample: () => board.sample(),
    redisProblem: () => problem,
  });
  const parts: AdmissionParts = { ...given, events: withRefusals(given.events, () => alerts.refused()) };
  const { clock, options, ledger, events, storeName } = parts;

  const books = new SlotBooks(clock, options.leaseSeconds * 1_000);
  const reader = new LimitReader({ clock, store: parts.limits, defaultLimit: options.defaultLimit });
  const storeReturn = new StoreReturn(parts, books, reader);
  const record = async (cause: unknown) => {
    try {
      await ledger.record(redisAwayDegradation(storeName, options.whenRedisIsAway, cause));
    } catch {
      // The ledger counts what it could not keep.
    }
  };
  let lastError: unknown;
  const watch = new StoreWatch({
    clock,
    look: (markUp) => storeReturn.look(markUp),
    onAway: (error) => {
      lastError = error;
      storeReturn.lost();
      problem = `Redis at ${storeName} does not decide about slots: ${messageOf(error)}`;
      events.emit('admission:redis-away', { cause: kindOf(error), policy: options.whenRedisIsAway });
      void record(error);
      void alerts.evaluate();
    },
    onBack: (awayMs) => {
      problem = null;
      storeReturn.back();
      events.emit('admission:redis-back', { awayMs, localAdmissions: storeReturn.takeCount() });
      void alerts.evaluate();
    },
  });
  const help = { books, reader, watch, storeReturn };
  const gate = new SlotGate(parts, help, new Decider(parts, help));
  const board = new UsageBoard(parts, watch);
  const reconciler = new Reconciler(parts, { books, watch, onFreed: (slot) => gate.slotFreed(slot) });
  const limits = new StoredLimitDesk({
    ...options,
    clock,
    store: parts.limits,
    slots: parts.slots,
    executions: parts.executions,
    countsSlots: parts.countsSlots,
    onStoreFailed: (error) => watch.fail(error),
  });

  await storeReturn.seeFromState();
  await storeReturn.restore().catch((error: unknown) => {
    if (kindOf(error).startsWith('STATE_')) throw error;
    watch.fail(error);
  });
  const beatMs = (options.leaseSeconds * 1_000) / 3;
  await sayAlive(parts, help);
  await keepLeases(parts, help);
  const work = [
    repeat(clock, Math.min(aliveEveryMs, beatMs), () => sayAlive(parts, help)),
    repeat(clock, beatMs, () => keepLeases(parts, help)),
    repeat(clock, beatMs, () => reconciler.round()),
    repeat(clock, alertsEveryMs, () => alerts.evaluate()),
    repeat(clock, recordEveryMs, async () => {
      if (watch.isAway) await record(lastError);
    }),
  ];
  return {
    gate,
    limits,
    alerts,
    board,
    repair: redisAwayRepair(
      () => problem,
      () => watch.lookNow(),
    ),
    isStoreUp: () => !watch.isAway,
    redisChanged: (isUp) => (isUp ? void watch.lookNow() : watch.fail(connectionLost())),
    freeSlotOf: async (executionId) => {
      const holders = await parts.slots.holders();
      const slot = holders.find((each) => each.executionId === executionId);
      if (!slot) return false;
      await gate.release(slot);
      return true;
    },
    reconcile: () => reconciler.round(),
    close: async () => {
      gate.close();
      await Promise.all(work.map((stop) => stop()));
      await watch.close();
    },
  };
}

const connectionLost = (): CoreError =>
  new CoreError('REDIS_UNAVAILABLE', 'The connection was lost.', { isRetryable: true });

/** Again and again; the returned function ends that, and waits for the round under way. */
function repeat(clock: Clock, ms: number, work: () => Promise<void>): () => Promise<void> {
  let round = Promise.resolve();
  const stop = every(clock, ms, () => (round = work()));
  return () => {
    stop();
    return round;
  };
}

function withRefusals(events: Emitter<AdmissionEvents>, onRefused: () => void): Emitter<AdmissionEvents> {
  return {
    emit: (name, payload) => {
      if (name === 'admission:refused') onRefused();
      events.emit(name, payload);
    },
  };
}
