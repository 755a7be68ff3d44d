// How a server listens: its settings, its address, and why it cannot.
import { once } from 'node:events';
import { Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/index.ts';
import { CoreError, messageOf } from '../core/index.ts';
import type { ServerDeps } from '../http/index.ts';

export function serverSettings({ server }: Config) {
  return {
    metricsAccess: server.metricsAccess,
    boundHost: server.host,
    allowedHosts: server.allowedHosts,
    allowedOrigins: server.allowedOrigins,
    limits: {
      bodyLimitBytes: server.bodyLimitBytes,
      requestTimeoutMs: server.requestTimeoutSeconds * 1000,
      organizationConcurrency: server.organizationConcurrency,
    },
  } satisfies Partial<ServerDeps>;
}

/** Returns the address. Fails with PORT_UNAVAILABLE. */
export async function listen(server: FastifyInstance | Server, host: string, port: number): Promise<string> {
  const node = server instanceof Server ? server : server.server;
  try {
    if (server instanceof Server) await once(server.listen({ host, port }), 'listening');
    else await server.listen({ host, port });
  } catch (error) {
    throw new CoreError('PORT_UNAVAILABLE', listenFailure(error as NodeJS.ErrnoException, host, port), {
      cause: error,
    });
  }
  const bound = node.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return `http://${name}:${bound.port}`;
}

function listenFailure(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use by another program. Choose another with --port or HEADWORKS_PORT (0 uses any free port).`;
    case 'EACCES':
      return `This user is not allowed to listen on port ${port}. Choose one above 1023 with --port or HEADWORKS_PORT.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${host}. Choose another with --host or HEADWORKS_HOST.`;
    default:
      return `Cannot listen on ${host}:${port}: ${messageOf(error)}.`;
  }
}
