// Puts a reply on the wire: late, cut off, or not at all, if that is what it says.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/index.ts';
import type { Reply } from './looker-api.ts';

export interface DeliveryParts {
  readonly clock: Clock;
  /** Told once for each reply; `none` when the caller got no status. */
  readonly answered: (status: number | 'none') => void;
}

export function deliver(reply: Reply, response: ServerResponse, parts: DeliveryParts): void {
  if (reply.delayMs === 0) {
    put(reply, response, parts);
    return;
  }
  const leave = () => {
    cancel();
    parts.answered('none');
  };
  const cancel = parts.clock.after(reply.delayMs, () => {
    response.off('close', leave);
    put(reply, response, parts);
  });
  response.once('close', leave);
}

function put(reply: Reply, response: ServerResponse, { answered }: DeliveryParts): void {
  if (!('answer' in reply)) {
    answered('none');
    if (reply.delivery === 'reset') response.socket?.resetAndDestroy();
    return;
  }
  const { status, body, headers } = reply.answer;
  answered(status);
  const isEmpty = status === 204;
  response.writeHead(status, {
    ...(isEmpty ? {} : { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }),
    ...headers,
  });
  if (reply.delivery === 'truncated')
    response.write(body.subarray(0, body.length >> 1), () => response.destroy());
  else response.end(isEmpty ? undefined : body);
}
