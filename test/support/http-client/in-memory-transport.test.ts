import { describe, expect, it } from 'vitest';
import { HttpFailure, systemClock } from '../../../src/core/index.ts';
import { describeHttpTransportContract } from './http-transport.contract.ts';
import type { InMemoryResponse, InMemoryRequest } from './in-memory-transport.ts';
import { createInMemoryTransport } from './in-memory-transport.ts';
import { VirtualClock } from '../core/virtual-clock.ts';

const forever = (signal: AbortSignal) => systemClock.sleep(3_600_000, signal);

async function* silent(signal: AbortSignal) {
  yield Buffer.from('part');
  await forever(signal);
}

async function* truncated() {
  yield Buffer.from('part');
  throw new Error('cut');
}

async function* drip(signal: AbortSignal) {
  for (let digit = 0; digit < 10; digit++) {
    yield Buffer.from(String(digit));
    await systemClock.sleep(20, signal);
  }
}

async function* huge(signal: AbortSignal) {
  for (; !signal.aborted;) yield new Uint8Array(16_384);
}

async function answerOf({ url, method, headers, body, signal }: InMemoryRequest): Promise<InMemoryResponse> {
  switch (url.pathname) {
    case '/echo':
      return {
        status: 200,
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ method, test: headers['x-test'], body: Buffer.from(body).toString() }),
      };
    case '/limited':
      return {
        status: 429,
        headers: { 'retry-after': '7', 'x-many': ['a', 'b'], 'content-length': '4' },
        body: 'slow',
      };
    case '/empty':
      return { status: 204 };
    case '/hang':
      await forever(signal);
      return { status: 200 };
    case '/silent':
      return { status: 200, body: silent(signal) };
    case '/truncated':
      return { status: 200, body: truncated() };
    case '/drip':
      return { status: 200, body: drip(signal) };
    case '/huge':
      return { status: 200, body: huge(signal) };
    default:
      throw new Error('reset');
  }
}

describeHttpTransportContract('the in-memory transport', async () => {
  let open = 0;
  async function* counted(body: AsyncIterable<Uint8Array>) {
    open += 1;
    try {
      yield* body;
    } finally {
      open -= 1;
    }
  }
  const transport = createInMemoryTransport({
    handler: async (request) => {
      open += 1;
      try {
        const answer = await answerOf(request);
        const isStream = typeof answer.body === 'object' && Symbol.asyncIterator in answer.body;
        return isStream ? { ...answer, body: counted(answer.body) } : answer;
      } finally {
        open -= 1;
      }
    },
  });
  return {
    transport,
    baseUrl: 'http://world.test',
    inFlight: () => open,
    stop: async () => undefined,
  };
});

describe('the in-memory transport on virtual time', () => {
  it('waits, times out and responds without real time passing', async () => {
    const clock = new VirtualClock();
    const transport = createInMemoryTransport({
      clock,
      handler: async ({ url, signal }) => {
        await clock.sleep(Number(url.searchParams.get('ms')), signal);
        return { status: 200, body: 'late' };
      },
    });
    const send = (ms: number) =>
      transport.request({ method: 'GET', url: `http://world.test/?ms=${ms}`, headersTimeoutMs: 60_000 });
    const response = await clock.run(send(59_000));
    expect(Buffer.from(await response.bytes(10)).toString()).toBe('late');
    await expect(clock.run(send(61_000))).rejects.toMatchObject({ kind: 'timeout' });
    expect(clock.monotonic()).toBe(119_000);
    expect(clock.pending).toBe(0);
  });

  it('rejects connections, and times out on those that are never established', async () => {
    const clock = new VirtualClock();
    const transport = createInMemoryTransport({
      clock,
      handler: () => ({ status: 200 }),
      connect: async (origin, signal) => {
        if (origin.endsWith('refused')) throw new HttpFailure('network', 'refused');
        await clock.sleep(3_600_000, signal);
      },
    });
    const to = (host: string) => transport.request({ method: 'GET', url: `http://${host}/` });
    await expect(to('refused')).rejects.toMatchObject({ kind: 'network' });
    await expect(clock.run(to('black-hole'))).rejects.toMatchObject({ kind: 'timeout' });
    expect(clock.monotonic()).toBe(10_000);
  });
});
