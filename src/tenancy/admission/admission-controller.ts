// Acquires and releases slots: decides, queues and rejects requests.
import { CoreError, kindOf, withTimeout } from '../../core/index.ts';
import { AdmissionError, rejectionError } from '../errors.ts';
import { FairQueue } from './fair-queue.ts';
import type { LimitService } from './limits.ts';
import type { SlotLedger } from './slot-ledger.ts';
import type { StoreHealthMonitor } from './store-health.ts';
import type { StoreRecovery } from './store-recovery.ts';
import type {
  AcquireOptions,
  AdmissionDeps,
  Decision,
  Rejection,
  Slot,
  SlotDecision,
  SlotRequest,
  Usage,
  WorkloadSlot,
} from './types.ts';

/** Longest time until a decision, waiting for a suspected outage included. */
const decisionTimeoutMs = 1_000;
/** A reply that takes longer raises the suspicion of an outage. */
const slowReplyMs = 100;
const releaseTimeoutMs = 1_000;
const unavailableRetryMs = 2_000;
/** Interval between two calls while other servers restore their slots. */
const restorePollMs = 50;
/** Attempts while limits change, or the store is flushed, during the calls. */
const maxStoreCalls = 6;

export interface ControllerServices {
  readonly ledger: SlotLedger;
  readonly limits: LimitService;
  readonly health: StoreHealthMonitor;
  readonly recovery: StoreRecovery;
}

/**
 * This process renews a slot from `acquire` or `attach` until `detach` or `release`. Exactly one of the two follows
 * every acquisition: `detach` when the execution was dispatched and the worker attaches it, `release` when the request
 * failed or the execution has ended.
 */
export class AdmissionController {
  readonly #deps: AdmissionDeps;
  readonly #services: ControllerServices;
  readonly #queue: FairQueue;
  #isClosed = false;

