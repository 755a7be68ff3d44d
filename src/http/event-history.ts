// The last events, numbered, so that a reader who lost the connection can read on where it was.
import type { EmittedEvent, Redactor } from '../core/index.ts';
import { plainValue, withoutContent } from '../core/index.ts';
import { eventText } from './open-streams.ts';
import { snakeCase } from './snake-case.ts';

export interface NumberedEvent {
  readonly number: number;
  readonly name: string;
  /** As it travels; made on first use. */
  readonly text: string;
}

export type Replay =
  | { readonly isComplete: true; readonly events: readonly NumberedEvent[] }
  /** Some of what came in between is no longer kept, or was before this start of the server. */
  | { readonly isComplete: false; readonly events: readonly NumberedEvent[] };

/** Ids are `<instance>-<number>`: those of another start of the server are recognised. */
export class EventHistory {
  readonly #instanceId: string;
  readonly #redactor: Redactor;
  readonly #capacity: number;
  #kept: NumberedEvent[] = [];
  #count = 0;

  constructor(instanceId: string, redactor: Redactor, capacity: number) {
    this.#instanceId = instanceId;
    this.#redactor = redactor;
    this.#capacity = capacity;
  }

  readonly #write = (emitted: EmittedEvent, number: number): string => {
    const payload = plainValue(withoutContent(emitted), { text: (raw) => this.#redactor.text(raw) });
    const data = { name: emitted.name, at: new Date(emitted.at).toISOString(), payload: snakeCase(payload) };
    return eventText(emitted.name, data, `${this.#instanceId}-${number}`);
  };

  add(emitted: EmittedEvent): NumberedEvent {
    this.#count += 1;
    const event = new KeptEvent(this.#count, emitted, this.#write);
    this.#kept.push(event);
    // Cut in blocks: dropping the first of an array costs as much as the array is long.
    if (this.#kept.length >= 2 * this.#capacity) this.#kept = this.#kept.slice(-this.#capacity);
    return event;
  }

  /** What came after the event with this id; nothing is missed without saying so. */
  after(lastEventId: string): Replay {
    const kept = this.#kept.slice(-this.#capacity);
    const [, instance, digits] = /^(.*)-(\d{1,15})$/.exec(lastEventId) ?? [];
    const number = Number(digits);
    if (instance !== this.#instanceId || number > this.#count) return { isComplete: false, events: kept };
    const oldest = this.#count - kept.length + 1;
    return { isComplete: number + 1 >= oldest, events: kept.filter((event) => event.number > number) };
  }
}

/** Nearly all events are read by nobody: one is written only when somebody does. */
class KeptEvent implements NumberedEvent {
  readonly number: number;
  readonly #emitted: EmittedEvent;
  readonly #write: (event: EmittedEvent, number: number) => string;
  #text: string | undefined;

  constructor(number: number, emitted: EmittedEvent, write: (event: EmittedEvent, number: number) => string) {
    this.number = number;
    this.#emitted = emitted;
    this.#write = write;
  }

  get name(): string {
    return this.#emitted.name;
  }

  get text(): string {
    return (this.#text ??= this.#write(this.#emitted, this.number));
  }
}
