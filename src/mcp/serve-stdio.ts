// MCP over standard input and output: one conversation, until the other side ends it.
/* oxlint-disable unicorn/prefer-add-event-listener -- what the SDK calls back are properties, not events */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Readable, Writable } from 'node:stream';
import { onAbort } from '../core/index.ts';
import { createMcpServer } from './create-mcp-server.ts';
import type { McpDeps } from './ports.ts';

export interface StdioStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** A longer message ends the conversation. */
  readonly maxMessageBytes: number;
  /** Ends it at once. */
  readonly signal: AbortSignal;
}

/** Resolves when the input has ended and everything asked before has its answer, or when the signal aborts. */
export async function serveStdio(parts: McpDeps, streams: StdioStreams): Promise<void> {
  const { stdin, stdout, maxMessageBytes, signal } = streams;
  const mcp = createMcpServer(parts);
  const transport = new CountedTransport(stdin, stdout, { maxBufferSize: maxMessageBytes });
  const ended = Promise.withResolvers<void>();
  mcp.server.onclose = ended.resolve;
  mcp.server.onerror = (error) => parts.log.error('a message could not be read or answered', { error });
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

/** Knows which requests have no answer yet. */
class CountedTransport extends StdioServerTransport {
  readonly #unanswered = new Set<unknown>();
  #waiting: (() => void)[] = [];

  override async start(): Promise<void> {
    const pass = this.onmessage;
    this.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#unanswered.add(message.id);
      pass?.(message);
      // Nobody answers what was cancelled.
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
    this.#unanswered.delete(id);
    if (this.#unanswered.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