  constructor(deps: AdmissionDeps, services: ControllerServices) {
    this.#deps = deps;
    this.#services = services;
    this.#queue = new FairQueue({
      clock: deps.clock,
      decide: (slot) => this.#decide(slot),
      release: (slot) => void this.release(slot),
    });
  }

  /** Requests queued for a slot in this process. */
  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Fails with ADMISSION_ORG_LIMIT, ADMISSION_GLOBAL_LIMIT, ADMISSION_UNAVAILABLE, STATE_UNAVAILABLE, CANCELED or
   * SHUTTING_DOWN, and then holds nothing.
   */
  async acquire(request: AcquireOptions): Promise<void> {
    const { organizationId } = request;
    try {
      const decision = await this.#decideOrWait(request);
      this.#services.ledger.retryAfter.requestStarted(request);
      this.#deps.events.emit('admission:request-admitted', decisionPayload(request, decision));
    } catch (error) {
      const cause = kindOf(error);
      if (cause === 'STATE_UNAVAILABLE' || cause === 'ADMISSION_UNAVAILABLE')
        this.#deps.events.emit('admission:decision-failed', { organizationId, cause });
      throw error;
    }
  }

  /** This process runs the execution and renews its slot. */
  attach(slot: WorkloadSlot): void {
    const { ledger } = this.#services;
    ledger.add(slot);
    ledger.retryAfter.requestStarted(slot);
    ledger.retryAfter.executionStarted(slot.executionId);
  }

  /** The execution was dispatched: its worker renews the slot. */
  detach({ executionId }: Slot): void {
    const { ledger } = this.#services;
    ledger.remove(executionId);
    ledger.retryAfter.executionStarted(executionId);
  }

  /** Never fails: a release that the store does not confirm is sent again later, or the lease expires. */
  async release({ organizationId, executionId }: Slot): Promise<void> {
    const { clock, slots } = this.#deps;
    const { health, ledger } = this.#services;
    const slot = { organizationId, executionId };
    this.#freed(executionId);
    if (health.isUp)
      try {
        await withTimeout(slots.release(slot), { clock, timeoutMs: releaseTimeoutMs });
      } catch (error) {
        ledger.addPendingRelease(slot);
        health.reportFailure(error);
      }
    else ledger.addPendingRelease(slot);
    this.#queue.released(organizationId);
  }

  /** An execution ended in some process, which released its slot. */
  executionEnded(executionId: string): void {
    this.#freed(executionId);
    this.#queue.released(null);
  }

  /** The reconciler released a leaked slot. */
  slotReleased({ organizationId, executionId }: Slot): void {
    this.#freed(executionId);
    this.#queue.released(organizationId);
  }

  #freed(executionId: string): void {
    this.#services.ledger.released(executionId);
    this.#services.recovery.released(executionId);
  }

  /** Rejects queued and new requests. */
  close(): void {
    this.#isClosed = true;
    this.#queue.close(shuttingDown());
  }

  /** The decision that admitted the request. */
  async #decideOrWait(request: AcquireOptions): Promise<Decision> {
    if (this.#isClosed) throw shuttingDown();
    if (request.signal.aborted) throw callerLeft();
    this.#deps.checkReady();
    const { organizationId } = request;
    // Read before the decision: a slot released meanwhile must not be missed.
    const changes = this.#queue.changes;
    const ahead = this.#queue.rejectionAhead(organizationId);
    if (ahead !== null) return this.#wait(request, this.#lastRejection(organizationId, ahead), changes);
    const decision = await this.#decide(request);
    const { verdict } = decision;
    if (verdict.kind === 'rejected') return this.#wait(request, verdict, changes, decision);
    if (!request.signal.aborted) return decision;
    await this.release(request);
    throw callerLeft();
  }

  async #wait(
    request: AcquireOptions,
    rejection: Rejection,
    changes: number,
    decision?: Decision,
  ): Promise<Decision> {
    const { organizationId, waitMs } = request;
    const { clock, events } = this.#deps;
    if (this.#isClosed) throw shuttingDown();
    if (!(waitMs > 0) || this.#queue.isFull(organizationId)) {
      this.#queue.retryHead(organizationId);
      throw this.#reject(request, rejection, decision);
    }
    const since = clock.monotonic();
    const emitWaited = (outcome: 'admitted' | 'rejected' | 'canceled') =>
      events.emit('admission:request-waited', {
        organizationId,
        outcome,
        waitedMs: clock.monotonic() - since,
      });
    try {
      const result = await this.#queue.wait(request, rejection, changes);
      emitWaited('decider' in result ? 'admitted' : 'rejected');
      if ('decider' in result) return result;
      throw this.#reject(request, result, decision);
    } catch (error) {
      if (kindOf(error) === 'CANCELED') emitWaited('canceled');
      throw error;
    }
  }

  /** Others are queued, and a call to the store would overtake them: the last known usage decides. */
  #lastRejection(organizationId: string, ahead: Rejection | 'global'): Rejection {
    if (ahead !== 'global') return ahead;
    const { ledger } = this.#services;
    return {
      limitedBy: 'global',
      usage: ledger.budget.usage(organizationId, this.#limitsOf(organizationId)),
    };
  }

  /** The limits without a call to the store. */
  #limitsOf(organizationId: string): Pick<Usage, 'organizationLimit' | 'globalLimit'> {
    const organizationLimit = this.#services.limits.known(organizationId);
    return { organizationLimit, globalLimit: this.#deps.options.globalLimit };
  }

  #reject(slot: Slot, rejection: Rejection, decision: Decision | undefined): Error {
    const { limitedBy, usage } = rejection;
    const { ledger } = this.#services;
    this.#deps.events.emit('admission:request-rejected', {
      ...decisionPayload(slot, decision),
      reason: limitedBy,
    });
    const { organizationId } = slot;
    const retryAfterMs =
      limitedBy === 'organization'
        ? ledger.retryAfter.estimateMs(
            organizationId,
            usage.organization,
            this.#queue.lengthOf(organizationId),
          )
        : ledger.retryAfter.estimateMs(null, usage.global, this.#queue.length);
    return rejectionError(rejection, retryAfterMs);
  }

  /** An admitted slot is held by this process. Fails with ADMISSION_UNAVAILABLE or STATE_UNAVAILABLE. */
  async #decide({ organizationId, executionId }: Slot): Promise<Decision> {
    const { clock, options } = this.#deps;
    const { health } = this.#services;
    const slot = { organizationId, executionId };
    const startedAt = clock.monotonic();
    const deadline = startedAt + decisionTimeoutMs;
    while (!this.#isClosed) {
      if (health.isDown && options.redisFailureMode === 'closed') throw this.#unavailable();
      const decided = health.isUp
        ? await this.#decideInStore(slot, deadline)
        : health.isDown
          ? await this.#decideLocally(slot, deadline)
          : await health.settled(deadline - clock.monotonic());
      if (decided) return { ...decided, decisionMs: clock.monotonic() - startedAt };
      if (clock.monotonic() >= deadline) throw this.#unavailable();
    }
    throw shuttingDown();
  }

  /** Undefined when the store returned no decision in time; then it is no longer up, or was flushed again and again. */
  async #decideInStore(slot: Slot, deadline: number): Promise<Omit<Decision, 'decisionMs'> | undefined> {
    const { limits, ledger, health } = this.#services;
    const { clock } = this.#deps;
    const { globalLimit } = this.#deps.options;
    const { organizationId } = slot;
    let limit: SlotRequest['limit'];
    for (let calls = 0; calls < maxStoreCalls; calls++) {
      const reply = await this.#callStore({ ...slot, globalLimit, limit }, deadline);
      if (reply === null) return undefined;
      if (reply.kind === 'limit-unknown') {
        limit = { value: await limits.read(organizationId, reply.token), token: reply.token };
      } else if (reply.kind === 'not-restored') {
        const restored = await health.restore();
        if (restored === 'failed' || clock.monotonic() >= deadline) return undefined;
        if (restored === 'restored') continue;
        await clock.sleep(restorePollMs);
        calls--;
      } else if (health.isDown) {
        // Confirmed while the reply was on its way: local decisions did not count this slot.
        ledger.addPendingRelease(slot);
        return undefined;
      } else {
        if (reply.kind === 'admitted') ledger.add(slot);
        ledger.budget.decided(slot, reply.kind === 'admitted', reply.usage);
        return { verdict: reply, decider: 'store', isCached: limit === undefined };
      }
    }
    throw this.#unavailable();
  }

  /**
   * Null when the call failed, had no reply by the deadline, or an outage was confirmed first: it may have been executed,
   * so its release is pending until the slot is held. A reply that has arrived counts, however late this process reads
   * it: each timer allows one more turn of the event loop.
   */
  async #callStore(request: SlotRequest, deadline: number): Promise<SlotDecision | null> {
    const { clock, slots } = this.#deps;
    const { ledger, health } = this.#services;
    ledger.dropPendingRelease(request.executionId);
    const { promise, resolve } = Promise.withResolvers<SlotDecision | null>();
    slots.acquire(request).then(resolve, (error: unknown) => {
      health.reportFailure(error);
      resolve(null);
    });
    let cancelTimer = () => undefined as void;
    const later = (ms: number, run: () => void) => {
      cancelTimer = clock.after(ms, () => {
        cancelTimer = clock.after(0, run);
      });
    };
    later(slowReplyMs, () => {
      health.reportSlow(slowReplyMs);
      later(deadline - clock.monotonic(), () => resolve(null));
    });
    const stopListening = health.onChange(() => health.isDown && resolve(null));
    const reply = await promise;
    cancelTimer();
    stopListening();
    if (reply === null) ledger.addPendingRelease(request);
    return reply;
  }

  /** Undefined when the outage ended, or the shares were not fixed in time. */
  async #decideLocally(slot: Slot, deadline: number): Promise<Omit<Decision, 'decisionMs'> | undefined> {
    const { clock } = this.#deps;
    const { ledger, health, recovery } = this.#services;
    if (!recovery.hasShares) {
      const timeoutMs = deadline - clock.monotonic();
      await withTimeout(recovery.sharesCut(), { clock, timeoutMs }).catch(() => undefined);
      if (!recovery.hasShares || !health.isDown) return undefined;
    }
    const verdict = ledger.budget.decide(slot, this.#limitsOf(slot.organizationId));
    if (verdict.kind === 'admitted') {
      ledger.add(slot);
      recovery.admittedLocally(slot);
    }
    return { verdict, decider: 'local', isCached: null };
  }

  #unavailable(): AdmissionError {
    const { storeName, options } = this.#deps;
    const { isDown } = this.#services.health;
    const reason =
      isDown && options.redisFailureMode === 'closed'
        ? `Redis at ${storeName} is down, and requests are rejected without it (HEADWORKS_ADMISSION_REDIS_FAILURE_MODE).`
        : `Redis at ${storeName} did not decide within ${decisionTimeoutMs} ms.`;
    return new AdmissionError('ADMISSION_UNAVAILABLE', `${reason} Try again in a moment.`, {
      isRetryable: true,
      retryAfterMs: unavailableRetryMs,
    });
  }
}

function decisionPayload({ organizationId, executionId }: Slot, decision: Decision | undefined) {
  return {
    organizationId,
    executionId,
    decider: decision?.decider ?? ('queue' as const),
    decisionMs: decision?.decisionMs ?? 0,
    cacheHits: decision?.isCached === true ? 1 : 0,
    cacheMisses: decision?.isCached === false ? 1 : 0,
    localDecisions: decision?.decider === 'local' ? 1 : 0,
  };
}

const callerLeft = (): CoreError =>
  new CoreError('CANCELED', 'The caller disconnected before it got a slot; no slot is held.');

const shuttingDown = (): CoreError =>
  new CoreError('SHUTTING_DOWN', 'The server is stopping and accepts no requests. Try again in a moment.', {
    isRetryable: true,
  });
