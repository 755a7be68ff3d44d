// A provider whose responses a test writes: real HTTP, any API, whole or streamed.
import type { IncomingHttpHeaders, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface UpstreamRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as JSON; undefined for anything else. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

export interface UpstreamResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a list as server-sent events; a string in the list is sent as it is. */
  readonly body: object | readonly (object | string)[] | string | Buffer;
}

/** A stream: events named by their `type` where the API does that. */
export function events(list: readonly (object | string)[], isNamed = false): string {
  return list
    .map((event) => {
      if (typeof event === 'string') return event;
      const { type } = event as { readonly type?: string };
      return `${isNamed && type !== undefined ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
    })
    .join('');
}

/** Null: no response, ever. */
type Respond = (request: UpstreamRequest) => UpstreamResponse | null;

export class ScriptedUpstream {
  readonly requests: UpstreamRequest[] = [];
  respond: Respond;
  readonly #server: Server;

  constructor(respond: Respond) {
    this.respond = respond;
    this.#server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => void chunks.push(chunk));
      incoming.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const request: UpstreamRequest = {
          path: incoming.url ?? '',
          headers: incoming.headers,
          json: parse(bytes),
          bytes,
        };
        this.requests.push(request);
        const response = this.respond(request);
        if (response === null) return;
        const { status = 200, headers = {}, body } = response;
        const isStream = Array.isArray(body);
        const isPlain = typeof body === 'string' || Buffer.isBuffer(body);
        outgoing.writeHead(status, {
          'content-type': isStream || isPlain ? 'text/event-stream' : 'application/json',
          ...headers,
        });
        outgoing.end(isPlain ? body : isStream ? events(body as object[]) : JSON.stringify(body));
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  get last(): UpstreamRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error('The upstream received no request.');
    return last;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function parse(bytes: Buffer): UpstreamRequest['json'] {
  try {
    return JSON.parse(bytes.toString()) as UpstreamRequest['json'];
  } catch {
    return {};
  }
}

/** Stopped when the test has finished. */
export async function scriptedUpstream(respond: ScriptedUpstream['respond']): Promise<ScriptedUpstream> {
  const upstream = await new ScriptedUpstream(respond).start();
  onTestFinished(() => upstream.stop());
  return upstream;
}
