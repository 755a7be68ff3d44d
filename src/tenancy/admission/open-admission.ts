// Wires admission together and starts its background rounds.
import type { Clock, Emitter } from '../../core/index.ts';
import { CoreError, kindOf, messageOf } from '../../core/index.ts';
import type { RegisteredRepair } from '../../ledger/index.ts';
import { every } from '../../resilience/index.ts';
import { AdmissionController } from './admission-controller.ts';
import type { AdmissionEvents } from './events.ts';
import { LimitService } from './limits.ts';
import type { AdmissionGauge } from './monitoring.ts';
import { admissionGauges, AlertEvaluator, UsageSampler } from './monitoring.ts';
import { Reconciler } from './reconciler.ts';
import { SlotLedger } from './slot-ledger.ts';
import type { StoreHealth } from './store-health.ts';
import { redisDownDegradation, redisDownRepair, StoreHealthMonitor } from './store-health.ts';
import { StoreRecovery } from './store-recovery.ts';
import type { AdmissionDeps } from './types.ts';

const alertsEveryMs = 15_000;
/** A new server is unknown to the others for this long; they then overestimate their shares. */
const heartbeatEveryMs = 2_000;
/** During an outage the ledger's entry is updated this often. */
const recordEveryMs = 60_000;

export interface OpenAdmission {
  readonly controller: AdmissionController;
  readonly limits: LimitService;
  readonly alerts: Pick<AlertEvaluator, 'list'>;
  readonly gauges: readonly AdmissionGauge[];
  readonly repair: RegisteredRepair;
  readonly health: () => StoreHealth;
  /** The connection to Redis was lost or established. */
  readonly connectionChanged: (isUp: boolean) => void;
  /** Releases the slot of an execution that has ended. False when it holds none. Fails with REDIS_UNAVAILABLE. */
  readonly releaseSlotOf: (executionId: string) => Promise<boolean>;
  /** Compares slots with executions now; every server does so three times a lease. */
  readonly reconcile: () => Promise<void>;
  /** Rejects queued requests and stops the background rounds. */
  close(): Promise<void>;
}

/**
 * Resolves when the slots of all unfinished executions are restored, if Redis is up: only then requests may come.
 *
 * @example
 * const clock = systemClock;
 * const admission = await openAdmission({ ...deps, clock, slots: new MemorySlotStore({ ...options, clock }) });
 * await admission.controller.acquire({ organizationId: 'acme', executionId: '1', waitMs: 0, signal });
 */
export async function openAdmission(given: AdmissionDeps): Promise<OpenAdmission> {
  let problem: string | null = null;
  const alerts = new AlertEvaluator({
    clock: given.clock,
    sample: () => sampler.sample(),
    redisProblem: () => problem,
  });
  const deps: AdmissionDeps = {
    ...given,
    events: countingRejections(given.events, () => alerts.requestRejected()),
  };
  const { clock, options, events, storeName } = deps;
  const { redisFailureMode } = options;

  const ledger = new SlotLedger(clock, options.leaseSeconds * 1_000);
  const limits = new LimitService({ ...deps, onStoreFailed: (error) => health.reportFailure(error) });
  const recovery = new StoreRecovery(deps, ledger, limits);
  const record = async (error: unknown) => {
    try {
      await deps.ledger.record(redisDownDegradation(storeName, redisFailureMode, error));
    } catch {
      // The ledger counts what it could not record.
    }
  };
  const health = new StoreHealthMonitor({
    clock,
    probe: deps.probe,
    verify: () => recovery.verify(),
    recover: (markUp) => recovery.recover(markUp),
    onProbe: () => recovery.refresh(),
    onSuspected: (error) => events.emit('admission:outage-suspected', { cause: kindOf(error) }),
    onDown: (error) => {
      recovery.begin();
      problem = `Redis at ${storeName} does not decide about slots: ${messageOf(error)}`;
      events.emit('admission:outage-confirmed', { cause: kindOf(error), failureMode: redisFailureMode });
      void record(error);
      void alerts.evaluate();
    },
    onUp: (downMs) => {
      if (downMs === null) {
        recovery.sendPendingReleases().catch((error: unknown) => health.reportFailure(error));
        return;
      }
      problem = null;
      recovery.end();
      events.emit('admission:outage-ended', { downMs, localAdmissions: recovery.takeLocalAdmissions() });
      deps.onOutageEnded?.();
      void alerts.evaluate();
    },
  });
  const sampler = new UsageSampler(deps, health);
  const controller = new AdmissionController(deps, { ledger, limits, health, recovery });
  const reconciler = new Reconciler(deps, {
    ledger,
    health,
    onReleased: (slot) => controller.slotReleased(slot),
  });

  await recovery.refresh();
  await recovery.restore().catch((error: unknown) => {
    if (kindOf(error).startsWith('STATE_')) throw error;
    health.reportFailure(error);
  });
  await reconciler.sendHeartbeat();
  await reconciler.renewLeases();
  const renewEveryMs = (options.leaseSeconds * 1_000) / 3;
  const rounds = [
    repeat(clock, Math.min(heartbeatEveryMs, renewEveryMs), () => reconciler.sendHeartbeat()),
    repeat(clock, renewEveryMs, () => reconciler.renewLeases()),
    repeat(clock, renewEveryMs, () => reconciler.reconcile()),
    repeat(clock, alertsEveryMs, () => alerts.evaluate()),
    repeat(clock, recordEveryMs, async () => {
      const { current } = health;
      if (current.state === 'down') await record(current.error);
    }),
  ];
  return {
    controller,
    limits,
    alerts,
    gauges: admissionGauges(sampler, {
      queued: () => controller.queued,
      isStoreUp: () => !health.isDown,
    }),
    repair: redisDownRepair(
      () => problem,
      () => health.probeNow(),
    ),
    health: () => health.current,
    connectionChanged: (isUp) => (isUp ? void health.probeNow() : health.reportFailure(connectionLost())),
    releaseSlotOf: async (executionId) => {
      const slot = (await deps.slots.holders()).find((each) => each.executionId === executionId);
      if (!slot) return false;
      await controller.release(slot);
      return true;
    },
    reconcile: () => reconciler.reconcile(),
    close: async () => {
      controller.close();
      await Promise.all(rounds.map((stop) => stop()));
      await health.close();
      recovery.close();
    },
  };
}

const connectionLost = (): CoreError =>
  new CoreError('REDIS_UNAVAILABLE', 'The connection was lost.', { isRetryable: true });

/** Runs `work` every `ms`; the returned function stops that and waits for the running round. */
function repeat(clock: Clock, ms: number, work: () => Promise<void>): () => Promise<void> {
  let round = Promise.resolve();
  const stop = every(clock, ms, () => (round = work()));
  return () => {
    stop();
    return round;
  };
}

function countingRejections(
  events: Emitter<AdmissionEvents>,
  onRejected: () => void,
): Emitter<AdmissionEvents> {
  return {
    emit: (name, payload) => {
      if (name === 'admission:request-rejected') onRejected();
      events.emit(name, payload);
    },
  };
}
