// The contract of HttpTransport, run by each implementation.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HttpResponse, HttpRequest, HttpTransport } from '../../../src/core/index.ts';

/**
 * A server with these paths: `/echo` (method, x-test header and body as JSON), `/limited` (429, `retry-after: 7`, two
 * `x-many` headers, short body), `/empty` (204), `/hang` (never answers), `/silent` ("part", then nothing),
 * `/reset` (cut before the answer), `/truncated` (cut in the middle), `/drip` (ten pieces, 20 ms apart),
 * `/huge` (never ends).
 */
export interface TransportWorld {
  readonly transport: HttpTransport;
  readonly baseUrl: string;
  /** Responses in flight on the server: 0 once the server has noticed that its clients disconnected. */
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
    const serverIsIdle = () => vi.waitFor(() => expect(world.inFlight()).toBe(0), { timeout: 5_000 });

    beforeEach(async () => {
      world = await makeWorld();
    });
    afterEach(async () => {
      await world.transport.close();
      await world.stop();
    });

    it('carries method, headers and body there, and status, headers and body back', async () => {
      const answer = await get('/echo', { method: 'POST', headers: { 'X-Test': 'yes' }, body: 'hällo' });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(JSON.parse(await text(answer))).toEqual({ method: 'POST', test: 'yes', body: 'hällo' });
    });

    it('says once when the request is on its way, before its answer is there', async () => {
      const told: string[] = [];
      const asking = get('/echo', { onSent: () => told.push('sent') });
      await text(await asking.finally(() => told.push('answered')));
      expect(told).toEqual(['sent', 'answered']);
      const stopped = get('/echo', { signal: AbortSignal.abort(), onSent: () => told.push('too much') });
      await expect(stopped).rejects.toMatchObject({ kind: 'aborted' });
      expect(told).toHaveLength(2);
    });

    it('hands over an error status as an answer, repeated headers joined', async () => {
      const answer = await get('/limited');
      expect(answer.status).toBe(429);
      expect(answer.headers['retry-after']).toBe('7');
      expect(answer.headers['x-many']).toBe('a, b');
      await answer.discard();
    });

    it('reads an answer without a body', async () => {
      expect(await text(await get('/empty'))).toBe('');
      const head = await get('/limited', { method: 'HEAD' });
      expect({ status: head.status, body: await text(head) }).toEqual({ status: 429, body: '' });
    });

    it('gives up on a server that never answers', async () => {
      await expect(get('/hang', { headersTimeoutMs: 40 })).rejects.toMatchObject({
        kind: 'timeout',
        wait: 'headers',
      });
      await serverIsIdle();
    });

    it('gives up on an answer that falls silent, and hands over what came before', async () => {
      const answer = await get('/silent', { bodyTimeoutMs: 60 });
      const read: string[] = [];
      const reading = (async () => {
        for await (const piece of answer.body) read.push(Buffer.from(piece).toString());
      })();
      await expect(reading).rejects.toMatchObject({ kind: 'timeout', wait: 'body' });
      expect(read.join('')).toBe('part');
      await serverIsIdle();
    });

    it('does not take a slow answer for a silent one', async () => {
      expect(await text(await get('/drip', { bodyTimeoutMs: 2_000 }))).toBe('0123456789');
    });

    it('gives up on an answer that is not all there in time, wherever it waits', async () => {
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
      'calls a connection that is cut (%s) a network failure',
      async (path) => {
        const reading = get(path).then(text);
        await expect(reading).rejects.toMatchObject({ name: 'HttpFailure', kind: 'network' });
      },
    );

    it('refuses an answer that is larger than asked for, and drops the connection', async () => {
      const answer = await get('/huge');
      await expect(answer.bytes(100_000)).rejects.toMatchObject({ kind: 'too-large' });
      await serverIsIdle();
    });

    it('does not even ask when the signal has aborted before', async () => {
      await expect(get('/echo', { signal: AbortSignal.abort(new Error('no')) })).rejects.toMatchObject({
        kind: 'aborted',
      });
    });

    it('carries an abort to the server, while waiting for the answer and in the middle of it', async () => {
      const early = new AbortController();
      const waiting = get('/hang', { signal: early.signal });
      await vi.waitFor(() => expect(world.inFlight()).toBe(1));
      early.abort(new Error('left'));
      await expect(waiting).rejects.toMatchObject({ kind: 'aborted', cause: new Error('left') });

      const late = new AbortController();
      const reading = text(await get('/silent', { signal: late.signal }));
      late.abort(new Error('left'));
      await expect(reading).rejects.toMatchObject({ kind: 'aborted' });
      await serverIsIdle();
    });

    it('lets go of the connection when the reader leaves early or drops the answer', async () => {
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
      await vi.waitFor(() => expect(world.inFlight()).toBe(1));
      await world.transport.close();
      await failing;
      await expect(get('/echo')).rejects.toMatchObject({ kind: 'aborted' });
    });

    it('keeps the query, which may hold secrets, out of its messages', async () => {
      const failing = get('/reset?api_key=very-secret-value');
      await expect(failing).rejects.toThrow(/GET http.*\/reset/);
      await expect(failing).rejects.not.toThrow(/very-secret/);
    });
  });
}
