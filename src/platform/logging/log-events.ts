// Turns events into log lines: one line each, at the level and with the message of its spec.
import type { EmittedEvent, EventListener, Log } from '../../core/index.ts';
import { withoutContent } from '../../core/index.ts';

interface Listenable {
  listen(listener: EventListener): () => void;
}

/** Content fields appear only when the log is at debug level. The returned function stops it. */
export function logEvents(events: Listenable, log: Log): () => void {
  const isDebug = log.level === 'debug';
  return events.listen((emitted: EmittedEvent) => {
    const fields = isDebug ? emitted.payload : withoutContent(emitted);
    log[emitted.spec.level](emitted.spec.message, { event: emitted.name, ...fields });
  });
}
