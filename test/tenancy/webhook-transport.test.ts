// Webhooks are not sent into a private network, by address or by name, unless that is allowed.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createWebhookTransport } from '../../src/platform/http-client/addresses.ts';

async function receiver(): Promise<{ readonly port: number; readonly calls: () => number }> {
  let calls = 0;
  const server = createServer((_request, response) => {
    calls += 1;
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, calls: () => calls };
}

function transportThat(allowsPrivate: boolean) {
  const transport = createWebhookTransport(allowsPrivate);
  onTestFinished(() => transport.close());
  return (url: string) => transport.request({ method: 'POST', url, body: 'x' });
}

it.each(['127.0.0.1', 'localhost', '[::1]', '169.254.169.254'])('is blocked from %s', async (host) => {
  const { port, calls } = await receiver();
  await expect(transportThat(false)(`http://${host}:${port}/`)).rejects.toMatchObject({
    kind: 'network',
    message: expect.stringContaining('HEADWORKS_WEBHOOK_ALLOW_PRIVATE') as string,
  });
  expect(calls()).toBe(0);
});

it('is blocked from a name that resolves there: the checked address is the one connected to', async () => {
  const { port, calls } = await receiver();
  const transport = createWebhookTransport(false, (_name, _options, done) =>
    done(null, [{ address: '127.0.0.1', family: 4 }]),
  );
  onTestFinished(() => transport.close());
  const url = `http://hooks.example.com:${port}/`;
  await expect(transport.request({ method: 'POST', url, body: 'x' })).rejects.toMatchObject({
    kind: 'network',
    message: expect.stringContaining('hooks.example.com leads into a private network') as string,
  });
  expect(calls()).toBe(0);
});

it('is sent to a private address when that is allowed', async () => {
  const { port, calls } = await receiver();
  expect(await transportThat(true)(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
  expect(calls()).toBe(1);
});
