// The tenant API over real HTTP, on virtual time and executions in memory.
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import type { VirtualClock } from '../core/virtual-clock.ts';
import { buildServer } from '../../../src/http/index.ts';
import type { ExecutionWorld, ExecutionWorldOptions } from './execution-world.ts';
import { acme, executionWorld, other } from './execution-world.ts';
import { organizationKeysOf, createTestDeps } from '../http-dependencies.ts';
import { emptyTenantServices } from './tenant-services.ts';

export const acmeKey = 'hwo_acme-key';
export const otherKey = 'hwo_other-key';
export const asAcme = { authorization: `Bearer ${acmeKey}` } as const;
export const deploymentPath = '/deployment/api/acme/invoices';

export interface TenantApiWorld extends ExecutionWorld {
  readonly clock: VirtualClock;
  readonly server: FastifyInstance;
  readonly url: string;
  readonly port: number;
  /** Calls the tenant API and parses the response as JSON. */
  call(method: string, path: string, init?: CallInit): Promise<TenantResponse>;
  /** A socket that has sent this text; `received` returns the response so far. */
  socket(text: string): RawSocket;
}

export interface CallInit {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FormData | ReadableStream;
  readonly signal?: AbortSignal;
}

export interface TenantResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly execution_id: string;
    readonly status: string;
    readonly status_api: string;
    readonly result: unknown;
    readonly type: string;
    readonly errors: readonly {
      readonly code: string;
      readonly detail: string;
      readonly attr: string | null;
    }[];
  };
}

export interface RawSocket {
  readonly socket: Socket;
  readonly received: () => string;
  readonly closed: Promise<void>;
}

export async function tenantApiWorld(
  input: Omit<ExecutionWorldOptions, 'clock'> = {},
): Promise<TenantApiWorld> {
  const { clock, dependencies } = createTestDeps();
  const world = await executionWorld({ ...input, clock });
  const server = await buildServer({
    ...dependencies,
    access: {
      ...dependencies.access,
      organizationKeys: organizationKeysOf({ [acmeKey]: acme, [otherKey]: other }),
    },
    tenants: { ...emptyTenantServices, starter: world.starter, executions: world.executions },
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const { port } = server.server.address() as AddressInfo;
  return {
    ...world,
    clock,
    server,
    url,
    port,
    call: async (method, path, { headers = asAcme, ...init } = {}) => {
      const request: RequestInit = { method, headers, duplex: 'half', ...init };
      const answer = await fetch(url + path, request);
      return {
        status: answer.status,
        headers: answer.headers,
        body: (await answer.json()) as TenantResponse['body'],
      };
    },
    socket: (text) => {
      const socket = connect(port, '127.0.0.1');
      let received = '';
      socket.setEncoding('utf8').on('data', (piece: string) => (received += piece));
      socket.on('error', () => undefined);
      socket.write(text);
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      onTestFinished(() => void socket.destroy());
      return { socket, received: () => received, closed };
    },
  };
}

/** The head of a request with a body of `length` bytes, as raw text. */
export const rawHead = (length: number, contentType = 'application/json', more = ''): string =>
  `POST ${deploymentPath} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${acmeKey}\r\n` +
  `content-type: ${contentType}\r\ncontent-length: ${length}\r\n${more}\r\n`;
