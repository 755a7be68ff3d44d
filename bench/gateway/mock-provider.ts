// A provider with a constant response, as fast as Node allows, for benchmarks of gateways.
// node mock-provider.ts PORT [DELAY_MS]. Models named `limited` return 429 with Retry-After: 60.
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

createServer((request, response) => {
  if (request.url === '/__stats') {
    response.end(JSON.stringify(calls));
    return;
  }
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    calls.all += 1;
    const isLimited = Buffer.concat(parts).includes('"limited"');
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
    if (delayMs > 0) setTimeout(send, delayMs);
    else send();
  });
}).listen(Number(port), '127.0.0.1');
