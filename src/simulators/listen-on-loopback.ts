// A simulator's HTTP server, on the loopback interface only.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CoreError, messageOf } from '../core/index.ts';

const host = '127.0.0.1';

/** Its address once it listens. Fails with PORT_UNAVAILABLE. */
export async function listenOnLoopback(server: Server, port: number): Promise<string> {
  // A connection that closes just as it is used again would be a fault that nobody ordered.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(unavailable(error, port)));
    server.listen(port, host, resolve);
  });
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

function unavailable(error: NodeJS.ErrnoException, port: number): CoreError {
  const why =
    error.code === 'EADDRINUSE'
      ? `Port ${port} on ${host} is in use by another program. Choose another with --port (0 takes any free one).`
      : `Cannot listen on ${host}:${port}: ${messageOf(error)}.`;
  return new CoreError('PORT_UNAVAILABLE', why, { cause: error });
}
