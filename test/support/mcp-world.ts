// A running server with organizations, and the SDK's own client on either transport.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { connect } from '../../src/app/client/connect.ts';
import type { RunningServer } from '../../src/app/index.ts';
import { serveMcp } from '../../src/app/mcp.ts';
import { startServer } from '../../src/app/start.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { databaseUrl, uniqueName } from './services.ts';
import { callAsAdmin } from './test-server.ts';

export interface McpTenant {
  readonly id: string;
  readonly name: string;
  readonly key: string;
}

export interface McpWorld {
  readonly server: RunningServer;
  tenant(name: string): Promise<McpTenant>;
  /** What the command line wrote to standard error. */
  readonly complaints: string[];
  /** A client with this key; null: as the admin. Closed with the world. */
  client(transport: McpTransport, key: string | null): Promise<Client>;
  close(): Promise<void>;
}

export const mcpTransports = ['HTTP', 'stdio'] as const;
export type McpTransport = (typeof mcpTransports)[number];

export async function startMcpWorld(): Promise<McpWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  const env = {
    DATABASE_URL: databaseUrl(),
    HEADWORKS_DATABASE_SCHEMA: uniqueName('mcp'),
    HEADWORKS_LOG_LEVEL: 'silent',
    HEADWORKS_PORT: '0',
    HEADWORKS_DRAIN_SECONDS: '1',
    HEADWORKS_JOBS_DRAIN_SECONDS: '1',
    HEADWORKS_KNOWLEDGE_MAX_DOCUMENT_BYTES: '1000000',
  };
  const server = await startServer(resolveConfig({ flags: {}, cwd: folder, env }), { role: 'serve' });
  const closing: (() => Promise<void>)[] = [];
  const complaints: string[] = [];

  const stdio = async (key: string | null): Promise<Transport> => {
    const config = resolveConfig({ flags: {}, cwd: folder, env });
    const options = { purpose: 'headworks mcp', ...(key === null ? {} : { key }) };
    const headworks = await connect(config, options);
    const [input, output] = [new PassThrough(), new PassThrough()];
    const over = new AbortController();
    const served = serveMcp(headworks, {
      stdin: input,
      stdout: output,
      signal: over.signal,
      maxDocumentBytes: config.knowledge.maxDocumentBytes,
      onUnexpected: (sentence) => complaints.push(sentence),
    });
    closing.unshift(async () => {
      input.end();
      await served;
      await headworks.close();
    });
    return new StreamPair(output, input);
  };
  return {
    server,
    complaints,
    async tenant(name) {
      const made = async (path: string, body: unknown): Promise<Record<string, string>> => {
        const answer = await callAsAdmin(server, 'POST', path, body);
        expect(answer).toMatchObject({ status: 201 });
        return answer.body;
      };
      const { id = '' } = await made('/api/v1/organizations', { name });
      const { key = '' } = await made(`/api/v1/organizations/${id}/keys`, { name: 'mcp' });
      return { id, name, key };
    },
    async client(transport, key) {
      const client = new Client({ name: 'test', version: '1' });
      const pipe = transport === 'HTTP' ? overHttp(server.url, key ?? server.adminToken) : await stdio(key);
      await client.connect(pipe);
      closing.unshift(() => client.close());
      return client;
    },
    async close() {
      for (const each of closing) await each();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function overHttp(url: string, key: string): Transport {
  const headers = { authorization: `Bearer ${key}` };
  return new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } });
}

/** As the SDK's own client does with a child process, on two streams. */
class StreamPair implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #from: PassThrough;
  readonly #to: PassThrough;
  readonly #buffer = new ReadBuffer();

  constructor(from: PassThrough, to: PassThrough) {
    this.#from = from;
    this.#to = to;
  }

  async start(): Promise<void> {
    this.#from.on('data', (chunk: Buffer) => {
      this.#buffer.append(chunk);
      for (let next = this.#buffer.readMessage(); next !== null; next = this.#buffer.readMessage())
        this.onmessage?.(next);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#to.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.#to.end();
    this.onclose?.();
  }
}
