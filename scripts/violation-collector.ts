// A proxy between the Looker client and Prism that records the violations that Prism reports.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Violation {
  /** `GET /looks/search` */
  readonly call: string;
  readonly text: string;
}

export interface ViolationCollector {
  readonly url: string;
  readonly calls: ReadonlySet<string>;
  /** Violations of the calls so far, each once. */
  violations(): readonly Violation[];
  stop(): Promise<void>;
}

/** Hop-by-hop headers, and those of a body that fetch has decoded. */
const hopByHop = ['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'keep-alive'];

/** `prefix` is part of the client's paths, but not of Prism's. */
export async function startViolationCollector(prism: string, prefix: string): Promise<ViolationCollector> {
  const calls = new Set<string>();
  const found = new Map<string, Violation>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { call, status, headers, body } = await passOn(request, prism, prefix);
    calls.add(call);
    for (const text of violationsIn(headers.get('sl-violations')))
      found.set(`${call} ${text}`, { call, text });
    for (const name of hopByHop) headers.delete(name);
    response.writeHead(status, Object.fromEntries(headers)).end(body);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    violations: () => [...found.values()],
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function passOn(request: IncomingMessage, prism: string, prefix: string) {
  const { method = 'GET', url = '/' } = request;
  const path = url.startsWith(prefix) ? url.slice(prefix.length) : url;
  const sent = await buffer(request);
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    ['authorization', 'content-type', 'accept'].includes(name) ? [[name, String(value)]] : [],
  );
  const answer = await fetch(prism + path, { method, headers, body: sent.length > 0 ? sent : null });
  return {
    call: `${method} ${path.split('?')[0]}`,
    status: answer.status,
    headers: new Headers(answer.headers),
    body: Buffer.from(await answer.arrayBuffer()),
  };
}

/** Prism cuts long lists off in the middle: then the text is used unchanged. */
export function violationsIn(header: string | null): readonly string[] {
  if (header === null) return [];
  try {
    const messages = JSON.parse(header) as { location?: string[]; message: string; severity: string }[];
    return messages.map(
      ({ location = [], message, severity }) => `${severity.toLowerCase()}: ${location.join('.')} ${message}`,
    );
  } catch {
    return [header.slice(0, 1_000)];
  }
}
