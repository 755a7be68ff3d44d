// Handlers of responses that stay open: live events and attached clients.
import { streamsApi } from '../../api/server.ts';
import type { EmittedEvent } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement } from '../implement.ts';
import { eventText, liveEventText, sendStream } from '../streams.ts';

export function streamRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { presence, instanceId, redactor } = dependencies;
  const readers = new Set<(event: EmittedEvent) => void>();
  const pending: EmittedEvent[] = [];
  let isDelivering = false;
  /** Writing to a reader may itself emit an event (the reader is too slow): that one waits for its turn. */
  const deliver = (emitted: EmittedEvent): void => {
    if (readers.size === 0) return;
    pending.push(emitted);
    if (isDelivering) return;
    isDelivering = true;
    try {
      for (let event = pending.shift(); event; event = pending.shift())
        for (const read of readers) read(event);
    } finally {
      isDelivering = false;
    }
  };
  const stopListening = dependencies.liveEvents.listen(deliver);
  server.addHook('onClose', async () => stopListening());

  implement(server, streamsApi, {
    streamEvents: async ({ query: { names }, request, reply }) => {
      const read = (event: EmittedEvent): void => {
        if (names?.some((prefix) => event.name.startsWith(prefix)) ?? true)
          stream.write(liveEventText(event, redactor));
      };
      const stream = server.openStreams.open(request, () => readers.delete(read));
      readers.add(read);
      return sendStream(reply, stream);
    },
    attach: async ({ request, reply }) => {
      const detach = presence.attach();
      try {
        const stream = server.openStreams.open(request, detach);
        stream.write(eventText('attached', { instance: instanceId }));
        return sendStream(reply, stream);
      } catch (error) {
        detach();
        throw error;
      }
    },
    handOver: async () => {
      if (!presence.requestHandover())
        throw new CoreError('CONFLICT', 'This server was started to stay; stop it where it was started.');
      return { accepted: true as const };
    },
  });
}
