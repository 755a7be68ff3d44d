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

  add(emitted: EmittedEvent): NumberedEvent {
    this.#count += 1;
    const event = this.#numbered(this.#count, emitted);
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

  #numbered(number: number, emitted: EmittedEvent): NumberedEvent {
    let text: string | undefined;
    const write = () => {
      const payload = plainValue(withoutContent(emitted), { text: (raw) => this.#redactor.text(raw) });
      const data = {
        name: emitted.name,
        at: new Date(emitted.at).toISOString(),
        payload: snakeCase(payload),
      };
      return eventText(emitted.name, data, `${this.#instanceId}-${number}`);
    };
    return {
      number,
      name: emitted.name,
      get text() {
        return (text ??= write());
      },
    };
  }
}
