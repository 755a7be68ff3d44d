// `headworks serve --processes`: real processes, with a provider and clients that decide when a response continues.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { folderWithStore } from '../support/embedded-database.ts';
import type { HeadworksProcess } from '../support/headworks-process.ts';
import { runHeadworks, startHeadworks } from '../support/headworks-process.ts';
import { databaseUrl, redisUrl, temporaryFolder, uniqueName } from '../support/services.ts';

const adminToken = 'admin-token-of-this-test';
const asAdmin = { authorization: `Bearer ${adminToken}` };

interface Provider {
  readonly url: string;
  readonly calls: () => number;
  /** Streams that have begun, and wait. */
  readonly waiting: () => number;
  /** Ends the streams that wait, and lets later ones pass. */
  release(): void;
}

/** Streams send one word and wait to be released. */
async function startProvider(): Promise<Provider> {
  let calls = 0;
  let isReleased = false;
  const waiting = new Set<ServerResponse>();
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const end = (response: ServerResponse) => response.end(`${chunk({ content: ' end' })}data: [DONE]\n\n`);
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    calls += 1;
    const { stream } = (await json(request)) as { readonly stream?: boolean };
    if (stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ role: 'assistant', content: 'begin' }));
      response.on('close', () => waiting.delete(response));
      if (isReleased) end(response);
      else waiting.add(response);
      return;
    }
    const message = { role: 'assistant', content: 'hello' };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    );
  };
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: () => calls,
    waiting: () => waiting.size,
    release: () => {
      isReleased = true;
      for (const response of waiting) end(response);
    },
  };
}

interface Served extends HeadworksProcess {
  readonly url: string;
  /** Of the gateway processes, in the order of their starts. */
  readonly pids: () => readonly number[];
}

type Kind = 'embedded' | 'server';

async function serve(
  kind: Kind,
  processes: number,
  { provider, env = {} }: { readonly provider: Provider; readonly env?: Record<string, string> },
): Promise<Served> {
  const folder = kind === 'embedded' ? await folderWithStore() : await temporaryFolder();
  const model = { name: 'mock', baseUrl: provider.url, envVar: 'MOCK_API_KEY' };
  const limited = { ...model, name: 'limited', quotas: { requestsPerMinute: 7 } };
  await writeFile(
    join(folder, 'headworks.yaml'),
    JSON.stringify({ gateway: { models: [model, limited], maxRetries: 0 } }),
  );
  const store: Record<string, string> =
    kind === 'embedded'
      ? {}
      : { DATABASE_URL: databaseUrl(), HEADWORKS_DATABASE_SCHEMA: uniqueName('processes') };
  const run = startHeadworks(['serve', '--port', '0', '--processes', String(processes), '--json'], folder, {
    ...store,
    MOCK_API_KEY: 'sk-mock-0123456789',
    HEADWORKS_ADMIN_TOKEN: adminToken,
    ...env,
  });
  const [, url = ''] = await run.printed(/"state":"ready".*?"url":"([^"]+)"/);
  const started = /"event":"server:process-started","pid":(\d+)/g;
  return { ...run, url, pids: () => [...run.stderr().matchAll(started)].map(([, pid]) => Number(pid)) };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One connection of its own. */
class Client {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
    onTestFinished(() => this.#agent.destroy());
  }

  /** Resolves with the headers. */
  async open(path: string, { method = 'GET', headers = asAdmin, body }: Sent = {}): Promise<IncomingMessage> {
    const request = httpRequest(this.#url + path, { method, headers, agent: this.#agent });
    // A server may respond and close before it has read everything.
    request.on('error', () => undefined);
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  async send(path: string, sent: Sent = {}): Promise<Answer> {
    const response = await this.open(path, sent);
    const body = await text(response);
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  }

  async json<T>(path: string, sent: Sent = {}): Promise<T> {
    const { status, body } = await this.send(path, sent);
    expect(status, body).toBeLessThan(300);
    return JSON.parse(body) as T;
  }

  chat(body: object = {}, credential = adminToken): Sent {
    return {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }], ...body }),
    };
  }

  complete(body?: object, credential?: string): Promise<Answer> {
    return this.send('/v1/chat/completions', this.chat(body, credential));
  }

  /** The rest of a stream that has begun; undefined when the connection was lost. */
  async stream(): Promise<Promise<string | undefined>[]> {
    const response = await this.open('/v1/chat/completions', this.chat({ stream: true }));
    expect(response.statusCode).toBe(200);
    await once(response, 'readable');
    return [text(response).catch(() => undefined)];
  }
}

