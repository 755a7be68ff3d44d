// A provider with a constant response, as fast as Node allows, for benchmarks of gateways.
// node mock-provider.ts PORT [DELAY_MS]. Models named `limited` return 429 with Retry-After: 60. Streams have 100 events,
// each in a chunk of its own.
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';

const [port = '0', delay = '0'] = process.argv.slice(2);
const delayMs = Number(delay);
const answer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'mock',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'The quick brown fox jumps over the lazy dog. '.repeat(10) },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 100, total_tokens: 120 },
  }),
);
const refusal = Buffer.from(
  JSON.stringify({ error: { message: 'Rate limit reached.', code: 'rate_limit_exceeded' } }),
);
const calls = { all: 0, limited: 0 };

const eventsPerStream = 100;
const eventOf = (delta: object, finishReason: string | null) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'mock',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  })}\n\n`;
const word = Buffer.from(eventOf({ content: ' fox' }, null));
const lastEvents = Buffer.from(`${eventOf({}, 'stop')}data: [DONE]\n\n`);

function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  const next = () => {
    if (sent++ === eventsPerStream) return void response.end(lastEvents);
    response.write(word);
    return setImmediate(next);
  };
  next();
}

createServer((request, response) => {
  if (request.url === '/__stats') {
    response.end(JSON.stringify(calls));
    return;
  }
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    calls.all += 1;
    const requested = Buffer.concat(parts);
    if (requested.includes('"stream":true')) return stream(response);
    const isLimited = requested.includes('"limited"');
    if (isLimited) calls.limited += 1;
    const body = isLimited ? refusal : answer;
    const send = () =>
      response
        .writeHead(isLimited ? 429 : 200, {
          'content-type': 'application/json',
          'content-length': body.length,
          ...(isLimited ? { 'retry-after': '60' } : {}),
        })
        .end(body);
    return delayMs > 0 ? setTimeout(send, delayMs) : send();
  });
}).listen(Number(port), '127.0.0.1');
