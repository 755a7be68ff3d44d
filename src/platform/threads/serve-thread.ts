// Runs in a pool thread: calls the functions of its module on request. Messages are cloned or transferred.
import { parentPort } from 'node:worker_threads';
import { HeadworksError, messageOf } from '../../core/errors.ts';

/** The functions of a thread module: each has one argument that can be cloned. */
// oxlint-disable-next-line typescript/no-explicit-any -- each function has its own argument; `run` types it per name
export type ThreadFunctions = Readonly<Record<string, (input: any) => unknown>>;

export interface ThreadCall {
  readonly name: string;
  readonly input: unknown;
}

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'returned'; readonly value: unknown }
  | {
      readonly kind: 'threw';
      readonly name: string;
      readonly message: string;
      /** Code of a HeadworksError. */
      readonly code: string | undefined;
    };

/** Makes the calling module usable by a ThreadPool. */
export function serveThread(functions: ThreadFunctions): void {
  const port = parentPort;
  if (!port) throw new Error('This module only runs as a thread.');
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (message: FromThread) => port.postMessage(message);
  port.on('message', ({ name, input }: ThreadCall) => {
    void call(functions, name, input).then((reply) => sendReply(send, reply));
  });
  send({ kind: 'ready' });
}

function sendReply(send: (message: FromThread) => void, reply: FromThread): void {
  try {
    send(reply);
  } catch (error) {
    send(thrown(error)); // the result cannot be cloned
  }
}

async function call(functions: ThreadFunctions, name: string, input: unknown): Promise<FromThread> {
  try {
    const run = functions[name];
    if (!run) throw new TypeError(`The thread has no function "${name}".`);
    return { kind: 'returned', value: await run(input) };
  } catch (error) {
    return thrown(error);
  }
}

function thrown(error: unknown): FromThread {
  return {
    kind: 'threw',
    name: error instanceof Error ? error.name : typeof error,
    message: messageOf(error),
    code: error instanceof HeadworksError ? error.code : undefined,
  };
}
