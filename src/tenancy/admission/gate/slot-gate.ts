// The door's keeper: lets requests in, makes them wait, turns them away, and takes slots back.
import { CoreError, kindOf } from '../../../core/index.ts';
import type { AdmissionParts } from '../parts.ts';
import type { Admission, AdmissionGate, AdmitRequest, Slot, SlotForWork } from '../ports.ts';
import { WaitingRoom } from '../waiting/waiting-room.ts';
import { within } from '../within.ts';
import type { Decider, Decision, DeciderHelp } from './decider.ts';
import type { Refusal } from './refusal.ts';
import { refusalError } from './refusal.ts';

/** A store that is well takes a release far sooner. */
const releaseMs = 250;

export class SlotGate implements AdmissionGate {
  readonly #parts: AdmissionParts;
  readonly #help: DeciderHelp;
  readonly #decider: Decider;
  readonly #room: WaitingRoom;
  #isClosed = false;

  constructor(parts: AdmissionParts, help: DeciderHelp, decider: Decider) {
    this.#parts = parts;
    this.#help = help;
    this.#decider = decider;
    this.#room = new WaitingRoom({
      clock: parts.clock,
      decide: (slot) => decider.decide(slot),
      giveBack: (slot) => void this.release(slot),
    });
  }

  /** How many wait for a slot in this process. */
  get waiting(): number {
    return this.#room.waiting;
  }

  async admit(request: AdmitRequest): Promise<Admission> {
    try {
      return await this.#admit(request);
    } catch (error) {
      const cause = kindOf(error);
      if (cause === 'STATE_UNAVAILABLE' || cause === 'ADMISSION_UNAVAILABLE')
        this.#parts.events.emit('admission:unavailable', { organizationId: request.organizationId, cause });
      throw error;
    }
  }

  hold(slot: SlotForWork): void {
    const { books } = this.#help;
    books.hold(slot);
    books.begin(slot);
    books.accepted(slot.executionId);
  }

  letGo({ executionId }: Slot): void {
    const { books } = this.#help;
    books.held.delete(executionId);
    books.accepted(executionId);
  }

  async release({ organizationId, executionId }: Slot): Promise<void> {
    const { books, watch } = this.#help;
    const slot = { organizationId, executionId };
    books.free(executionId);
    if (watch.isAway) books.releases.remember(slot);
    else await this.#releaseInStore(slot);
    this.#room.freed(organizationId);
  }

  /** An execution has ended in some process, which freed its slot: those who wait here are told. */
  executionEnded(executionId: string): void {
    this.#help.books.free(executionId);
    this.#room.freed(null);
  }

  /** The reconciler freed one that nobody had released. */
  slotFreed({ organizationId }: Slot): void {
    this.#room.freed(organizationId);
  }

  /** Whoever waits is turned away, and so is everybody who comes. */
  close(): void {
    this.#isClosed = true;
    this.#room.close(shuttingDown());
  }

  async #admit(request: AdmitRequest): Promise<Admission> {
    if (this.#isClosed) throw shuttingDown();
    if (request.signal.aborted) throw callerLeft();
    this.#parts.checkReady();
    const { organizationId, executionId } = request;
    const changes = this.#room.changes;
    const queue = this.#room.queueFor(organizationId);
    if (queue !== null) return this.#standInLine(request, this.#refusalOf(organizationId, queue), changes);
    const decision = await this.#decider.decide({ organizationId, executionId });
    const { verdict } = decision;
    if (verdict.kind === 'refused') return this.#standInLine(request, verdict, changes, decision);
    if (request.signal.aborted) {
      await this.release(request);
      throw callerLeft();
    }
    return this.#letIn(request, decision);
  }

  async #standInLine(
    request: AdmitRequest,
    refusal: Refusal,
    changes: number,
    decision?: Decision,
  ): Promise<Admission> {
    const { organizationId, waitMs } = request;
    if (this.#isClosed) throw shuttingDown();
    if (!(waitMs > 0) || this.#room.isFull(organizationId)) {
      this.#room.knock(organizationId);
      throw this.#refuse(request, refusal, decision);
    }
    const since = this.#parts.clock.monotonic();
    const told = (outcome: 'admitted' | 'refused' | 'left') =>
      this.#parts.events.emit('admission:waited', {
        organizationId,
        outcome,
        waitedMs: this.#parts.clock.monotonic() - since,
      });
    try {
      const waited = await this.#room.wait(request, refusal, changes);
      if (waited.kind === 'decided') {
        told('admitted');
        return this.#letIn(request, waited.decision);
      }
      told('refused');
      throw this.#refuse(request, waited.refusal, decision);
    } catch (error) {
      if (kindOf(error) === 'CANCELED') told('left');
      throw error;
    }
  }

  /** Others wait before it: what is known here must do, for asking would be pushing in. */
  #refusalOf(organizationId: string, queue: Refusal | 'global'): Refusal {
    if (queue !== 'global') return queue;
    const { globalLimit, defaultLimit } = this.#parts.options;
    const { reader, books } = this.#help;
    const organizationLimit = reader.known(organizationId) ?? defaultLimit;
    const usage = books.budget.usage(organizationId, { organizationLimit, globalLimit });
    return { layer: 'global', usage };
  }

  #letIn(slot: SlotForWork, decision: Decision): Admission {
    this.#help.books.begin(slot);
    this.#parts.events.emit('admission:admitted', decided(slot, decision));
    return { usage: decision.verdict.usage, decidedBy: decision.decider };
  }

  #refuse(slot: Slot, refusal: Refusal, decision: Decision | undefined): Error {
    const { layer, usage } = refusal;
    this.#parts.events.emit('admission:refused', { ...decided(slot, decision), reason: layer });
    const { organizationId } = slot;
    const isOwn = layer === 'organization';
    const ahead = isOwn ? this.#room.lengthOf(organizationId) : this.#room.waiting;
    const retryAfterMs = this.#help.books.holdTimes.retryAfterMs({
      organizationId: isOwn ? organizationId : null,
      held: isOwn ? usage.organization : usage.global,
      ahead,
      now: this.#parts.clock.monotonic(),
    });
    return refusalError(refusal, retryAfterMs);
  }

  async #releaseInStore(slot: Slot): Promise<void> {
    const { books, watch } = this.#help;
    try {
      await within(this.#parts.clock, releaseMs, this.#parts.slots.release(slot), notReleased);
    } catch (error) {
      books.releases.remember(slot);
      watch.fail(error);
    }
  }
}

function decided({ organizationId, executionId }: Slot, decision: Decision | undefined) {
  return {
    organizationId,
    executionId,
    decider: decision?.decider ?? ('line' as const),
    decisionMs: decision?.decisionMs ?? 0,
    cacheHits: decision?.isCached === true ? 1 : 0,
    cacheMisses: decision?.isCached === false ? 1 : 0,
    localDecisions: decision?.decider === 'local' ? 1 : 0,
  };
}

const callerLeft = (): CoreError =>
  new CoreError('CANCELED', 'The caller left before it had a slot; nothing is held.');

const shuttingDown = (): CoreError =>
  new CoreError('SHUTTING_DOWN', 'The server is stopping and lets nobody in. Try again in a moment.', {
    isRetryable: true,
  });

const notReleased = (): CoreError =>
  new CoreError('REDIS_UNAVAILABLE', `Redis did not free a slot within ${releaseMs} ms.`, {
    isRetryable: true,
  });
