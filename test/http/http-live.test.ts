import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { HttpResponse } from '../../src/core/index.ts';
import { HttpFailure } from '../../src/core/index.ts';
import { buildServer, drain } from '../../src/http/index.ts';
import { StreamedEvent } from '../../src/api/server.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { adminToken, asAdmin, createTestDeps } from '../support/http-dependencies.ts';

interface Read {
  readonly id: string | undefined;
  readonly name: string;
  readonly data: { readonly payload?: Record<string, unknown>; readonly reason?: string };
}

/** Reads a stream in the background; returns what arrived so far, and whether it has ended. */
class Reader {
  readonly events: Read[] = [];
  readonly comments: string[] = [];
  readonly ended: Promise<unknown>;

  constructor(answer: HttpResponse) {
    this.ended = this.#read(answer);
    // Most tests end before their streams do.
    this.ended.catch(() => undefined);
  }

  names(): string[] {
    return this.events.map(({ name }) => name);
  }

  async #read(answer: HttpResponse): Promise<void> {
    let rest = '';
    for await (const piece of answer.body) {
      const blocks = (rest + Buffer.from(piece).toString()).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string): void {
    if (block.startsWith(':')) this.comments.push(block);
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    const name = field('event');
    if (name !== undefined)
      this.events.push({ id: field('id'), name, data: JSON.parse(field('data') ?? '') as Read['data'] });
  }
}

async function listening(change: Parameters<typeof createTestDeps>[0] = {}) {
  const setup = createTestDeps(change);
  const server = await buildServer(setup.dependencies);
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  const transport = createUndiciTransport({});
  onTestFinished(async () => {
    await transport.close();
    await server.close();
  });
  const get = (path: string, headers: Record<string, string> = asAdmin, signal?: AbortSignal) =>
    transport.request({ method: 'GET', url: url + path, headers, ...(signal ? { signal } : {}) });
  const read = async (path: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    new Reader(await get(path, { ...asAdmin, ...headers }, signal));
  const happen = (thingId: string) => setup.bus.emit('test:happened', { thingId, text: 'content' });
  return { ...setup, server, url, get, read, happen };
}

const things = (reader: Reader) =>
  reader.events.filter(({ name }) => name === 'test:happened').map(({ data }) => data.payload?.['thing_id']);

describe('the live stream', () => {
  it('sends every event as it happens, without content and secrets', async () => {
    const { read, happen, bus } = await listening();
    const reader = await read('/api/v1/live?names=test:');
    happen('a');
    bus.emit('test:happened', { thingId: `x ${adminToken}`, text: 'content' });
    await expect.poll(() => reader.events).toHaveLength(2);
    expect(reader.events[0]).toEqual({
      name: 'test:happened',
      data: { name: 'test:happened', at: '2026-03-01T12:00:00.000Z', payload: { thing_id: 'a' } },
    });
    expect(things(reader)[1]).toBe('x [redacted]');
    for (const { data } of reader.events) StreamedEvent.parse(data);
  });

  it('sends an event with the operation id for every change, and none for reads and rejections', async () => {
    const setup = createTestDeps();
    const server = await buildServer(setup.dependencies);
    onTestFinished(() => server.close());
    const call = (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) =>
      server.inject({ method, url: `/api/v1${url}`, headers: asAdmin, ...(payload ? { payload } : {}) });
    await call('POST', '/dashboard/login-links');
    await call('GET', '/jobs');
    await call('POST', '/organizations', { nonsense: 'secret' });
    await call('DELETE', '/extraction/sources/none');
    expect(setup.emitted.filter(({ name }) => name === 'http:changed')).toMatchObject([
      { payload: { operation: 'dashboard.create-login-link' } },
    ]);
    expect(JSON.stringify(setup.emitted)).not.toContain('nonsense');
  });

  it('can be filtered by prefixes of event names', async () => {
    const { read, get, happen, bus } = await listening();
    const reader = await read('/api/v1/live?names=ledger:,test:');
    happen('a');
    bus.emit('ledger:lost', { kind: 'k', subject: 's', cause: 'c', count: 1 });
    await (await get('/healthz')).discard();
    happen('b');
    await expect.poll(() => reader.names()).toEqual(['test:happened', 'ledger:lost', 'test:happened']);
    expect((await get('/api/v1/live?names=BAD')).status).toBe(400);
  });

  it('sends heartbeats', async () => {
    const { read, clock } = await listening({ limits: { heartbeatMs: 1_000 } });
    const reader = await read('/api/v1/live');
    await clock.advance(3_500);
    await expect.poll(() => reader.comments).toHaveLength(3);
  });

  it('removes readers that disconnect', async () => {
    const { server, read } = await listening();
    const controller = new AbortController();
    const reader = await read('/api/v1/live', {}, controller.signal);
    expect(server.openStreams.size).toBe(1);
    controller.abort();
    await expect(reader.ended).rejects.toBeInstanceOf(HttpFailure);
    await expect.poll(() => server.openStreams.size).toBe(0);
  });

  /** A client that opens the stream and never reads it. */
  async function neverReads(url: string): Promise<void> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.pause();
    socket.write(
      `GET /api/v1/live HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${adminToken}\r\n\r\n`,
    );
  }

  it('disconnects a reader that does not read, and serves the others in order', async () => {
    const { server, url, clock, emitted, happen, read } = await listening({
      limits: { streamBufferBytes: 50_000 },
    });
    await neverReads(url);
    await expect.poll(() => server.openStreams.size).toBe(1);
    const reader = await read('/api/v1/live');
    const isDropped = () => emitted.some(({ name }) => name === 'http:stream-dropped');
    // The kernel buffers some megabytes before the server does.
    for (let count = 0; count < 200_000 && !isDropped(); count++) {
      happen('x'.repeat(1_000));
      if (count % 10 === 0) await nextTurn();
    }
    expect(isDropped()).toBe(true);
    await clock.advance(6_000);
    await expect.poll(() => server.openStreams.size).toBe(1);
    await expect.poll(() => reader.names()).toContain('http:stream-dropped');
    expect(things(reader).every((thing) => thing === 'x'.repeat(1_000))).toBe(true);
  });

  it('limits the number of open streams', async () => {
    const { read, get } = await listening({ limits: { maxStreams: 1 } });
    await read('/api/v1/live');
    const refused = await get('/api/v1/live');
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('10');
    await refused.discard();
  });
});

