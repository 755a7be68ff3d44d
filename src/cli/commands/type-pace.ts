// How fast each type is read: from when it began until it ended, not from when the command did.
import type { TypeFigures } from '../../extraction/events.ts';

export interface Pace {
  readonly itemsPerSecond: number;
  /** Until all are there; null when that cannot be told, or is not to be waited for. */
  readonly leftMs: number | null;
}

interface Span {
  /** What was there before this run read any. */
  readonly items: number;
  readonly from: number;
  to: number | null;
}

export class TypePaces {
  readonly #startedAt: number;
  readonly #spans = new Map<string, Span>();

  /** `startedAt` and `now` are milliseconds of one clock. */
  constructor(startedAt: number) {
    this.#startedAt = startedAt;
  }

  of({ type, items, itemsThisRun, total, status }: TypeFigures, now: number): Pace {
    const known = this.#spans.get(type);
    // As long as nothing of a type came, its beginning moves along.
    const from = status === 'pending' ? now : (known?.from ?? this.#startedAt);
    const hasEnded = status === 'completed' || status === 'incomplete';
    const span: Span = {
      items: known?.items ?? items - itemsThisRun,
      from,
      to: hasEnded ? (known?.to ?? now) : null,
    };
    this.#spans.set(type, span);
    const seconds = ((span.to ?? now) - span.from) / 1000;
    const itemsPerSecond = seconds > 0 ? (items - span.items) / seconds : 0;
    const isInFlight = status === 'running' && total !== null && itemsPerSecond > 0;
    const leftMs = isInFlight ? (Math.max(total - items, 0) / itemsPerSecond) * 1000 : null;
    return { itemsPerSecond, leftMs };
  }
}
