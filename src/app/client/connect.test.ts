// Which calls are repeated when the connection to a server is lost.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../test/support/services.ts';
import { resolveConfig } from '../../config/index.ts';
import { connect } from './connect.ts';
import { writeServerFile } from './local-server.ts';

const shuttingDown = JSON.stringify({ error: { code: 'SHUTTING_DOWN', message: 'Stopping.' } });

/** A server whose first response to `/call` is lost, or an error; the next one succeeds. */
async function remoteServer(firstResponse: 'lost' | 'shutting-down') {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/api/v1/attach') return void response.writeHead(200).write(':\n\n');
    if (request.url !== '/call') return void response.end('{"version":"0","instance":"a"}');
    calls.push(`${request.method}`);
    if (calls.length > 1) return void response.end('{"done":true}');
    if (firstResponse === 'lost') return void request.socket.destroy();
    return void response.writeHead(503).end(shuttingDown);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const env = {
    HEADWORKS_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    HEADWORKS_ADMIN_TOKEN: 'a-token-of-the-test',
  };
  const client = await connect(resolveConfig({ flags: {}, cwd: await temporaryFolder(), env }), {
    purpose: 'test',
  });
  onTestFinished(() => client.close());
  return { client, calls };
}

describe('a call whose connection is lost', () => {
  it('is repeated when it is a GET', async () => {
    const { client, calls } = await remoteServer('lost');
    expect(await client.call('GET', '/call')).toEqual({ done: true });
    expect(calls).toEqual(['GET', 'GET']);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
    'is not repeated when it is a %s: it may have been executed',
    async (method) => {
      const { client, calls } = await remoteServer('lost');
      await expect(client.call(method, '/call', { body: {} })).rejects.toMatchObject({
        code: 'SERVER_UNREACHABLE',
        message: expect.stringContaining('may or may not have been executed') as string,
      });
      expect(calls).toEqual([method]);
    },
  );

  it('is repeated when the stopping server rejected it, whatever the method', async () => {
    const { client, calls } = await remoteServer('shutting-down');
    expect(await client.call('POST', '/call', { body: {} })).toEqual({ done: true });
    expect(calls).toEqual(['POST', 'POST']);
  });
});

it('says at once that the token is missing which the server has from its environment', async () => {
  const server = createServer((_request, response) => response.end('{"version":"0","instance":"a"}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const folder = await temporaryFolder();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeServerFile(folder, { pid: 1, url, instance: 'a', role: 'serve', version: '0' });
  const config = resolveConfig({ flags: {}, cwd: folder, env: { HEADWORKS_DATA_DIR: folder } });
  await expect(connect(config, { purpose: 'test' })).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: expect.stringContaining('Set the same HEADWORKS_ADMIN_TOKEN') as string,
  });
});
