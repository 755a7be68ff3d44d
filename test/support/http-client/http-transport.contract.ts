// The contract of HttpTransport, run by each implementation.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HttpCall, HttpResponse, HttpRequest, HttpTransport } from '../../../src/core/index.ts';
import { HttpFailure } from '../../../src/core/index.ts';

/**
 * A server with these paths: `/echo` (method, x-test header and body as JSON), `/limited` (429, `retry-after: 7`, two
 * `x-many` headers, short body), `/empty` (204), `/hang` (never responds), `/silent` ("part", then nothing),
 * `/reset` (disconnects before the response), `/truncated` (in the middle), `/drip` (ten pieces, 20 ms apart),
 * `/huge` (never ends).
 */
export interface TransportWorld {
  readonly transport: Required<HttpTransport>;
  readonly baseUrl: string;
  /** Responses in flight on the server: 0 once the server has detected that its clients disconnected. */
  inFlight(): number;
  stop(): Promise<void>;
}

const text = async (answer: HttpResponse): Promise<string> =>
  Buffer.from(await answer.bytes(1_000_000)).toString();

export function describeHttpTransportContract(name: string, makeWorld: () => Promise<TransportWorld>): void {
  describe(`${name} as an HTTP transport`, () => {
    let world: TransportWorld;
    const get = (path: string, more: Partial<HttpRequest> = {}) =>
      world.transport.request({ method: 'GET', url: world.baseUrl + path, ...more });
    const serverIsIdle = () => vi.waitFor(() => expect(world.inFlight()).toBe(0), { timeout: 60_000 });

    beforeEach(async () => {
      world = await makeWorld();
    });
    afterEach(async () => {
      await world.transport.close();
      await world.stop();
    });

    describe('with callbacks', () => {
      /** What was called, chunks joined. */
      const send = (path: string, more: Partial<HttpRequest> = {}, onHead?: (call: HttpCall) => void) =>
        new Promise<{ status?: number; headers?: object; body: string; failure?: HttpFailure }>((resolve) => {
          const seen: { status?: number; headers?: object; body: string } = { body: '' };
          const call = world.transport.send(
            { method: 'GET', url: world.baseUrl + path, ...more },
            {
              onHead: (status, headers) => {
                Object.assign(seen, { status, headers });
                onHead?.(call);
              },
              onChunk: (chunk) => void (seen.body += Buffer.from(chunk).toString()),
              onEnd: () => resolve(seen),
              onFailure: (failure) => resolve({ ...seen, failure }),
            },
          );
        });

      it('returns status, headers and body', async () => {
        const echoed = await send('/echo', { method: 'POST', headers: { 'X-Test': 'yes' }, body: 'hällo' });
        expect(echoed).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
        expect(JSON.parse(echoed.body)).toEqual({ method: 'POST', test: 'yes', body: 'hällo' });
        expect(await send('/limited')).toMatchObject({ status: 429, headers: { 'x-many': 'a, b' } });
        expect(await send('/empty')).toMatchObject({ status: 204, body: '' });
      });

      it.each([
        ['/hang', { headersTimeoutMs: 40 }, { kind: 'timeout', wait: 'headers' }],
        ['/hang', { responseTimeoutMs: 40 }, { kind: 'timeout', wait: 'response' }],
        ['/silent', { bodyTimeoutMs: 40 }, { kind: 'timeout', wait: 'body' }],
        ['/drip', { responseTimeoutMs: 100 }, { kind: 'timeout', wait: 'response' }],
        ['/reset', {}, { kind: 'network' }],
        ['/truncated', {}, { kind: 'network' }],
      ])('fails at %s with %o', async (path, more, failure) => {
        expect(await send(path, more)).toMatchObject({ failure });
        await serverIsIdle();
      });

      it('does not time out between chunks that arrive in time', async () => {
        expect(await send('/drip', { bodyTimeoutMs: 10_000 })).not.toHaveProperty('failure');
      });

      it('limits the rest of a response', async () => {
        const limited = await send('/silent', {}, (call) => call.limit(40));
        expect(limited).toMatchObject({ status: 200, failure: { kind: 'timeout', wait: 'response' } });
        await serverIsIdle();
      });

      it('ends with the failure of an abort, from any state', async () => {
        const stopped = new HttpFailure('aborted', 'stopped');
        const inBody = await send('/silent', {}, (call) => call.abort(stopped));
        expect(inBody.failure).toBe(stopped);
        const failure = await new Promise((resolve) => {
          const ignore = () => undefined;
          const receiver = { onHead: ignore, onChunk: ignore, onEnd: ignore, onFailure: resolve };
          world.transport.send({ method: 'GET', url: `${world.baseUrl}/hang` }, receiver).abort(stopped);
        });
        expect(failure).toBe(stopped);
        await serverIsIdle();
      });
    });

    it('sends method, headers and body, and returns status, headers and body', async () => {
      const answer = await get('/echo', { method: 'POST', headers: { 'X-Test': 'yes' }, body: 'hällo' });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(JSON.parse(await text(answer))).toEqual({ method: 'POST', test: 'yes', body: 'hällo' });
    });

    it('does not send a request that its caller withdraws', async () => {
      await expect(get('/echo', { onSent: () => false })).rejects.toMatchObject({ kind: 'aborted' });
    });

    it('reports once when the request was sent, before its response', async () => {
      const calls: string[] = [];
      const pending = get('/echo', { onSent: () => void calls.push('sent') });
      await text(await pending.finally(() => calls.push('responded')));
      expect(calls).toEqual(['sent', 'responded']);
      const stopped = get('/echo', {
        signal: AbortSignal.abort(),
        onSent: () => void calls.push('too much'),
      });
      await expect(stopped).rejects.toMatchObject({ kind: 'aborted' });
      expect(calls).toHaveLength(2);
    });

    it('returns an error status as a response, with repeated headers joined', async () => {
      const answer = await get('/limited');
      expect(answer.status).toBe(429);
      expect(answer.headers['retry-after']).toBe('7');
      expect(answer.headers['x-many']).toBe('a, b');
      await answer.discard();
    });

    it('reads a response without a body', async () => {
      expect(await text(await get('/empty'))).toBe('');
      const head = await get('/limited', { method: 'HEAD' });
      expect({ status: head.status, body: await text(head) }).toEqual({ status: 429, body: '' });
    });

    it('times out on a server that never responds', async () => {
      await expect(get('/hang', { headersTimeoutMs: 40 })).rejects.toMatchObject({
        kind: 'timeout',
        wait: 'headers',
      });
      await serverIsIdle();
    });

    it('times out on a response that stalls, and returns what arrived before', async () => {
      const answer = await get('/silent', { bodyTimeoutMs: 60 });
      const read: string[] = [];
      const reading = (async () => {
        for await (const piece of answer.body) read.push(Buffer.from(piece).toString());
      })();
      await expect(reading).rejects.toMatchObject({ kind: 'timeout', wait: 'body' });
      expect(read.join('')).toBe('part');
      await serverIsIdle();
    });

    it('does not time out on a slow response that makes progress', async () => {
      expect(await text(await get('/drip', { bodyTimeoutMs: 2_000 }))).toBe('0123456789');
    });

    it('times out on a response that is not complete in time, at any stage', async () => {
      for (const path of ['/hang', '/silent', '/drip']) {
        const reading = get(path, { responseTimeoutMs: 60 }).then(text);
        await expect(reading).rejects.toMatchObject({ kind: 'timeout', wait: 'response' });
      }
      await serverIsIdle();
      expect(await text(await get('/drip', { responseTimeoutMs: 5_000 }))).toBe('0123456789');
    });

    it.each(['/silent', '/drip'])('waits for a body (%s) as long as its reader does', async (path) => {
      const answer = await get(path);
      await expect(answer.bytes(1_000, 60)).rejects.toMatchObject({ kind: 'timeout' });
      await serverIsIdle();
      expect(Buffer.from(await (await get('/drip')).bytes(1_000, 5_000)).toString()).toBe('0123456789');
    });

    it.each(['/reset', '/truncated'])(
      'classifies a closed connection (%s) as a network failure',
      async (path) => {
        const reading = get(path).then(text);
        await expect(reading).rejects.toMatchObject({ name: 'HttpFailure', kind: 'network' });
      },
    );

    it('rejects a response above the maximum size, and closes the connection', async () => {
      const answer = await get('/huge');
      await expect(answer.bytes(100_000)).rejects.toMatchObject({ kind: 'too-large' });
      await serverIsIdle();
    });

    it('sends nothing when the signal has already aborted', async () => {
      await expect(get('/echo', { signal: AbortSignal.abort(new Error('no')) })).rejects.toMatchObject({
        kind: 'aborted',
      });
    });

    it('propagates an abort to the server, before and during the response', async () => {
      const early = new AbortController();
      const waiting = get('/hang', { signal: early.signal });
      await expect.poll(() => world.inFlight()).toBe(1);
      early.abort(new Error('left'));
      await expect(waiting).rejects.toMatchObject({ kind: 'aborted', cause: new Error('left') });

      const late = new AbortController();
      const reading = text(await get('/silent', { signal: late.signal }));
      late.abort(new Error('left'));
      await expect(reading).rejects.toMatchObject({ kind: 'aborted' });
      await serverIsIdle();
    });

    it('releases the connection when the reader stops early or discards the response', async () => {
      for (let round = 0; round < 12; round++) {
        for await (const _ of (await get('/huge')).body) break;
        await (await get('/huge')).discard();
        await (await get('/limited')).discard();
      }
      await serverIsIdle();
      expect((await get('/echo', { connectTimeoutMs: 5_000 })).status).toBe(200);
    });

    it('reads a body once', async () => {
      const answer = await get('/limited');
      await answer.discard();
      await answer.discard();
      expect(() => answer.body[Symbol.asyncIterator]()).toThrow(/already/);
    });

    it('cancels running calls when it is closed', async () => {
      const waiting = get('/hang');
      const failing = expect(waiting).rejects.toMatchObject({ kind: 'aborted' });
      await expect.poll(() => world.inFlight()).toBe(1);
      await world.transport.close();
      await failing;
      await expect(get('/echo')).rejects.toMatchObject({ kind: 'aborted' });
    });

    it('keeps the query, which may contain secrets, out of its messages', async () => {
      const failing = get('/reset?api_key=very-secret-value');
      await expect(failing).rejects.toThrow(/GET http.*\/reset/);
      await expect(failing).rejects.not.toThrow(/very-secret/);
    });
  });
}
