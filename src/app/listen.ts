// Listens, and says in one line why it cannot.
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { CoreError, messageOf } from '../core/index.ts';

/** The address people can open. Fails with PORT_UNAVAILABLE. */
export async function listen(server: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    throw new CoreError('PORT_UNAVAILABLE', why(error as NodeJS.ErrnoException, host, port), {
      cause: error,
    });
  }
  const bound = server.server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return `http://${name}:${bound.port}`;
}

function why(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use by another program. Choose another with --port or HEADWORKS_PORT (0 takes any free one).`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023 with --port or HEADWORKS_PORT.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${host}. Choose another with --host or HEADWORKS_HOST.`;
    default:
      return `Cannot listen on ${host}:${port}: ${messageOf(error)}.`;
  }
}
