// The HTTP server of a simulator, on the loopback interface only.
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CoreError, messageOf } from '../core/index.ts';

const host = '127.0.0.1';
/** Tests open a thousand connections at once; with the default of 511 some would be reset. */
const backlog = 4_096;

/** Starts listening and returns the address. Fails with PORT_UNAVAILABLE. */
export async function listenOnLoopback(server: Server, port: number): Promise<string> {
  // A connection that closes just as it is reused would be a fault that was not configured.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(unavailable(error, port)));
    server.listen({ port, host, backlog }, resolve);
  });
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

function unavailable(error: NodeJS.ErrnoException, port: number): CoreError {
  const why =
    error.code === 'EADDRINUSE'
      ? `Port ${port} on ${host} is in use by another program. Choose another with --port (0 uses any free port).`
      : `Cannot listen on ${host}:${port}: ${messageOf(error)}.`;
  return new CoreError('PORT_UNAVAILABLE', why, { cause: error });
}

export const stopServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

const defaultMaxBytes = 1_000_000;

/** The body of a request. Fails with a RangeError when it is too large. */
export async function readBody(request: IncomingMessage, maxBytes = defaultMaxBytes): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new RangeError(`The body is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
