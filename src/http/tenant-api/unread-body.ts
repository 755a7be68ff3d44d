// What becomes of a body that we refuse to read: the answer goes out at once, the rest is thrown away for a while.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../core/index.ts';

/** Long enough for a caller to read the answer; one that goes on sending is cut off. */
const lingerMs = 5_000;

/** Whether some of the body has not arrived. Then the connection is of no use for another request. */
const isUnread = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** Sends an answer whose status and other headers are set. Whoever still sends its body is given time to read it. */
export function sendBeforeRest(
  text: string,
  request: IncomingMessage,
  reply: FastifyReply,
  clock: Clock,
): void {
  const send = () => {
    if (!isUnread(request)) void reply.send(text);
    else
      void reply
        .headers({ connection: 'close', 'content-length': Buffer.byteLength(text) })
        .send(answerBeforeRest(text, request, clock));
  };
  // A body that came together with the head is there a turn later.
  if (isUnread(request)) setImmediate(send);
  else send();
}

/**
 * The answer, which ends when the rest of the body has come or took too long. Hanging up at once would make many clients
 * miss it: their next write fails before they read.
 */
function answerBeforeRest(text: string, request: IncomingMessage, clock: Clock): Readable {
  async function* answer(): AsyncGenerator<string> {
    yield text;
    await rest(request, clock);
  }
  return Readable.from(answer(), { objectMode: false });
}

function rest(request: IncomingMessage, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(lingerMs, resolve);
  for (const event of ['end', 'close', 'error']) request.once(event, () => resolve());
  if (request.complete || request.destroyed) resolve();
  request.resume();
  return promise.finally(cancel);
}
