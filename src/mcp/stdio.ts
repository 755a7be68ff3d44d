// MCP over standard input and output: one session, until the client closes it.
/* oxlint-disable unicorn/prefer-add-event-listener -- callbacks of the SDK are properties, not events */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Readable, Writable } from 'node:stream';
import { onAbort } from '../core/index.ts';
import type { McpDeps } from './server.ts';
import { createMcpServer } from './server.ts';

export interface StdioStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** A longer message ends the session. */
  readonly maxMessageBytes: number;
  /** Ends it at once. */
  readonly signal: AbortSignal;
}

/** Resolves when the input has ended and every request before has its response, or when the signal aborts. */
export async function serveStdio(deps: McpDeps, streams: StdioStreams): Promise<void> {
  const { stdin, stdout, maxMessageBytes, signal } = streams;
  const mcp = createMcpServer(deps);
  const transport = new CountedTransport(stdin, stdout, { maxBufferSize: maxMessageBytes });
  const ended = Promise.withResolvers<void>();
  mcp.server.onclose = ended.resolve;
  mcp.server.onerror = (error) => deps.log.error('an MCP message could not be handled', { error });
  const forget = onAbort(signal, () => ended.resolve());
  for (const event of ['end', 'close'] as const)
    stdin.once(event, () => void transport.idle().then(ended.resolve));
  try {
    await mcp.connect(transport);
    await ended.promise;
  } finally {
    forget();
    await mcp.close();
  }
}

/** Counts requests without a response. */
class CountedTransport extends StdioServerTransport {
  readonly #pending = new Set<unknown>();
  #waiting: (() => void)[] = [];

  override async start(): Promise<void> {
    const pass = this.onmessage;
    this.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#pending.add(message.id);
      pass?.(message);
      // A canceled request gets no response.
      if ('method' in message && message.method === 'notifications/cancelled')
        this.#settle(message.params?.['requestId']);
    };
    await super.start();
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if (!('method' in message)) this.#settle(message.id);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#settle(undefined);
    });
  }

  #settle(id: unknown): void {
    this.#pending.delete(id);
    if (this.#pending.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
