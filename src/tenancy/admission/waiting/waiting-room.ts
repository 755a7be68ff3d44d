// Where requests wait for a slot: one line per organization, first come first served; between organizations whoever
// was served longest ago comes first.
//
// Only the first of a line asks, one line after the other: a slot that becomes free wakes one, not all. A line that
// was refused sleeps until something happens that could change that:
//   organization   a slot of this organization became free
//   global         any slot became free
// and four times a second everything is tried, for slots that become free in other processes without a word.
import type { Clock } from '../../../core/index.ts';
import { CoreError, onAbort } from '../../../core/index.ts';
import type { Decision } from '../gate/decider.ts';
import type { Refusal } from '../gate/refusal.ts';
import type { AdmitRequest, Slot, SlotLayer } from '../ports.ts';
import { LinkedQueue } from '../../../resilience/index.ts';

const pollMs = 250;
/** Of one organization. Whoever comes then is refused at once. */
export const longestLine = 1_000;

interface Waiter {
  readonly slot: Slot;
  readonly enter: (decision: Decision) => void;
  readonly fail: (error: unknown) => void;
  isGone: boolean;
}

interface Line {
  readonly waiters: LinkedQueue<Waiter>;
  /** What its first was last told. */
  refusal: Refusal;
  asleep: SlotLayer | null;
}

/** How a wait ended. */
export type Waited =
  | { readonly kind: 'decided'; readonly decision: Decision }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export interface WaitingRoomParts {
  readonly clock: Clock;
  readonly decide: (slot: Slot) => Promise<Decision>;
  /** A slot was given to one who had left. */
  readonly giveBack: (slot: Slot) => void;
}

export class WaitingRoom {
  readonly #parts: WaitingRoomParts;
  /** In the order in which they are served. */
  readonly #lines = new Map<string, Line>();
  #count = 0;
  #changes = 0;
  #isServing = false;
  #cancelPoll: (() => void) | null = null;

  constructor(parts: WaitingRoomParts) {
    this.#parts = parts;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#count;
  }

  /** Grows with everything that may let somebody in. */
  get changes(): number {
    return this.#changes;
  }

  lengthOf(organizationId: string): number {
    return this.#lines.get(organizationId)?.waiters.length ?? 0;
  }

  /** Do others wait for what a newcomer wants? Then it may not just try. What its own line was last told, if it has one. */
  queueFor(organizationId: string): Refusal | 'global' | null {
    const own = this.#lines.get(organizationId);
    if (own) return own.refusal;
    for (const { asleep } of this.#lines.values()) if (asleep === 'global') return 'global';
    return null;
  }

  /** Somebody came who does not want to wait: a good moment for the line to try again. */
  knock(organizationId: string): void {
    const line = this.#lines.get(organizationId);
    if (line) line.asleep = null;
    this.#serveSoon();
  }

  isFull(organizationId: string): boolean {
    return this.lengthOf(organizationId) >= longestLine;
  }

  /**
   * Stands in line for at most `waitMs`. `seenChanges` is `changes` from before the refusal: what became free since
   * then is not missed. Fails with CANCELED when the caller leaves, and with whatever the decision failed with.
   */
  wait(request: AdmitRequest, refusal: Refusal, seenChanges: number): Promise<Waited> {
    const { organizationId, executionId, waitMs, signal } = request;
    return new Promise((resolve, reject) => {
      const line = this.#lineOf(organizationId, refusal);
      const leave = (waiter: Waiter) => {
        if (waiter.isGone) return false;
        waiter.isGone = true;
        cancelTimer();
        stopListening();
        this.#remove(organizationId, line, () => line.waiters.remove(node));
        return true;
      };
      const waiter: Waiter = {
        slot: { organizationId, executionId },
        enter: (decision) => leave(waiter) && resolve({ kind: 'decided', decision }),
        fail: (error) => leave(waiter) && reject(error),
        isGone: false,
      };
      const node = line.waiters.push(waiter);
      this.#count++;
      const cancelTimer = this.#parts.clock.after(waitMs, () => {
        if (leave(waiter)) resolve({ kind: 'refused', refusal: line.refusal });
      });
      let stopListening: () => void = () => undefined;
      stopListening = onAbort(signal, () => waiter.fail(callerLeft()));
      if (seenChanges !== this.#changes) line.asleep = null;
      this.#serveSoon();
    });
  }

