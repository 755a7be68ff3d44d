// A real HTTP server with the faulty paths of http-transport.contract.ts.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface BadlyBehavedServer {
  readonly baseUrl: string;
  inFlight(): number;
  stop(): Promise<void>;
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body: Buffer[] = [];
  for await (const piece of request) body.push(piece as Buffer);
  const answer = {
    method: request.method,
    test: request.headers['x-test'],
    body: Buffer.concat(body).toString(),
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

async function drip(response: ServerResponse): Promise<void> {
  for (let digit = 0; digit < 10; digit++) {
    response.write(String(digit));
    await sleep(20);
  }
  response.end();
}

async function flood(response: ServerResponse): Promise<void> {
  const piece = Buffer.alloc(16_384);
  const closed = once(response, 'close');
  while (!response.destroyed) {
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed]);
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  switch (new URL(request.url ?? '/', 'http://server.test').pathname) {
    case '/echo':
      return echo(request, response);
    case '/limited':
      response.setHeader('x-many', ['a', 'b']).setHeader('x-client-port', String(request.socket.remotePort));
      response.writeHead(429, { 'retry-after': '7', 'content-length': '4' });
      response.end(request.method === 'HEAD' ? undefined : 'slow');
      return;
    case '/empty':
      response.writeHead(204).end();
      return;
    case '/hang':
      return;
    case '/silent':
      response.writeHead(200).write('part');
      return;
    case '/truncated':
      response.writeHead(200, { 'content-length': '100' }).write('part', () => response.destroy());
      return;
    case '/drip':
      return drip(response);
    case '/huge':
      return flood(response);
    default:
      request.socket.destroy();
  }
}

export async function startBadlyBehavedServer(): Promise<BadlyBehavedServer> {
  let openResponses = 0;
  const server = createServer((request, response) => {
    openResponses += 1;
    response.once('close', () => (openResponses -= 1));
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    inFlight: () => openResponses,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
