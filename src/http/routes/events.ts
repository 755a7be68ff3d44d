// The live stream: everything that happens, as it happens, without content.
import type { EventReader } from '../event-feed.ts';
import { EventFeed } from '../event-feed.ts';
import { EventHistory } from '../event-history.ts';
import type { NumberedEvent } from '../event-history.ts';
import type { HttpLimits } from '../limits.ts';
import type { OpenStream } from '../open-streams.ts';
import { answerWith, eventText } from '../open-streams.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { eventStream, eventsQuery } from '../schemas/streams.ts';
import type { TypedServer } from './typed-server.ts';

export function eventRoutes(server: TypedServer, dependencies: HttpDependencies, limits: HttpLimits): void {
  const feed = new EventFeed(
    new EventHistory(dependencies.instanceId, dependencies.redactor, limits.eventHistory),
  );
  const stopListening = dependencies.liveEvents.listen((emitted) => feed.take(emitted));
  server.addHook('onClose', async () => stopListening());

  server.get(
    '/api/v1/events',
    {
      config: { access: 'admin', isStream: true },
      exposeHeadRoute: false,
      schema: {
        operationId: 'events.stream',
        tags: ['events'],
        summary: 'The live stream of events',
        description:
          'Server-sent events: `id`, `event` (the name) and `data` (JSON: name, at, payload). Send Last-Event-ID to ' +
          'read on where you were; `stream:gap` says that something in between is lost, `stream:closing` that the ' +
          'server ends the stream (draining, or the reader is too slow). Comments are signs of life.',
        querystring: eventsQuery,
        response: { 200: eventStream, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const { names } = request.query;
      const isWanted = ({ name }: NumberedEvent) => names?.some((prefix) => name.startsWith(prefix)) ?? true;
      const read: EventReader = (event) => {
        if (isWanted(event)) stream.write(event.text);
      };
      const stream = server.openStreams.open(request, () => feed.remove(read));
      // Without a pause in between, so that nothing is lost or doubled between history and now.
      const lastEventId = request.headers['last-event-id'];
      if (typeof lastEventId === 'string') replay(stream, feed.history, lastEventId, read);
      feed.add(read);
      return answerWith(reply, stream);
    },
  );
}

function replay(stream: OpenStream, history: EventHistory, lastEventId: string, read: EventReader): void {
  const { isComplete, events } = history.after(lastEventId);
  if (!isComplete)
    stream.write(eventText('stream:gap', { message: 'Some events since then are no longer kept.' }));
  for (const event of events) read(event);
}
