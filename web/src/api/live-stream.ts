// The live stream, connected again whenever it breaks. Runs in a shared worker, or in the page.
import type { StreamedEventData } from '../../../src/http/contract.ts';
import { readEventStream } from './event-stream.ts';

export type Connection = 'connecting' | 'live' | 'lost';

export type LiveMessage =
  /** `hasMissed`: events went by while nobody listened. */
  { readonly connection: Connection; readonly hasMissed: boolean } | { readonly event: StreamedEventData };

const connectAgainMs = 2_000;

/** Until `signal` is aborted. */
export async function followLive(tell: (message: LiveMessage) => void, signal: AbortSignal): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const hasMissed = tries > 0;
    try {
      const onOpen = () => tell({ connection: 'live', hasMissed });
      for await (const { event, data } of readEventStream('/api/v1/events', signal, onOpen))
        if (!event.startsWith('stream:')) tell({ event: JSON.parse(data) as StreamedEventData });
    } catch {
      // Said below, whatever it was.
    }
    if (signal.aborted) return;
    tell({ connection: 'lost', hasMissed: true });
    await new Promise((resolve) => setTimeout(resolve, connectAgainMs));
  }
}
