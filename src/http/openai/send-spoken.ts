// Sends what a model said, as bytes, past the framework: a reply of its own costs a third of the throughput.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ProviderStream, Spoken } from '../../gateway/index.ts';
import { openAiErrorOf } from './openai-error.ts';

/** Resolves when the answer is sent or the caller is gone. */
export async function sendSpoken(reply: FastifyReply, spoken: Spoken): Promise<void> {
  const { answer } = spoken;
  const headers = headersOf(reply, spoken);
  reply.hijack();
  const { raw } = reply;
  if (answer.outcome === 'answer') {
    raw.writeHead(answer.status, { ...headers, 'content-length': answer.body.byteLength });
    raw.end(answer.body);
    return;
  }
  raw.writeHead(answer.status, { ...headers, 'x-accel-buffering': 'no' });
  await sendStream(raw, answer, reply.request.id);
}

/** What the hooks would have added, and who spoke. */
function headersOf(reply: FastifyReply, spoken: Spoken): Record<string, string> {
  return {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': spoken.answer.contentType,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': reply.request.id,
    'x-headworks-model': spoken.model.name,
    'x-headworks-provider': spoken.model.provider,
    'x-headworks-attempts': String(spoken.attempts),
    'x-headworks-fallback': String(spoken.isFallback),
  };
}

/** A reader that is slow slows the provider down; one that leaves ends it. */
async function sendStream(raw: ServerResponse, stream: ProviderStream, requestId: string): Promise<void> {
  for (const piece of stream.head) raw.write(piece);
  try {
    for await (const piece of stream.rest) {
      if (raw.destroyed) return;
      if (!raw.write(piece)) await roomIn(raw);
    }
  } catch (error) {
    if (raw.destroyed) return;
    raw.write(`data: ${JSON.stringify(openAiErrorOf(error, requestId).body)}\n\n`);
  }
  raw.end();
}

/** Resolves when more can be written, or nobody reads any more. */
function roomIn(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done);
      raw.off('close', done);
      resolve();
    };
    raw.on('drain', done);
    raw.on('close', done);
  });
}
