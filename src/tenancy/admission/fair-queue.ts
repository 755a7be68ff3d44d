// The queue for slots: one queue per organization, first in first out; between organizations the one served longest ago
// comes first.
//
// Only the head of a queue calls the store, one queue at a time, so that a released slot wakes one request, not all. A
// rejected queue is blocked until something happens that could change the decision:
//   organization   a slot of this organization was released
//   global         any slot was released
// Four times a second every queue is retried, for slots that other processes release without a notification.
import type { Clock } from '../../core/index.ts';
import { CoreError, onAbort } from '../../core/index.ts';
import { LinkedQueue } from '../../resilience/index.ts';
import type { AcquireOptions, Decision, LimitScope, Rejection, Slot } from './types.ts';

const pollMs = 250;
/** Requests queued per organization; further ones are rejected at once. */
export const maxQueueLength = 1_000;

interface Waiter {
  readonly slot: Slot;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
  isDequeued: boolean;
}

interface OrganizationQueue {
  readonly waiters: LinkedQueue<Waiter>;
  /** The last rejection of its head. */
  rejection: Rejection;
  blockedBy: LimitScope | null;
}

export interface FairQueueDeps {
  readonly clock: Clock;
  readonly decide: (slot: Slot) => Promise<Decision>;
  /** Releases a slot that was granted to a request that has left. */
  readonly release: (slot: Slot) => void;
}

export class FairQueue {
  readonly #deps: FairQueueDeps;
  /** In the order in which they are served. */
  readonly #queues = new Map<string, OrganizationQueue>();
  #length = 0;
  #changes = 0;
  #isServing = false;
  #cancelPoll: (() => void) | null = null;

  constructor(deps: FairQueueDeps) {
    this.#deps = deps;
  }

  get length(): number {
    return this.#length;
  }

  /** Grows with every event that may admit a request. Read it before a decision and pass it to `wait`. */
  get changes(): number {
    return this.#changes;
  }

  lengthOf(organizationId: string): number {
    return this.#queues.get(organizationId)?.waiters.length ?? 0;
  }

