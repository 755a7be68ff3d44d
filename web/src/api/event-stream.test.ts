import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { transport } from './client.ts';
import { readEventStream } from './event-stream.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

async function serverThat(answers: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answers(response)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const never = new AbortController().signal;

async function read(url: string, silenceMs: number): Promise<readonly string[]> {
  const events: string[] = [];
  for await (const { event } of readEventStream(url, never, () => events.push('open'), silenceMs))
    events.push(event);
  return events;
}

describe('readEventStream', () => {
  it('yields messages and treats comments as heartbeats', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const idleMs = 59_999;
    const started = () => timers.mock.calls.filter(([, ms]) => ms === idleMs).length;
    const { promise: opened, resolve: open } = Promise.withResolvers<ServerResponse>();
    const url = await serverThat((response) => {
      response.write('event: one\ndata: {}\n\n');
      open(response);
    });
    const sendRest = async () => {
      const response = await opened;
      const before = started();
      response.write(': alive\n\n');
      // The comment alone has restarted the wait.
      while (started() === before) await new Promise((resolve) => setImmediate(resolve));
      response.end('event: two\ndata: {}\n\n');
    };
    const events: string[] = [];
    for await (const { event } of readEventStream(url, never, () => events.push('open'), idleMs)) {
      events.push(event);
      if (event === 'one') void sendRest();
    }
    expect(events).toEqual(['open', 'one', 'two']);
  });

  it.each([
    ['after its first words', (response: ServerResponse) => response.write('event: one\ndata: {}\n\n')],
    ['from the beginning', () => undefined],
  ])('fails when the server hangs %s', async (_when, answers) => {
    const url = await serverThat(answers);
    await expect(read(url, 100)).rejects.toThrow('The live stream is idle.');
  });
});

describe('transport', () => {
  it('fails like an unreachable server when the server hangs', async () => {
    const url = await serverThat(() => undefined);
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const soon = new AbortController();
      setTimeout(() => soon.abort(), 50);
      return soon.signal;
    });
    await expect(transport().call('GET', url)).rejects.toMatchObject({ kind: 'unreachable' });
  });
});
