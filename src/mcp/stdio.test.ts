import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { ApiTransport } from '../api/client.ts';
import { serveStdio } from './server.ts';

const toolCall = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'get_artifact', arguments: { artifact_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b' } },
});

type Call = (...args: Parameters<ApiTransport['call']>) => Promise<unknown>;

function session(call: Call) {
  const [stdin, stdout, over] = [new PassThrough(), new PassThrough(), new AbortController()];
  const logged: string[] = [];
  const ended = serveStdio(
    {
      api: { call } as ApiTransport,
      caller: 'admin',
      version: '1',
      log: { error: (message) => logged.push(message) },
    },
    { stdin, stdout, signal: over.signal, maxMessageBytes: 10_000 },
  );
  const send = (message: object) => stdin.write(`${JSON.stringify(message)}\n`);
  const received = async () => {
    stdout.end();
    return (await text(stdout))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { id: number });
  };
  return { stdin, over, logged, ended, send, received };
}

describe('MCP on standard input and output', () => {
  it('responds to every request before the input ended', async () => {
    const answers = Promise.withResolvers<unknown>();
    const called = Promise.withResolvers<void>();
    const { stdin, send, ended, received } = session(() => {
      called.resolve();
      return answers.promise;
    });
    send(toolCall(1));
    send({ jsonrpc: '2.0', id: 2, method: 'ping' });
    stdin.end();
    await called.promise;
    answers.resolve({});
    await ended;
    expect(new Set((await received()).map(({ id }) => id))).toEqual(new Set([1, 2]));
  });

  it('does not wait for a canceled request, and aborts it', async () => {
    const called = Promise.withResolvers<AbortSignal | undefined>();
    const { stdin, send, ended, received } = session((_method, _path, options) => {
      called.resolve(options?.signal);
      return new Promise(() => undefined);
    });
    send(toolCall(1));
    const signal = await called.promise;
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    stdin.end();
    await ended;
    expect(signal?.aborted).toBe(true);
    expect(await received()).toEqual([]);
  });

  it('ends when the signal aborts, whatever is running', async () => {
    const { over, send, ended } = session(() => new Promise(() => undefined));
    send(toolCall(1));
    over.abort();
    await ended;
  });

  it('logs a message that it cannot parse, and continues', async () => {
    const { stdin, send, ended, received, logged } = session(async () => ({}));
    stdin.write('nonsense\n');
    send({ jsonrpc: '2.0', id: 2, method: 'ping' });
    stdin.end();
    await ended;
    expect(await received()).toMatchObject([{ id: 2 }]);
    expect(logged).toEqual(['an MCP message could not be handled']);
  });

  it('ends when a message is longer than any document', async () => {
    const { stdin, ended, logged } = session(async () => ({}));
    stdin.write('x'.repeat(20_000));
    await ended;
    expect(logged).toEqual(['an MCP message could not be handled']);
  });
});