  /**
   * Null when no request waits for what a new one needs. Otherwise it must not call the store before them: the last
   * rejection of its organization's queue, or `global` when others wait for the global limit.
   */
  rejectionAhead(organizationId: string): Rejection | 'global' | null {
    const own = this.#queues.get(organizationId);
    if (own) return own.rejection;
    for (const { blockedBy } of this.#queues.values()) if (blockedBy === 'global') return 'global';
    return null;
  }

  /** A request that does not wait was rejected: a good moment for the head of the queue to try again. */
  retryHead(organizationId: string): void {
    const queue = this.#queues.get(organizationId);
    if (queue) queue.blockedBy = null;
    this.#serveSoon();
  }

  isFull(organizationId: string): boolean {
    return this.lengthOf(organizationId) >= maxQueueLength;
  }

  /**
   * Waits up to `waitMs`: the decision that admitted the request, or the last rejection. `seenChanges` is `changes` from
   * before the rejection, so that a slot released since then is not missed. Fails with CANCELED when the caller leaves,
   * and with whatever the decision failed with.
   */
  wait(request: AcquireOptions, rejection: Rejection, seenChanges: number): Promise<Decision | Rejection> {
    const { organizationId, executionId, waitMs, signal } = request;
    return new Promise((resolve, reject) => {
      const queue = this.#queueOf(organizationId, rejection);
      const dequeue = (waiter: Waiter) => {
        if (waiter.isDequeued) return false;
        waiter.isDequeued = true;
        cancelTimer();
        stopListening();
        queue.waiters.remove(node);
        this.#length--;
        if (queue.waiters.length === 0) this.#queues.delete(organizationId);
        if (this.#length === 0) this.#stopPolling();
        return true;
      };
      const waiter: Waiter = {
        slot: { organizationId, executionId },
        resolve: (decision) => dequeue(waiter) && resolve(decision),
        reject: (error) => dequeue(waiter) && reject(error),
        isDequeued: false,
      };
      const node = queue.waiters.push(waiter);
      this.#length++;
      const cancelTimer = this.#deps.clock.after(waitMs, () => {
        if (dequeue(waiter)) resolve(queue.rejection);
      });
      let stopListening: () => void = () => undefined;
      stopListening = onAbort(signal, () =>
        waiter.reject(
          new CoreError('CANCELED', 'The caller disconnected while it waited for a slot; no slot is held.'),
        ),
      );
      if (seenChanges !== this.#changes) queue.blockedBy = null;
      this.#serveSoon();
    });
  }

  /** A slot was released; `organizationId` null when it is not known whose. */
  released(organizationId: string | null): void {
    this.#changes++;
    if (this.#length === 0) return;
    for (const [id, queue] of this.#queues)
      if (organizationId === null || id === organizationId || queue.blockedBy === 'global')
        queue.blockedBy = null;
    this.#serveSoon();
  }

  /** Rejects every waiting request. */
  close(error: Error): void {
    this.#stopPolling();
    for (const { waiters } of this.#queues.values())
      for (let waiter = waiters.peek(); waiter; waiter = waiters.peek()) waiter.reject(error);
  }

  #queueOf(organizationId: string, rejection: Rejection): OrganizationQueue {
    const known = this.#queues.get(organizationId);
    if (known) return known;
    const queue = {
      waiters: new LinkedQueue<Waiter>(),
      rejection,
      blockedBy: rejection.limitedBy,
    };
    this.#queues.set(organizationId, queue);
    return queue;
  }

  #serveSoon(): void {
    if (this.#length > 0) this.#cancelPoll ??= this.#deps.clock.after(pollMs, () => this.#poll());
    if (this.#isServing || !this.#nextUnblocked()) return;
    this.#isServing = true;
    void this.#serve();
  }

  #poll(): void {
    this.#cancelPoll = null;
    for (const queue of this.#queues.values()) queue.blockedBy = null;
    this.#serveSoon();
  }

  #stopPolling(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = null;
  }

  /** One head at a time until every queue is blocked; one that is unblocked meanwhile is served in the next turn. */
  async #serve(): Promise<void> {
    for (let next = this.#nextUnblocked(); next; next = this.#nextUnblocked()) await this.#serveHead(...next);
    this.#isServing = false;
  }

  #nextUnblocked(): [string, OrganizationQueue] | undefined {
    for (const [organizationId, queue] of this.#queues)
      if (queue.blockedBy === null) return [organizationId, queue];
    return undefined;
  }

  async #serveHead(organizationId: string, queue: OrganizationQueue): Promise<void> {
    const waiter = queue.waiters.peek();
    if (!waiter) return;
    const changes = this.#changes;
    let decision: Decision;
    try {
      decision = await this.#deps.decide(waiter.slot);
    } catch (error) {
      waiter.reject(error);
      return;
    }
    const { verdict } = decision;
    if (verdict.kind === 'rejected') {
      queue.rejection = verdict;
      // A slot released during the call may have come too late for this reply.
      if (changes === this.#changes) this.#block(queue, verdict);
      return;
    }
    if (waiter.isDequeued) return this.#deps.release(waiter.slot);
    this.#queues.delete(organizationId);
    this.#queues.set(organizationId, queue);
    waiter.resolve(decision);
  }

  /** At the global limit no other queue needs to call the store. */
  #block(queue: OrganizationQueue, { limitedBy, usage }: Rejection): void {
    queue.blockedBy = limitedBy;
    if (limitedBy !== 'global') return;
    for (const other of this.#queues.values()) {
      if (other.blockedBy !== null) continue;
      other.blockedBy = limitedBy;
      const { organization, organizationLimit } = other.rejection.usage;
      other.rejection = { limitedBy, usage: { ...usage, organization, organizationLimit } };
    }
  }
}
