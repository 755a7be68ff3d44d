// Turns events into log lines: one line each, at the level and with the message of its spec.
import type { EmittedEvent, EventListener, Log, LogLevel } from '../../core/index.ts';
import { withoutContent } from '../../core/index.ts';

interface Listenable {
  listen(listener: EventListener): () => void;
}

/** Content fields appear only when the log is at debug level. The returned function stops it. */
export function logEvents(events: Listenable, log: Log): () => void {
  const isDebug = log.level === 'debug';
  const lowest = severity[log.level];
  return events.listen((emitted: EmittedEvent) => {
    if (severity[emitted.spec.level] < lowest) return;
    const fields = isDebug ? emitted.payload : withoutContent(emitted);
    log[emitted.spec.level](emitted.spec.message, { event: emitted.name, ...fields });
  });
}

const severity: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