describe('being attached', () => {
  it('lasts as long as the response is open', async () => {
    const { read, attached } = await listening();
    const controller = new AbortController();
    const reader = await read('/api/v1/attach', {}, controller.signal);
    await expect.poll(() => reader.events).toEqual([{ name: 'attached', data: { instance: 'instance-a' } }]);
    expect(attached.count).toBe(1);
    controller.abort();
    await expect(reader.ended).rejects.toBeInstanceOf(HttpFailure);
    await expect.poll(() => attached.count).toBe(0);
  });

  it('ends when the client disconnects', async () => {
    const { url, attached } = await listening();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      `GET /api/v1/attach HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${adminToken}\r\n\r\n`,
    );
    await expect.poll(() => attached.count).toBe(1);
    socket.resetAndDestroy();
    await expect.poll(() => attached.count).toBe(0);
  });

  it('does not count a client when no stream is available', async () => {
    const { get, read, attached } = await listening({ limits: { maxStreams: 1 } });
    await read('/api/v1/live');
    await (await get('/api/v1/attach')).discard();
    expect(attached.count).toBe(0);
  });
});

describe('draining', () => {
  it('finishes requests in flight, ends streams, and rejects new requests', async () => {
    const work = Promise.withResolvers<{ checks: [] }>();
    const { server, get, read } = await listening({ doctor: () => work.promise });
    const stream = await read('/api/v1/live');
    const begun = get('/api/v1/doctor');
    await expect.poll(() => server.traffic.inFlight).toBe(2);

    const draining = drain(server, 60_000);
    const refused = await get('/api/v1/jobs');
    expect(refused.status).toBe(503);
    expect(refused.headers).toMatchObject({ connection: 'close', 'retry-after': '2' });
    expect(JSON.parse(Buffer.from(await refused.bytes(1_000)).toString())).toMatchObject({
      error: { code: 'SHUTTING_DOWN' },
    });
    const ready = await get('/readyz');
    expect(ready.status).toBe(503);
    expect(JSON.parse(Buffer.from(await ready.bytes(1_000)).toString())).toMatchObject({ is_draining: true });
    const alive = await get('/healthz');
    expect(alive.status).toBe(200);
    await alive.discard();
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ name: 'stream:closing', data: { reason: 'draining' } });

    work.resolve({ checks: [] });
    const finished = await begun;
    expect(finished.status).toBe(200);
    await finished.discard();
    expect(await draining).toEqual({ forciblyClosed: 0 });
    await expect(get('/healthz')).rejects.toMatchObject({ kind: 'network' });
    expect(await drain(server, 1)).toEqual({ forciblyClosed: 0 });
  });

  it('aborts requests that take longer than the grace period, and reports how many', async () => {
    const { server, get, clock } = await listening({ doctor: () => new Promise(() => undefined) });
    const hanging = get('/api/v1/doctor');
    hanging.catch(() => undefined);
    await expect.poll(() => server.traffic.inFlight).toBe(1);
    expect(await clock.run(drain(server, 5_000))).toEqual({ forciblyClosed: 1 });
    await expect(hanging).rejects.toMatchObject({ kind: 'network' });
  });
});

