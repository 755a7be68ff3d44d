// What becomes of a body that we refuse to read: the answer goes out at once, the rest is thrown away for a while.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../core/index.ts';

/** Long enough for a caller to read the answer; one that goes on sending is cut off. */
const lingerMs = 5_000;

/** Hanging up at once would make many clients miss the answer: their next write fails before they read it. */
export function discardUnread(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  if (request.complete) return;
  request.on('error', () => undefined);
  response.once('finish', () => {
    request.resume();
    const cancel = clock.after(lingerMs, () => {
      if (!request.complete) request.socket.destroy();
    });
    request.once('close', cancel);
  });
}