const clients = (url: string, count: number): readonly Client[] =>
  Array.from({ length: count }, () => new Client(url));

/** As many streams, each on a connection of its own; they are handed out in turn. */
async function streams(url: string, count: number): Promise<readonly Promise<string | undefined>[]> {
  return (await Promise.all(clients(url, count).map((client) => client.stream()))).flat();
}

async function metric(client: Client, name: string): Promise<number> {
  const { body } = await client.send('/metrics');
  const lines = body.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const goneAll = (pids: readonly number[]) => expect.poll(() => pids.filter(isAlive)).toEqual([]);

describe.each(['embedded', 'server'] as const)('serve --processes on the store: %s', (kind) => {
  it('serves at one address, with one log of requests, usage, limits and metrics', async () => {
    const provider = await startProvider();
    // With a Redis server in one of the two: quotas are counted there, too.
    const env: Record<string, string> =
      kind === 'server' ? { REDIS_URL: redisUrl(), HEADWORKS_REDIS_KEY_PREFIX: uniqueName('processes') } : {};
    const server = await serve(kind, 3, { provider, env });
    expect(server.pids()).toHaveLength(2);
    const all = clients(server.url, 9);
    const [first = new Client(server.url)] = all;
    const { key } = await first.json<{ key: string }>('/api/v1/keys', {
      method: 'POST',
      headers: { ...asAdmin, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'limited', requests_per_minute: 11 }),
    });

    const statuses = (answers: readonly Answer[]) =>
      answers.map(({ status }) => status).sort((a, b) => a - b);
    const repeated = (count: number, send: (client: Client) => Promise<Answer>) =>
      Promise.all(all.flatMap((client) => Array.from({ length: count }, () => send(client))));
    expect(new Set(statuses(await repeated(4, (client) => client.complete())))).toEqual(new Set([200]));
    expect(provider.calls()).toBe(36);

    // A process that has not read the key yet passes the request on to the one that made it.
    const withKey = statuses(await repeated(4, (client) => client.complete({}, key)));
    expect(withKey).toEqual([...Array<number>(11).fill(200), ...Array<number>(25).fill(429)]);
    const callsBefore = provider.calls();
    await repeated(4, (client) =>
      client.send('/v1/chat/completions', {
        ...client.chat({ model: 'limited' }),
        headers: { ...client.chat().headers, 'x-headworks-fallback': 'none' },
      }),
    );
    expect(provider.calls() - callsBefore).toBe(7);

    const total = 36 + 11 + 7;
    await expect.poll(() => metric(first, 'headworks_gateway_attempts_total')).toBe(total);
    const route = 'headworks_http_requests_total{method="POST",route="/v1/chat/completions",status="200"}';
    await expect.poll(async () => (await first.send('/metrics')).body).toContain(`${route} ${total}`);
    expect(await metric(first, 'headworks_server_processes')).toBe(3);
    await expect
      .poll(async () => {
        const { usage } = await first.json<{ usage: { requests: number }[] }>('/api/v1/usage');
        return usage.reduce((sum, { requests }) => sum + requests, 0);
      })
      .toBe(total);
    const { requests } = await first.json<{ requests: { status: string }[] }>(
      '/api/v1/gateway/requests?limit=200',
    );
    expect(requests.filter(({ status }) => status === 'completed')).toHaveLength(total);

    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    await goneAll(server.pids());
  });

  it('replaces a process that is killed, which costs only its connections', async () => {
    const provider = await startProvider();
    const server = await serve(kind, 3, { provider });
    const [killed = 0] = server.pids();
    const open = await streams(server.url, 9);
    process.kill(killed, 'SIGKILL');
    await server.printed(/"event":"server:process-ended","pid":\d+,"cause":"SIGKILL"/);
    await expect.poll(() => provider.waiting()).toBe(6);
    await expect.poll(() => server.pids().length).toBe(3);
    provider.release();
    const bodies = await Promise.all(open);
    expect(bodies.filter((body) => body?.endsWith('data: [DONE]\n\n'))).toHaveLength(6);
    expect(bodies.filter((body) => body === undefined)).toHaveLength(3);
    const answers = await Promise.all(clients(server.url, 6).map((client) => client.complete()));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    const client = new Client(server.url);
    expect(await metric(client, 'headworks_gateway_process_ends_total')).toBe(1);
    expect(await metric(client, 'headworks_server_processes')).toBe(3);
  });

  it('lets requests in flight end when it is stopped, in every process', async () => {
    const provider = await startProvider();
    const server = await serve(kind, 3, { provider, env: { HEADWORKS_DRAIN_SECONDS: '120' } });
    const open = await streams(server.url, 6);
    // A terminal sends it to the whole group.
    for (const pid of server.pids()) process.kill(pid, 'SIGINT');
    server.child.kill('SIGINT');
    await server.printed(/"event":"server:stopping"/);
    // New connections get the response of a server that stops.
    await expect.poll(async () => (await new Client(server.url).send('/readyz')).status).toBe(503);
    expect((await new Client(server.url).complete()).status).toBe(503);
    provider.release();
    for (const body of await Promise.all(open)) expect(body).toMatch(/data: \[DONE\]\n\n$/);
    expect(await server.ended).toBe(130);
    await goneAll(server.pids());
  });
});

