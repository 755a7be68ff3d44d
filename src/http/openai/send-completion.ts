// Sends what a model said, as bytes, past the framework: a reply of its own costs a third of the throughput.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Log } from '../../core/index.ts';
import type { ProviderResponse, ProviderStream, CompletionResult } from '../../gateway/index.ts';
import { openAiErrorOf } from './openai-error.ts';

/** How long a caller may take nothing of what waits for it. Then it is cut off: it holds a provider's connection. */
const longestStallMs = 60_000;
/** Smaller bodies than this fit into the socket's own buffers, whoever reads. */
const fitsTheSocketBytes = 64 * 1024;

interface Sending {
  readonly raw: ServerResponse;
  readonly stallMs: number;
  /** For what nobody foresaw: the answer has begun, so nobody else can tell it. */
  readonly onUnexpected: (error: unknown) => void;
}

/** Resolves when the answer is sent or the caller is gone. Never fails: there is nobody left who could answer. */
export function sendCompletion(
  reply: FastifyReply,
  completion: CompletionResult,
  log: Log,
  stallMs = longestStallMs,
): Promise<void> {
  const { answer } = completion;
  const { raw, request } = reply;
  const headers = headersOf(reply, completion);
  const onUnexpected = (error: unknown) =>
    log.error('an answer of a model could not be passed on', { requestId: request.id, error });
  const giveUp = (error: unknown) => {
    onUnexpected(error);
    raw.destroy();
  };
  const sending = { raw, stallMs, onUnexpected };
  reply.hijack();
  if (answer.outcome === 'stream') return sendStream(sending, answer, headers, request.id).catch(giveUp);
  try {
    sendWhole(sending, answer, headers);
  } catch (error) {
    giveUp(error);
  }
  return sent;
}

const sent = Promise.resolve();

/** Names and values in turn: Node takes these as they are, where it would have to look up those of an object. */
type Headers = (string | number)[];

/** What the hooks would have added that matters to bytes, and who spoke. */
function headersOf(reply: FastifyReply, { answer, model, attempts, isFallback }: CompletionResult): Headers {
  const headers: Headers = [
    'content-type',
    answer.contentType,
    'cache-control',
    'no-store',
    'x-content-type-options',
    'nosniff',
    'x-request-id',
    reply.request.id,
    'x-headworks-model',
    model.name,
    'x-headworks-provider',
    model.provider,
    'x-headworks-attempts',
    String(attempts),
    'x-headworks-fallback',
    String(isFallback),
  ];
  const hooked = reply.getHeaders();
  for (const name in hooked) headers.push(name, String(hooked[name]));
  return headers;
}

function sendWhole({ raw, stallMs }: Sending, { status, body }: ProviderResponse, headers: Headers): void {
  headers.push('content-length', body.byteLength);
  raw.writeHead(status, headers);
  if (body.byteLength > fitsTheSocketBytes) raw.setTimeout(stallMs);
  raw.end(body);
}

/** A reader that is slow slows the provider down; one that leaves, or reads nothing for long, ends it. */
async function sendStream(
  sending: Sending,
  stream: ProviderStream,
  headers: Headers,
  requestId: string,
): Promise<void> {
  const { raw, stallMs } = sending;
  headers.push('x-accel-buffering', 'no');
  raw.writeHead(stream.status, headers);
  for (const piece of stream.head) raw.write(piece);
  try {
    for await (const piece of stream.rest) {
      if (raw.destroyed) return;
      if (!raw.write(piece)) await roomIn(raw, stallMs);
    }
  } catch (error) {
    if (raw.destroyed) return;
    const { body, isUnexpected } = openAiErrorOf(error, requestId);
    if (isUnexpected) sending.onUnexpected(error);
    raw.write(`data: ${JSON.stringify(body)}\n\n`);
  }
  raw.setTimeout(stallMs);
  raw.end();
}

/** Resolves when more can be written, or nobody reads any more. Node ends a socket on which nothing moves for so long. */
function roomIn(raw: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done);
      raw.off('close', done);
      raw.setTimeout(0);
      resolve();
    };
    raw.on('drain', done);
    raw.on('close', done);
    raw.setTimeout(stallMs);
  });
}