describe('traffic', () => {
  it('reports each request once, by route pattern, also when the client disconnects', async () => {
    const { get, emitted } = await listening({ doctor: () => new Promise(() => undefined) });
    await (await get('/healthz?token=abc')).discard();
    await (await get('/no/such/path')).discard();
    const controller = new AbortController();
    const left = get('/api/v1/doctor', asAdmin, controller.signal);
    setTimeout(() => controller.abort(), 50);
    await expect(left).rejects.toMatchObject({ kind: 'aborted' });
    const reported = () =>
      emitted
        .filter(({ name }) => name === 'http:request-finished')
        .map(({ payload }) => `${String(payload['route'])} ${String(payload['status'])}`);
    await expect.poll(reported).toEqual(['/healthz 200', 'unmatched 404', '/api/v1/doctor 499']);
  });

  it.each([
    ['GET', '/api/v1/doctor'],
    ['POST', '/api/v1/ledger/repair'],
  ] as const)('ends %s %s with 504 at its deadline of 60 s', async (method, path) => {
    const never = () => new Promise<never>(() => undefined);
    const { dependencies } = createTestDeps();
    const { url, clock } = await listening({
      doctor: never,
      jobs: { ...dependencies.jobs, enqueue: never },
    });
    const headers = { ...asAdmin, 'content-type': 'application/json' };
    const response = fetch(url + path, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) });
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    await clock.advance(59_999);
    const isOver = response.then(() => true);
    expect(await Promise.race([isOver, nextTurn(false)])).toBe(false);
    await clock.advance(1);
    expect((await response).status).toBe(504);
    expect(await (await response).text()).toContain('DEADLINE_EXCEEDED');
  });

  it('aborts the signal of a handler with a body at its deadline (B2)', async () => {
    let signal: AbortSignal | undefined;
    const { url, clock } = await listening({
      mcp: (call) => {
        signal = call.signal;
        return new Promise(() => undefined);
      },
    });
    const response = fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        ...asAdmin,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{}',
    });
    await expect.poll(() => signal).toBeDefined();
    expect(signal?.aborted).toBe(false);
    await clock.advance(120_000);
    expect((await response).status).toBe(504);
    expect(signal?.reason).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });
});
