// Wires admission together, starts its background rounds, and reports the usage of slots as metrics.
import type { Clock } from '../../core/index.ts';
import { CoreError, every, kindOf, messageOf } from '../../core/index.ts';
import type { RegisteredRepair } from '../../ledger/index.ts';
import { AdmissionController } from './admission-controller.ts';
import { LimitService } from './limits.ts';
import { PeerReports } from './peer-reports.ts';
import { Reconciler } from './reconciler.ts';
import { SlotLedger } from './slot-ledger.ts';
import type { StoreHealth } from './store-health.ts';
import { StoreHealthMonitor } from './store-health.ts';
import { StoreRecovery } from './store-recovery.ts';
import type { AdmissionDeps } from './types.ts';
import type { GaugeSpec } from '../../platform/telemetry/metrics.ts';

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

interface OrganizationUsage {
  readonly organizationId: string;
  readonly used: number;
  readonly limit: number;
}

interface UsageSample {
  readonly global: number;
  readonly globalLimit: number;
  /** Organizations that use slots or have a custom limit. */
  readonly organizations: readonly OrganizationUsage[];
}

/** The gauges of one scrape share a sample. */
const sampleTtlMs = 1_000;

class UsageSampler {
  readonly #deps: Pick<AdmissionDeps, 'clock' | 'limits' | 'slots' | 'executions' | 'options'>;
  readonly #health: StoreHealthMonitor;
  #last: { readonly at: number; readonly sample: Promise<UsageSample> } | null = null;

  constructor(deps: AdmissionDeps, health: StoreHealthMonitor) {
    this.#deps = deps;
    this.#health = health;
  }

  /** At most a second old. Fails when neither the slot store nor the state store replies. */
  sample(): Promise<UsageSample> {
    const now = this.#deps.clock.monotonic();
    if (this.#last && now - this.#last.at < sampleTtlMs) return this.#last.sample;
    const sample = this.#read();
    this.#last = { at: now, sample };
    sample.catch(() => (this.#last = null));
    return sample;
  }

  async #read(): Promise<UsageSample> {
    const { limits, options, slots: store, executions } = this.#deps;
    // While no slot store decides, unfinished executions are counted.
    const [slots, custom] = await Promise.all([
      this.#health.isUp ? store.holders() : executions.unfinished(),
      limits.list(),
    ]);
    const used = Map.groupBy(slots, ({ organizationId }) => organizationId);
    const limitOf = new Map(custom.map((limit) => [limit.organizationId, limit.concurrentRequestLimit]));
    const ids = [...new Set([...limitOf.keys(), ...used.keys()])].sort();
    return {
      global: slots.length,
      globalLimit: options.globalLimit,
      organizations: ids.map((organizationId) => ({
        organizationId,
        used: used.get(organizationId)?.length ?? 0,
        limit: limitOf.get(organizationId) ?? options.defaultLimit,
      })),
    };
  }
}

/** Gauges that are read at each scrape, also by the alerts of monitoring/headworks-alerts.yml. */
function admissionGauges(
  sampler: UsageSampler,
  queued: () => number,
  health: StoreHealthMonitor,
): readonly GaugeSpec[] {
  const single = (name: string, help: string, value: () => number | Promise<number>): GaugeSpec => ({
    name: `headworks_admission_${name}`,
    help,
    labels: [],
    collect: async () => [{ labels: {}, value: await value() }],
  });
  const perOrganization = (name: string, help: string, field: 'used' | 'limit'): GaugeSpec => ({
    name: `headworks_admission_${name}`,
    help,
    labels: ['organization'],
    collect: async () =>
      (await sampler.sample()).organizations.map((each) => ({
        labels: { organization: each.organizationId },
        value: each[field],
      })),
  });
  const total = (field: 'global' | 'globalLimit') => async () => (await sampler.sample())[field];
  return [
    perOrganization('usage', 'Slots in use, by organization.', 'used'),
    perOrganization('limit', 'Limit of slots, by organization.', 'limit'),
    single('global_usage', 'Slots in use by all organizations.', total('global')),
    single('global_limit', 'Limit of slots for all organizations.', total('globalLimit')),
    single('queued', 'Requests queued for a slot in this process.', queued),
    single('store_up', '0 during a confirmed outage of Redis, else 1.', () => (health.isDown ? 0 : 1)),
  ];
}
