// A minimal proxy in Node: reads the request, forwards it over an undici Pool, returns the response; streams are piped.
// node bare-proxy.ts PORT UPSTREAM
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { Pool } from 'undici';

const [port = '0', upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 128, pipelining: 1 });

createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    forward(request.url ?? '/', Buffer.concat(parts), response).catch(() => response.destroy());
  });
}).listen(Number(port), '127.0.0.1');

async function forward(path: string, requestBody: Buffer, response: ServerResponse): Promise<void> {
  const { statusCode, headers, body } = await pool.request({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: requestBody,
  });
  const type = String(headers['content-type']);
  if (type === 'text/event-stream') {
    response.writeHead(statusCode, { 'content-type': type });
    body.pipe(response);
    return;
  }
  const bytes = Buffer.from(await body.arrayBuffer());
  response.writeHead(statusCode, {
    'content-type': type,
    'content-length': bytes.length,
  });
  response.end(bytes);
}
