// Sending responses: whole, streamed, to slow and disconnected callers.
import { tokens } from '../../../test/support/gateway/routing-world.ts';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import type { FastifyReply } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import type { LogFields } from '../../core/index.ts';
import { silentLog } from '../../core/index.ts';
import type { Model, ProviderResponse, ProviderStream } from '../../gateway/index.ts';
import { GatewayError } from '../../gateway/index.ts';
import { sendCompletion } from './completions.ts';

const model = { name: 'alpha/a', provider: 'alpha' } as Model;
const piece = Buffer.alloc(16 * 1024, 'x');

interface LoggedError {
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** Sends `response` to a slow caller. */
async function sent(
  response: ProviderResponse | ProviderStream,
  stallMs?: number,
): Promise<{
  socket: Socket;
  done: Promise<void>;
  raw: () => ServerResponse;
  logged: readonly LoggedError[];
}> {
  const logged: LoggedError[] = [];
  const log = {
    ...silentLog,
    error: (message: string, fields?: LogFields) => void logged.push({ message, fields }),
  };
  const { promise: begun, resolve: begin } = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, raw) => begin(raw));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const raw = await begun;
  const headers = { vary: 'origin' } as ReturnType<FastifyReply['getHeaders']>;
  const completion = { model, attempts: 2, isFallback: true, durationMs: 1, response };
  const done = sendCompletion({ raw, requestId: 'r-1', headers }, 'chat', completion, log, stallMs);
  return { socket, done, raw: () => raw, logged };
}

const stream = (rest: AsyncIterable<Uint8Array>): ProviderStream => ({
  kind: 'stream',
  status: 200,
  contentType: 'text/event-stream',
  head: [Buffer.from('data: 1\n\n')],
  rest,
  ended: Promise.resolve({
    failureClass: null,
    tokens,
    streamMs: 0,
  }),
  quotaExhaustedUntil: undefined,
});
const whole = (body: Uint8Array): ProviderResponse => ({
  kind: 'response',
  status: 200,
  contentType: 'application/json',
  body,
  tokens,
  quotaExhaustedUntil: undefined,
});

/** An endless stream that records how much was read and whether it was aborted. */
function endless() {
  const state = { taken: 0, isStopped: false };
  // oxlint-disable-next-line typescript/require-await -- the interface is asynchronous; this one never waits
  const rest = async function* () {
    try {
      for (;;) {
        state.taken += piece.byteLength;
        yield piece;
      }
    } finally {
      state.isStopped = true;
    }
  };
  return { state, stream: stream(rest()) };
}

async function read(socket: Socket): Promise<string> {
  let text = '';
  for await (const data of socket as AsyncIterable<Buffer>) {
    text += data.toString();
    if (text.endsWith('0\r\n\r\n')) break;
  }
  return text;
}

it('sends headers with the model and those set by hooks', async () => {
  const { socket, done } = await sent(stream((async function* () {})()));
  const text = await read(socket);
  await done;
  for (const line of [
    'vary: origin',
    'x-request-id: r-1',
    'x-headworks-model: alpha/a',
    'x-headworks-provider: alpha',
    'x-headworks-attempts: 2',
    'x-headworks-fallback: true',
    'cache-control: no-store',
    'x-accel-buffering: no',
  ])
    expect(text).toContain(`${line}\r\n`);
  expect(text).toContain('data: 1\n\n');
});

it('applies backpressure to the provider when the caller stops reading, and continues when it reads', async () => {
  const { state, stream: answer } = endless();
  const { socket, done } = await sent(answer);
  socket.pause();
  let before = -1;
  await expect
    .poll(
      () => {
        const isStill = state.taken === before;
        before = state.taken;
        return isStill;
      },
      { interval: 100, timeout: 60_000 },
    )
    .toBe(true);
  // At most what the socket buffers hold.
  expect(state.taken).toBeLessThan(16 * 1024 * 1024);
  const stoodAt = state.taken;
  socket.resume();
  await expect.poll(() => state.taken).toBeGreaterThan(stoodAt + 1024 * 1024);
  socket.destroy();
  await done;
  expect(state.isStopped).toBe(true);
});

it('aborts the provider call when the caller stalls too long', async () => {
  const { state, stream: answer } = endless();
  const { socket, done, raw } = await sent(answer, 150);
  socket.pause();
  await done;
  expect(state.isStopped).toBe(true);
  expect(raw().destroyed).toBe(true);
});

it('drops a large response that the caller does not read', async () => {
  const { socket, done, raw } = await sent(whole(Buffer.alloc(32 * 1024 * 1024, 'x')), 150);
  socket.pause();
  await done;
  await expect.poll(() => raw().destroyed).toBe(true);
  expect(raw().writableFinished).toBe(false);
});

it('ends with an error event when the stream is interrupted, and logs unexpected errors', async () => {
  const broken = (reason: Error) => {
    const next = () => Promise.reject(reason);
    return stream({ [Symbol.asyncIterator]: () => ({ next }) });
  };
  const expected = await sent(broken(new GatewayError('GATEWAY_STREAM_INTERRUPTED', 'It broke off.')));
  expect(await read(expected.socket)).toMatch(/data: \{"error":\{"message":"It broke off\.".*\}\}\n\n/);
  expect(expected.logged).toEqual([]);
  const bug = await sent(broken(new TypeError('a bug of ours')));
  const text = await read(bug.socket);
  expect(text).toContain('"headworks_code":"INTERNAL"');
  expect(text).not.toContain('a bug of ours');
  expect(bug.logged).toMatchObject([{ fields: { requestId: 'r-1', error: { message: 'a bug of ours' } } }]);
});

it('closes the connection and logs it when headers cannot be sent', async () => {
  const { socket, done, raw, logged } = await sent({ ...whole(piece), contentType: 'text/\u{1f600}' });
  socket.resume();
  await done;
  expect(raw().destroyed).toBe(true);
  expect(logged).toHaveLength(1);
});
