import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { HeadworksApi } from './ports.ts';
import { serveStdio } from './serve-stdio.ts';

const call = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'get_artifact', arguments: { artifact_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b' } },
});

function conversation(api: HeadworksApi['call']) {
  const [stdin, stdout, over] = [new PassThrough(), new PassThrough(), new AbortController()];
  const logged: string[] = [];
  const ended = serveStdio(
    { api: { call: api }, caller: 'admin', version: '1', log: { error: (message) => logged.push(message) } },
    { stdin, stdout, signal: over.signal, maxMessageBytes: 10_000 },
  );
  const say = (message: object) => stdin.write(`${JSON.stringify(message)}\n`);
  const heard = async () => {
    stdout.end();
    return (await text(stdout))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { id: number });
  };
  return { stdin, over, logged, ended, say, heard };
}

describe('a conversation on standard input and output', () => {
  it('answers everything that was asked before the input ended', async () => {
    const answers = Promise.withResolvers<unknown>();
    const asked = Promise.withResolvers<void>();
    const { stdin, say, ended, heard } = conversation(() => {
      asked.resolve();
      return answers.promise;
    });
    say(call(1));
    say({ jsonrpc: '2.0', id: 2, method: 'ping' });
    stdin.end();
    await asked.promise;
    answers.resolve({});
    await ended;
    expect(new Set((await heard()).map(({ id }) => id))).toEqual(new Set([1, 2]));
  });

  it('does not wait for what was cancelled, and stops it', async () => {
    const asked = Promise.withResolvers<AbortSignal | undefined>();
    const { stdin, say, ended, heard } = conversation((_method, _path, options) => {
      asked.resolve(options?.signal);
      return new Promise(() => undefined);
    });
    say(call(1));
    const signal = await asked.promise;
    say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    stdin.end();
    await ended;
    expect(signal?.aborted).toBe(true);
    expect(await heard()).toEqual([]);
  });

  it('ends when it is told to, whatever is under way', async () => {
    const { over, say, ended } = conversation(() => new Promise(() => undefined));
    say(call(1));
    over.abort();
    await ended;
  });

  it('says what it could not read, and goes on', async () => {
    const { stdin, say, ended, heard, logged } = conversation(async () => ({}));
    stdin.write('nonsense\n');
    say({ jsonrpc: '2.0', id: 2, method: 'ping' });
    stdin.end();
    await ended;
    expect(await heard()).toMatchObject([{ id: 2 }]);
    expect(logged).toEqual(['a message could not be read or answered']);
  });

  it('ends when a message is longer than any document', async () => {
    const { stdin, ended, logged } = conversation(async () => ({}));
    stdin.write('x'.repeat(20_000));
    await ended;
    expect(logged).toEqual(['a message could not be read or answered']);
  });
});