it('passes other requests on to the main process as if they had arrived there', async () => {
  const provider = await startProvider();
  const server = await serve('embedded', 2, { provider });
  const file = Buffer.from('Foxes are not dogs. '.repeat(1_000)).toString('base64');
  const upload = (name: string): Sent => ({
    method: 'POST',
    headers: { ...asAdmin, 'content-type': 'application/json' },
    body: JSON.stringify({ file: { name, content: file } }),
  });
  /** What depends neither on the moment nor on the connection. */
  const shape = ({ status, headers, body }: Answer) => ({
    status,
    headers: Object.keys(headers)
      .filter((name) => name !== 'x-request-id')
      .sort(),
    body: body.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|"(?:at|since)":"[^"]+"/g, 'ID'),
  });
  const both: unknown[][] = [];
  // One of the two connections belongs to each process.
  for (const [index, client] of clients(server.url, 2).entries()) {
    const answers = [
      await client.send('/healthz'),
      await client.send('/docs'),
      await client.send('/api/v1/caller'),
      await client.send('/api/v1/caller', { headers: {} }),
      await client.send('/v1/models'),
      await client.send('/v1/models', { headers: { 'x-api-key': 'hwk_unknown' } }),
      await client.send('/v1/models', { headers: {} }),
      await client.send('/v1/nothing'),
      await client.send('/healthz', { headers: { host: 'evil.example' } }),
      await client.send('/healthz', { headers: { host: 'evil.example', 'x-forwarded-host': 'localhost' } }),
      await client.send('/v1/models', { headers: { ...asAdmin, host: 'evil.example' } }),
      await client.send('/v1/models', { headers: { ...asAdmin, origin: 'https://evil.example' } }),
      await client.send('/api/v1/caller', { method: 'DELETE' }),
      await client.send('/nothing/../%2e%2e'),
      await client.send('/healthz', { method: 'HEAD' }),
      await client.send('/api/v1/knowledge/artifacts', upload(`foxes-${index}.txt`)),
      await client.send('/api/v1/models', {
        method: 'POST',
        headers: { ...asAdmin, 'content-type': 'application/json', expect: '100-continue' },
        body: '{}',
      }),
      await client.send('/api/v1/models', { method: 'POST', headers: asAdmin }),
    ];
    both.push(answers.map(shape));
  }
  expect(both[1]).toEqual(both[0]);
  const { artifacts } = await new Client(server.url).json<{ artifacts: unknown[] }>(
    '/api/v1/knowledge/artifacts',
  );
  expect(artifacts).toHaveLength(2);

  // Too large: the response arrives although the body is not read.
  for (const client of clients(server.url, 2)) {
    const tooLarge = await client.send('/api/v1/models', {
      method: 'POST',
      headers: { ...asAdmin, 'content-type': 'application/json' },
      body: `"${'x'.repeat(4_000_000)}"`,
    });
    expect(tooLarge.status).toBe(413);
    expect(JSON.parse(tooLarge.body)).toMatchObject({ error: { code: 'HTTP_BODY_TOO_LARGE' } });
  }

  // Streams: the main process sees a client that leaves, and clients see events of every process.
  const observer = new Client(server.url);
  const attached = await Promise.all(clients(server.url, 4).map((client) => client.open('/api/v1/attach')));
  await expect.poll(() => metric(observer, 'headworks_clients_attached')).toBe(4);
  for (const stream of attached) stream.destroy();
  await expect.poll(() => metric(observer, 'headworks_clients_attached')).toBe(0);
  for (const reader of clients(server.url, 2)) {
    const live = await reader.open('/api/v1/live?names=gateway:attempt-finished');
    let received = '';
    live.setEncoding('utf8').on('data', (piece: string) => (received += piece));
    await Promise.all(clients(server.url, 4).map((client) => client.complete()));
    await expect.poll(() => received.match(/event: gateway:attempt-finished/g)?.length).toBe(4);
    live.destroy();
  }

  // A client that leaves during a stream of the gateway ends the call of the provider, in either process.
  for (const client of clients(server.url, 2)) {
    const leaving = await client.open('/v1/chat/completions', client.chat({ stream: true }));
    await once(leaving, 'readable');
    expect(provider.waiting()).toBe(1);
    leaving.destroy();
    await expect.poll(() => provider.waiting()).toBe(0);
  }
  // Neither process takes what is not HTTP.
  for (let index = 0; index < 2; index++) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.end('nonsense\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  }
});

