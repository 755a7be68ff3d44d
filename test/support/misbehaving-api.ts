// A small API with a login, served in memory or over HTTP, with the faults of source.contract.ts.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Misbehavior } from './extraction/source.contract.ts';
import type {
  InMemoryResponse,
  InMemoryHandler,
  InMemoryRequest,
} from './http-client/in-memory-transport.ts';

export interface MisbehavingApi {
  readonly handler: InMemoryHandler;
  sendTotal(isSent: boolean): void;
  misbehave(how: Misbehavior | null, times?: number): void;
  misbehaveAtLogin(how: number | 'hang' | null): void;
  expireTokens(): void;
  /** Lifetime of tokens. */
  setLifetime(seconds: number): void;
  contentCalls(): number;
  logins(): number;
  /** Path and query of each content call. */
  readonly requested: string[];
}

export interface MisbehavingApiOptions {
  readonly loginPath: string;
  /** The token in a request, if any. */
  tokenIn(request: InMemoryRequest): string | undefined;
  loginAnswer(token: string, lifetimeSeconds: number): unknown;
  refusal(status: number): unknown;
  /** A valid response; `hasTotal`: with the total. */
  content(request: InMemoryRequest, hasTotal: boolean): InMemoryResponse;
}

export function createMisbehavingApi(parts: MisbehavingApiOptions): MisbehavingApi {
  const tokens = new Set<string>();
  const requested: string[] = [];
  let [logins, isTotalSent, lifetime, left] = [0, true, 3_600, 0];
  let how: Misbehavior | null = null;
  let atLogin: number | 'hang' | null = null;
  const json = (status: number, value: unknown): InMemoryResponse => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  });

  async function login({ signal }: InMemoryRequest): Promise<InMemoryResponse> {
    logins += 1;
    if (atLogin === 'hang') await forever(signal);
    else if (atLogin !== null) return json(atLogin, parts.refusal(atLogin));
    const token = `access-token-${logins}`;
    tokens.add(token);
    return json(200, parts.loginAnswer(token, lifetime));
  }

  const handler: InMemoryHandler = async (request) => {
    if (request.url.pathname === parts.loginPath) return login(request);
    requested.push(request.url.pathname + request.url.search);
    if (how !== null && left > 0) {
      left -= 1;
      return misbehaved(how, request, parts);
    }
    if (!tokens.has(parts.tokenIn(request) ?? '')) return json(401, parts.refusal(401));
    return parts.content(request, isTotalSent);
  };

  return {
    handler,
    requested,
    sendTotal: (isSent) => (isTotalSent = isSent),
    misbehave: (next, times = Number.POSITIVE_INFINITY) => ([how, left] = [next, times]),
    misbehaveAtLogin: (next) => (atLogin = next),
    expireTokens: () => tokens.clear(),
    setLifetime: (seconds) => (lifetime = seconds),
    contentCalls: () => requested.length,
    logins: () => logins,
  };
}

async function misbehaved(
  how: Misbehavior,
  { signal }: InMemoryRequest,
  parts: MisbehavingApiOptions,
): Promise<InMemoryResponse> {
  if (typeof how === 'number')
    return {
      status: how,
      headers: { 'content-type': 'application/json', ...(how === 429 ? { 'retry-after': '7' } : {}) },
      body: JSON.stringify(parts.refusal(how)),
    };
  const ok = { status: 200, headers: { 'content-type': 'application/json' } };
  switch (how) {
    case 'hang':
      await forever(signal);
      return ok;
    case 'silent':
      return { ...ok, body: pieces('[', () => forever(signal)) };
    case 'drip':
      return { ...ok, body: pieces('[', () => sleep(20, undefined, { signal })) };
    case 'truncated':
      return { ...ok, body: pieces('[', () => Promise.reject(new Error('cut'))) };
    case 'huge':
      return { ...ok, body: `[${' '.repeat(200_000)}]` };
    case 'page':
      return { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Hello</html>' };
    case 'nothing':
      return ok;
    case 'reset':
  }
  throw new Error('reset');
}

const forever = (signal: AbortSignal): Promise<void> => sleep(3_600_000, undefined, { signal });

async function* pieces(piece: string, between: () => Promise<void>): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.from(piece);
    await between();
  }
}

export interface ServedApi {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** Serves such a handler over real HTTP, on a free loopback port. */
export async function serveHandler(handler: InMemoryHandler): Promise<ServedApi> {
  const server = createServer((request, response) => {
    serve(handler, request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  handler: InMemoryHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const body: Buffer[] = [];
  for await (const piece of request) body.push(piece as Buffer);
  const answer = await handler({
    method: request.method as 'GET',
    url: new URL(request.url ?? '/', 'http://server.test'),
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    ),
    body: Buffer.concat(body),
    signal: leaving.signal,
  });
  response.writeHead(answer.status, { ...answer.headers } as Record<string, string>);
  if (typeof answer.body !== 'object' || answer.body instanceof Uint8Array) {
    response.end(answer.body);
    return;
  }
  for await (const piece of answer.body) if (!response.write(piece)) await once(response, 'drain');
  response.end();
}
