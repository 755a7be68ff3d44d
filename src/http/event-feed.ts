// Hands every event, numbered, to every reader in the same order.
import type { EmittedEvent } from '../core/index.ts';
import type { EventHistory, NumberedEvent } from './event-history.ts';

export type EventReader = (event: NumberedEvent) => void;

export class EventFeed {
  readonly history: EventHistory;
  readonly #readers = new Set<EventReader>();
  readonly #waiting: NumberedEvent[] = [];
  #isDelivering = false;

  constructor(history: EventHistory) {
    this.history = history;
  }

  /** Sending to a reader may itself cause an event (the reader is too slow): that one waits for its turn. */
  take(emitted: EmittedEvent): void {
    const event = this.history.add(emitted);
    if (this.#readers.size === 0) return;
    this.#waiting.push(event);
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift())
        for (const read of this.#readers) read(next);
    } finally {
      this.#isDelivering = false;
    }
  }

  add(reader: EventReader): void {
    this.#readers.add(reader);
  }

  remove(reader: EventReader): void {
    this.#readers.delete(reader);
  }
}