it('ends all processes when the main one is killed', async () => {
  const server = await serve('embedded', 3, { provider: await startProvider() });
  expect(server.pids().filter(isAlive)).toHaveLength(2);
  server.child.kill('SIGKILL');
  expect(await server.ended).toBe('SIGKILL');
  await goneAll(server.pids());
});

it('hands out again the connections that a killed process has not taken', async () => {
  const server = await serve('embedded', 2, { provider: await startProvider() });
  const [pid = 0] = server.pids();
  process.kill(pid, 'SIGSTOP');
  const all = clients(server.url, 12).map((client) => client.complete());
  let ended = 0;
  for (const each of all) void each.catch(() => undefined).finally(() => (ended += 1));
  // Every other one waits for the process.
  await expect.poll(() => ended).toBe(6);
  process.kill(pid, 'SIGKILL');
  const results = await Promise.allSettled(all);
  const statuses = results.map((result) => (result.status === 'fulfilled' ? result.value.status : 0));
  // One was being handed over.
  expect(statuses.toSorted((a, b) => a - b).slice(1)).toEqual(Array(11).fill(200));
});

it.each(['0', '65', 'x', '-1', '1.5', ''])('rejects --processes %j', async (value) => {
  const run = await runHeadworks(['serve', '--port', '0', '--processes', value], await temporaryFolder());
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).toMatch(/--processes.*auto, or a whole number from 1 to 64/);
});

it('reports a port in use once, and starts nothing', async () => {
  const occupied = createServer().listen(0, '127.0.0.1');
  await once(occupied, 'listening');
  onTestFinished(() => void occupied.close());
  const { port } = occupied.address() as AddressInfo;
  const run = await runHeadworks(
    ['serve', '--port', String(port), '--processes', '3'],
    await folderWithStore(),
  );
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toMatch(/^headworks: Port \d+ .*in use.*\n$/);
});
