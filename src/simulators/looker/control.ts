// The simulator's own endpoints, below /__: what was called, what changes, how it behaves.
import type { ServerResponse } from 'node:http';
import { messageOf } from '../../core/index.ts';

export interface ControlHands {
  readonly stats: () => unknown;
  readonly reset: () => void;
  readonly change: (change: unknown) => unknown;
  readonly configure: (behaviour: unknown) => void;
  readonly expireTokens: () => void;
}

export interface ControlCall {
  readonly method: string;
  readonly path: string;
  readonly body: () => Promise<string>;
}

const endpoints = 'GET /__stats, POST /__reset, POST /__content, POST /__configure, POST /__expire-tokens';

/** Answers 200, 400 with what is wrong, or 404 with what there is. Not counted anywhere. */
export async function control(
  call: ControlCall,
  hands: ControlHands,
  response: ServerResponse,
): Promise<void> {
  const body = async (): Promise<unknown> => JSON.parse(await call.body());
  const send = (status: number, value: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const done = { done: true };
  try {
    switch (`${call.method} ${call.path}`) {
      case 'GET /__stats':
        send(200, hands.stats());
        return;
      case 'POST /__reset':
        hands.reset();
        send(200, done);
        return;
      case 'POST /__content':
        send(200, hands.change(await body()));
        return;
      case 'POST /__configure':
        hands.configure(await body());
        send(200, done);
        return;
      case 'POST /__expire-tokens':
        hands.expireTokens();
        send(200, done);
        return;
      default:
        send(404, { message: `There is no ${call.method} ${call.path}; there are ${endpoints}.` });
    }
  } catch (error) {
    send(400, { message: messageOf(error) });
  }
}
