// Turns events that say how long something took into spans: where the work happens nobody has to know of traces.
import type { EventListener, SpanFacts, Tracer } from '../core/index.ts';

interface Listenable {
  listen(listener: EventListener): () => void;
}

interface SpanOf {
  readonly name: string;
  /** In milliseconds. */
  readonly duration: string;
  /** Fields of the payload that go along: ids, classes and numbers. */
  readonly facts: readonly string[];
  readonly hasFailed?: (payload: Readonly<Record<string, unknown>>) => boolean;
}

const decision: SpanOf = {
  name: 'admission decision',
  duration: 'decisionMs',
  facts: ['organizationId', 'executionId', 'decider', 'reason'],
};

const spans: Readonly<Record<string, SpanOf>> = {
  'gateway:attempt-finished': {
    name: 'model attempt',
    duration: 'durationMs',
    facts: ['requestId', 'model', 'outcome', 'status', 'promptTokens', 'completionTokens'],
    hasFailed: ({ outcome }) => outcome !== 'success',
  },
  'admission:request-admitted': decision,
  'admission:request-rejected': decision,
  'extraction:call': {
    name: 'source call',
    duration: 'durationMs',
    facts: ['session', 'type', 'outcome'],
    hasFailed: ({ outcome }) => outcome !== 'answered',
  },
};

/** They belong to the span in which the event is told. The returned function stops it. */
export function traceEvents(events: Listenable, tracer: Tracer): () => void {
  return events.listen(({ name, payload }) => {
    const spec = spans[name];
    if (!spec) return;
    const durationMs = payload[spec.duration];
    if (typeof durationMs !== 'number') return;
    tracer.past(spec.name, factsOf(payload, spec.facts), durationMs, spec.hasFailed?.(payload) ?? false);
  });
}

function factsOf(payload: Readonly<Record<string, unknown>>, fields: readonly string[]): SpanFacts {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = payload[field];
      const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      return isPlain ? [[`headworks.${snake(field)}`, value]] : [];
    }),
  );
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
