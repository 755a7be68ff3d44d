// A provider that only lists its models, over real HTTP.
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ListServer {
  /** Without a trailing slash. */
  readonly url: string;
  /** Requests so far: path with query, and headers. */
  readonly requests: readonly Pick<IncomingMessage, 'url' | 'headers'>[];
  /** What it sends from now on. */
  respond(body: unknown, status?: number): void;
  /** Responds by path and query. */
  respondBy(find: (path: string) => unknown): void;
}

/** Stops with the test. */
export async function startListServer(): Promise<ListServer> {
  const requests: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
  let find: (path: string) => unknown = () => ({ data: [] });
  let status = 200;
  const server = createServer((request, response) => {
    requests.push({ url: request.url, headers: request.headers });
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(find(request.url ?? '')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    respond: (body, given = 200) => {
      find = () => body;
      status = given;
    },
    respondBy: (given) => {
      find = given;
      status = 200;
    },
  };
}
