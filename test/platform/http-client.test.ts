import { createServer as createPlainServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeHttpTransportContract } from '../support/http-client/http-transport.contract.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { startBadlyBehavedServer } from '../support/badly-behaved-server.ts';

describeHttpTransportContract('undici', async () => ({
  transport: createUndiciTransport({ connectionsPerOrigin: 2 }),
  ...(await startBadlyBehavedServer()),
}));

describe('the undici transport', () => {
  const open = async (connectionsPerOrigin: number) => {
    const server = await startBadlyBehavedServer();
    const transport = createUndiciTransport({ connectionsPerOrigin });
    onTestFinished(async () => {
      await transport.close();
      await server.stop();
    });
    return { server, transport };
  };

  it('waits for one of its connections no longer than for making one, and sends nothing afterwards', async () => {
    const { server, transport } = await open(1);
    const holder = new AbortController();
    const held = transport.request({ method: 'GET', url: `${server.baseUrl}/hang`, signal: holder.signal });
    held.catch(() => undefined);
    const url = `${server.baseUrl}/echo`;
    await expect(transport.request({ method: 'GET', url, connectTimeoutMs: 50 })).rejects.toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('no connection within 50 ms') as string,
    });
    holder.abort();
    const answer = await transport.request({ method: 'GET', url });
    expect(answer.status).toBe(200);
    await answer.discard();
  });

  it('pauses the socket while the body is not read', async () => {
    const { server, transport } = await open(1);
    const answer = await transport.request({ method: 'GET', url: `${server.baseUrl}/huge` });
    const before = process.memoryUsage().arrayBuffers;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
    let read = 0;
    for await (const piece of answer.body) if ((read += piece.byteLength) > 1_000_000) break;
    expect(read).toBeGreaterThan(1_000_000);
  });

  it('keeps a connection whose short response was discarded', async () => {
    const { server, transport } = await open(1);
    const ports = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const answer = await transport.request({ method: 'GET', url: `${server.baseUrl}/limited` });
      await answer.discard();
      ports.add(answer.headers['x-client-port'] ?? '');
    }
    expect([...ports]).toHaveLength(1);
    expect([...ports][0]).toMatch(/^\d+$/);
  });

  it('classifies a refused connection, a failed TLS handshake and invalid HTTP as network failures', async () => {
    const { transport } = await open(1);
    const plain = createPlainServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('nonsense\r\n\r\n'),
    );
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const { port } = plain.address() as AddressInfo;
    const send = (url: string) => transport.request({ method: 'GET', url });
    await expect(send(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ kind: 'network' });
    await expect(send(`https://127.0.0.1:${port}/`)).rejects.toMatchObject({ kind: 'network' });
    await new Promise<void>((resolve) => plain.close(() => resolve()));
    await expect(send(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      kind: 'network',
      cause: { code: 'ECONNREFUSED' },
    });
  });
});
