// Puts a reply on the wire, piece by piece, and notices when the caller leaves.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/index.ts';
import type { Reply } from './models-api.ts';

/** Resolves when the answer has ended, however. True when the caller left before. */
export async function deliver(reply: Reply, response: ServerResponse, clock: Clock): Promise<boolean> {
  const leaving = new AbortController();
  response.once('close', () => leaving.abort(new Error('left')));
  try {
    if (reply.delayMs > 0) await clock.sleep(reply.delayMs, leaving.signal);
    if (reply.status === 'none') return await nothing(reply, response, clock, leaving.signal);
    reply.behaviour?.answered(reply.status);
    await speak(reply, response, clock, leaving.signal);
    return false;
  } catch {
    if (!response.headersSent) reply.behaviour?.answered('none');
    return true;
  }
}

const forEver = 86_400_000;

async function nothing(
  reply: Reply,
  response: ServerResponse,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  reply.behaviour?.answered('none');
  if (reply.end === 'cut') {
    response.socket?.resetAndDestroy();
    return false;
  }
  await clock.sleep(forEver, signal).catch(() => undefined);
  return true;
}

async function speak(
  reply: Reply,
  response: ServerResponse,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { pieces, headers, status, end } = reply;
  const [only] = pieces;
  const isWhole = end === 'end' && pieces.length === 1 && only !== undefined;
  response.writeHead(Number(status), {
    ...headers,
    ...(isWhole ? { 'content-length': Buffer.byteLength(only.text) } : {}),
  });
  for (const { text, afterMs } of pieces) {
    if (afterMs > 0) await clock.sleep(afterMs, signal);
    if (!response.write(text)) await roomIn(response);
    signal.throwIfAborted();
  }
  if (end === 'end') response.end();
  else if (end === 'cut')
    await new Promise<void>((resolve) => response.write('', () => resolve(void response.destroy())));
  else await clock.sleep(forEver, signal);
}

/** Resolves when the caller has read enough, or has left. */
function roomIn(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
