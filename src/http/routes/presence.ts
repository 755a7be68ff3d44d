// One holder, many clients: being attached to this server, and asking it to make room.
import { CoreError } from '../../core/index.ts';
import { answerWith, eventText } from '../open-streams.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { handoverAnswer } from '../schemas/presence.ts';
import { eventStream } from '../schemas/streams.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['presence'];

export function presenceRoutes(server: TypedServer, { presence, instanceId }: HttpDependencies): void {
  server.get(
    '/api/v1/attach',
    {
      config: { access: 'admin', isStream: true },
      exposeHeadRoute: false,
      schema: {
        operationId: 'presence.attach',
        tags,
        summary: 'Counts the caller as attached while the answer is open',
        description:
          'A server that a command started for itself stays as long as anybody is attached. Server-sent events: ' +
          '`attached` once, comments as signs of life, `stream:closing` when the server stops.',
        response: { 200: eventStream, ...errorAnswers },
      },
    },
    async (request, reply) => {
      const detach = presence.attach();
      try {
        const stream = server.openStreams.open(request, detach);
        stream.write(eventText('attached', { instance: instanceId }));
        return answerWith(reply, stream);
      } catch (error) {
        detach();
        throw error;
      }
    },
  );

  server.post(
    '/api/v1/handover',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'presence.handover',
        tags,
        summary: 'Asks the server to make room for another',
        description:
          'A command that became a server for itself makes room for one that was asked for. 409 when this server ' +
          'was asked for itself.',
        response: { 202: handoverAnswer, ...errorAnswers },
      },
    },
    async (_request, reply) => {
      if (!presence.requestHandover())
        throw new CoreError('CONFLICT', 'This server was started to stay; stop it where it was started.');
      return reply.code(202).send({ accepted: true as const });
    },
  );
}