  /** A slot became free, of this organization if that is known. */
  freed(organizationId: string | null): void {
    this.#changes++;
    if (this.#count === 0) return;
    for (const [id, line] of this.#lines)
      if (organizationId === null || id === organizationId || line.asleep === 'global') line.asleep = null;
    this.#serveSoon();
  }

  /** Nobody gets in any more. */
  close(error: Error): void {
    this.#cancelPoll?.();
    for (const { waiters } of this.#lines.values())
      for (let waiter = waiters.peek(); waiter; waiter = waiters.peek()) waiter.fail(error);
  }

  #lineOf(organizationId: string, refusal: Refusal): Line {
    const known = this.#lines.get(organizationId);
    if (known) return known;
    const line: Line = { waiters: new LinkedQueue(), refusal, asleep: refusal.layer };
    this.#lines.set(organizationId, line);
    return line;
  }

  #remove(organizationId: string, line: Line, unlink: () => void): void {
    unlink();
    this.#count--;
    if (line.waiters.length === 0) this.#lines.delete(organizationId);
    if (this.#count === 0) this.#stopPolling();
  }

  #serveSoon(): void {
    if (this.#count > 0) this.#cancelPoll ??= this.#parts.clock.after(pollMs, () => this.#poll());
    if (this.#isServing || !this.#nextAwake()) return;
    this.#isServing = true;
    void this.#serve();
  }

  #poll(): void {
    this.#cancelPoll = null;
    for (const line of this.#lines.values()) line.asleep = null;
    this.#serveSoon();
  }

  #stopPolling(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = null;
  }

  /** One at a time, until every line sleeps: what wakes one meanwhile is seen in the next turn. */
  async #serve(): Promise<void> {
    for (let next = this.#nextAwake(); next; next = this.#nextAwake()) await this.#serveFirst(...next);
    this.#isServing = false;
  }

  #nextAwake(): [string, Line] | undefined {
    for (const [organizationId, line] of this.#lines) if (line.asleep === null) return [organizationId, line];
    return undefined;
  }

  async #serveFirst(organizationId: string, line: Line): Promise<void> {
    const waiter = line.waiters.peek();
    if (!waiter) return;
    const changes = this.#changes;
    let decision: Decision;
    try {
      decision = await this.#parts.decide(waiter.slot);
    } catch (error) {
      waiter.fail(error);
      return;
    }
    const { verdict } = decision;
    if (verdict.kind === 'refused') {
      line.refusal = verdict;
      // What became free while we asked may have come too late for this answer.
      if (changes === this.#changes) this.#sleep(line, verdict);
      return;
    }
    if (waiter.isGone) return this.#parts.giveBack(waiter.slot);
    this.#lines.delete(organizationId);
    this.#lines.set(organizationId, line);
    waiter.enter(decision);
  }

  /** With no slot for anybody, nobody needs to ask. */
  #sleep(line: Line, { layer, usage }: Refusal): void {
    line.asleep = layer;
    if (layer !== 'global') return;
    for (const other of this.#lines.values()) {
      if (other.asleep !== null) continue;
      other.asleep = layer;
      const { organization, organizationLimit } = other.refusal.usage;
      other.refusal = { layer, usage: { ...usage, organization, organizationLimit } };
    }
  }
}

const callerLeft = (): CoreError =>
  new CoreError('CANCELED', 'The caller left while it waited for a slot; nothing is held.');
