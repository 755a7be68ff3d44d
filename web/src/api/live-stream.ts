// Live stream with reconnection. Runs in a shared worker, or in the page.
import type { ApiPath } from '../../../src/api/client.ts';
import type { StreamedEvent } from '../../../src/api/server.ts';
import { readEventStream } from './event-stream.ts';

export type Connection = 'connecting' | 'live' | 'lost';

export type LiveMessage =
  /** `hasMissed`: events may have been missed while disconnected. */
  { readonly connection: Connection; readonly hasMissed: boolean } | { readonly event: StreamedEvent };

const reconnectMs = 2_000;
const livePath: ApiPath = '/api/v1/live';

/** Runs until `signal` aborts. */
export async function followLive(notify: (message: LiveMessage) => void, signal: AbortSignal): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const hasMissed = tries > 0;
    try {
      const onOpen = () => notify({ connection: 'live', hasMissed });
      // A stream, so not a call of `api`.
      for await (const { event, data } of readEventStream(livePath, signal, onOpen))
        if (!event.startsWith('stream:')) notify({ event: JSON.parse(data) as StreamedEvent });
    } catch {
      // Reported below as a lost connection.
    }
    if (signal.aborted) return;
    notify({ connection: 'lost', hasMissed: true });
    await new Promise((resolve) => setTimeout(resolve, reconnectMs));
  }
}
