// Sends a completion as bytes, bypassing the framework: its reply would cost a third of the throughput.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Log } from '../../core/index.ts';
import type { CompletionResult, ProviderResponse, ProviderStream } from '../../gateway/index.ts';
import { openAiErrorOf } from './openai-error.ts';

/** A caller that reads nothing for this long is disconnected: it occupies a provider connection. */
const maxStallMs = 60_000;
/** Smaller bodies fit into the socket's buffers. */
const socketBufferBytes = 64 * 1024;

interface Sending {
  readonly raw: ServerResponse;
  readonly stallMs: number;
  /** For unexpected errors: the response has started, so no other handler can report them. */
  readonly onUnexpected: (error: unknown) => void;
}

/** Resolves when the response is sent or the caller has disconnected. Never fails. */
export function sendCompletion(
  reply: FastifyReply,
  completion: CompletionResult,
  log: Log,
  stallMs = maxStallMs,
): Promise<void> {
  const { response } = completion;
  const { raw, request } = reply;
  const headers = headersOf(reply, completion);
  const onUnexpected = (error: unknown) =>
    log.error('a model response could not be sent', { requestId: request.id, error });
  const abandon = (error: unknown) => {
    onUnexpected(error);
    raw.destroy();
  };
  const sending = { raw, stallMs, onUnexpected };
  reply.hijack();
  if (response.kind === 'stream') return sendStream(sending, response, headers, request.id).catch(abandon);
  try {
    sendWhole(sending, response, headers);
  } catch (error) {
    abandon(error);
  }
  return sent;
}

const sent = Promise.resolve();

/** Names and values alternating: Node writes them as they are, without looking up the names of an object. */
type Headers = (string | number)[];

/** The headers that hooks would have added to a regular reply, and which model responded. */
function headersOf(
  reply: FastifyReply,
  { response, model, attempts, isFallback }: CompletionResult,
): Headers {
  const headers: Headers = [
    'content-type',
    response.contentType,
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
  const fromHooks = reply.getHeaders();
  for (const name in fromHooks) headers.push(name, String(fromHooks[name]));
  return headers;
}

function sendWhole({ raw, stallMs }: Sending, { status, body }: ProviderResponse, headers: Headers): void {
  headers.push('content-length', body.byteLength);
  raw.writeHead(status, headers);
  if (body.byteLength > socketBufferBytes) raw.setTimeout(stallMs);
  raw.end(body);
}

/** A slow reader slows the provider down; one that disconnects or stalls ends the provider call. */
async function sendStream(
  sending: Sending,
  stream: ProviderStream,
  headers: Headers,
  requestId: string,
): Promise<void> {
  const { raw, stallMs } = sending;
  headers.push('x-accel-buffering', 'no');
  raw.writeHead(stream.status, headers);
  for (const chunk of stream.head) raw.write(chunk);
  try {
    for await (const chunk of stream.rest) {
      if (raw.destroyed) return;
      if (!raw.write(chunk)) await drained(raw, stallMs);
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

/** Resolves when more can be written, or the connection is closed. Node closes a socket that stalls for `stallMs`. */
function drained(raw: ServerResponse, stallMs: number): Promise<void> {
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
