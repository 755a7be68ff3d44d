// Responds before the body was read: the response is sent at once, the rest of the body is discarded for a while.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../core/index.ts';

/** Long enough for a caller to read the response; one that continues to send is disconnected. */
const lingerMs = 5_000;

/** Whether a part of the body has not arrived; then the connection cannot be reused. */
const isUnread = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** Sends a response whose status and other headers are set. A caller that still sends its body has time to read it. */
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
        .send(responseBeforeRest(text, request, clock));
  };
  // A body that came together with the headers is complete one event-loop turn later.
  if (isUnread(request)) setImmediate(send);
  else send();
}

/**
 * Ends when the rest of the body has arrived or took too long. Many clients miss a response when the connection closes at
 * once: their next write fails before they read.
 */
function responseBeforeRest(text: string, request: IncomingMessage, clock: Clock): Readable {
  async function* response(): AsyncGenerator<string> {
    yield text;
    await drain(request, clock);
  }
  return Readable.from(response(), { objectMode: false });
}

function drain(request: IncomingMessage, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(lingerMs, resolve);
  for (const event of ['end', 'close', 'error']) request.once(event, () => resolve());
  if (request.complete || request.destroyed) resolve();
  request.resume();
  return promise.finally(cancel);
}
