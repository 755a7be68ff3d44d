// Wires admission together and starts its background rounds.
import type { Clock } from '../../core/index.ts';
import { CoreError, every, kindOf, messageOf } from '../../core/index.ts';
import type { RegisteredRepair } from '../../ledger/index.ts';
import { AdmissionController } from './admission-controller.ts';
import { LimitService } from './limits.ts';
import { admissionGauges, UsageSampler } from './monitoring.ts';
import { PeerReports } from './peer-reports.ts';
import { Reconciler } from './reconciler.ts';
import { SlotLedger } from './slot-ledger.ts';
import type { StoreHealth } from './store-health.ts';
import { StoreHealthMonitor } from './store-health.ts';
import { StoreRecovery } from './store-recovery.ts';
import type { AdmissionDeps } from './types.ts';

/** After a flush of Redis, requests wait for the next heartbeat of every server. */
const heartbeatEveryMs = 1_000;
/** During an outage the ledger's entry is updated this often. */
const recordEveryMs = 60_000;

/** The ledger's kind of a confirmed outage; the subject is the address of Redis. */
export const redisDownKind = 'admission.redis-down';

/** @internal For tests. */
export type OpenAdmission = Awaited<ReturnType<typeof openAdmission>>;

/**
 * Resolves when the slots of all unfinished executions are restored, if Redis is up: only then requests may come.
 *
 * @example
 * const clock = systemClock;
 * const admission = await openAdmission({ ...deps, clock, slots: new MemorySlotStore({ ...options, clock }) });
 * await admission.controller.acquire({ organizationId: 'acme', executionId: '1', waitMs: 0, signal });
 */
export async function openAdmission(deps: AdmissionDeps) {
  const { clock, options, events, storeName, slots } = deps;
  const { redisFailureMode } = options;
  const ledger = new SlotLedger(clock, options.leaseSeconds * 1_000);
  const limits = new LimitService(deps, (error) => health.reportFailure(error));
  const peers = new PeerReports(deps, ledger);
  const recovery = new StoreRecovery(deps, ledger, limits, peers);
  const health = new StoreHealthMonitor(deps, recovery, {
    onSuspected: (error) => events.emit('admission:outage-suspected', { cause: kindOf(error) }),
    onDown: (error) => {
      outage = error;
      events.emit('admission:outage-confirmed', { cause: kindOf(error), failureMode: redisFailureMode });
      void recordOutage();
    },
    onUp: (downMs, localAdmissions) => {
      events.emit('admission:outage-ended', { downMs, localAdmissions });
      // The entry has the final number before a repair closes it.
      void recordOutage(localAdmissions).finally(() => deps.onOutageEnded?.());
    },
  });
  const sampler = new UsageSampler(deps, health);
  const controller = new AdmissionController(deps, { ledger, limits, health, recovery });
  const reconciler = new Reconciler(deps, { ledger, health, peers, controller });

  let outage: Error | undefined;
  const recordOutage = async (localAdmissions = recovery.localAdmissions) => {
    const consequence =
      redisFailureMode === 'closed'
        ? 'Requests are rejected until it is up.'
        : `Each server admits requests within its share of the limits; this one has admitted ${localAdmissions}.`;
    const degradation = {
      kind: redisDownKind,
      subject: storeName,
      cause: kindOf(outage),
      message: `Redis is not used for slot decisions: ${messageOf(outage)} ${consequence}`,
    };
    // The ledger counts what it could not record.
    await deps.ledger.record(degradation).catch(() => undefined);
  };
  const repair: RegisteredRepair = {
    kind: redisDownKind,
    describe: 'Probe Redis; when it replies, reconcile slots with executions and use it for decisions again.',
    repair: async () => {
      // This server may be the last to notice that Redis is up, and no other would close the entry soon.
      if (health.isDown) await health.probeNow();
      const reason = outageOf(health.current, storeName);
      return reason === null ? { outcome: 'repaired' } : { outcome: 'still-broken', reason };
    },
  };

  await peers.report();
  await recovery.refresh();
  await health.restore();
  await reconciler.sendHeartbeat();
  await reconciler.renewLeases();
  const renewEveryMs = (options.leaseSeconds * 1_000) / 3;
  const rounds = [
    repeat(clock, Math.min(heartbeatEveryMs, renewEveryMs), () => reconciler.sendHeartbeat()),
    repeat(clock, renewEveryMs, () => reconciler.renewLeases()),
    repeat(clock, renewEveryMs, () => reconciler.reconcile()),
    repeat(clock, recordEveryMs, async () => (health.isDown ? recordOutage() : undefined)),
  ];
  return {
    controller,
    limits,
    gauges: admissionGauges(sampler, () => controller.queued, health),
    repair,
    health: () => health.current,
    /** The connection to Redis was lost or established. */
    connectionChanged: (isUp: boolean) =>
      isUp ? void health.probeNow() : health.reportFailure(connectionLost()),
    /** Releases the slot of an execution that has ended. False when it holds none. Fails with REDIS_UNAVAILABLE. */
    releaseSlotOf: async (executionId: string) => {
      const slot = (await slots.holders()).find((each) => each.executionId === executionId);
      if (slot) await controller.release(slot);
      return slot !== undefined;
    },
    /** Compares slots with executions now; every server does so three times a lease. */
    reconcile: () => reconciler.reconcile(),
    /** Rejects queued requests and stops the background rounds. */
    close: async () => {
      controller.close();
      await Promise.all(rounds.map((stop) => stop()));
      await health.close();
      await peers.close();
    },
  };
}

/** Why the store does not decide; null unless an outage is confirmed. */
const outageOf = (health: StoreHealth, storeName: string): string | null =>
  health.state === 'down'
    ? `Redis at ${storeName} is not used for slot decisions: ${messageOf(health.error)}`
    : null;

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
