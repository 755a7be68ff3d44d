// "headworks mcp" as a client starts it: the real process, configured as in docs/guide/mcp.md, with the SDK's own client.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toolsFor } from '../../src/mcp/server.ts';
import { folderWithStore } from '../support/embedded-database.ts';
import { callAsAdmin } from '../support/test-server.ts';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

interface Snippet {
  readonly command?: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The command that the page gives for clients. */
async function snippets(): Promise<readonly Snippet[]> {
  const page = await readFile(new URL('../../docs/guide/mcp.md', import.meta.url), 'utf8');
  return [...page.matchAll(/```json\n([\s\S]*?)```/g)]
    .map(([, json = '']) => (JSON.parse(json) as { mcpServers: { headworks: Snippet } }).mcpServers.headworks)
    .filter(({ command }) => command === 'headworks');
}

/** The same with values of this test for the placeholders of the page. */
function start({ args, env = {} }: Snippet, change: Readonly<Record<string, string>>) {
  const changed = (word: string) => change[word] ?? word;
  return new StdioClientTransport({
    command: process.execPath,
    args: [main, ...args.map(changed)],
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, changed(value)])),
    stderr: 'pipe',
  });
}

async function connected(transport: StdioClientTransport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  let complaints = '';
  transport.stderr?.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  onTestFinished(() => client.close());
  await client.connect(transport).catch((error: unknown) => {
    throw new Error(`It did not start: ${complaints}`, { cause: error });
  });
  return client;
}

describe('headworks mcp', () => {
  it('starts the server for the admin, which an organization then calls with its key', async () => {
    const data = join(await folderWithStore(), '.headworks');
    const [ofAdmin, ofOrganization] = await snippets();
    if (!ofAdmin || !ofOrganization) throw new Error('docs/guide/mcp.md has no such configuration.');
    const admin = await connected(start(ofAdmin, { '/srv/headworks': data }));
    expect((await admin.listTools()).tools).toHaveLength(toolsFor('admin').length);
    expect(await admin.callTool({ name: 'status', arguments: {} })).toMatchObject({
      structuredContent: { note: null },
    });

    const { url } = JSON.parse(await readFile(join(data, 'server.json'), 'utf8')) as { url: string };
    const adminToken = (await readFile(join(data, 'admin-token'), 'utf8')).trim();
    const made = async (path: string, body: object): Promise<Record<string, string>> =>
      (await callAsAdmin({ url, adminToken }, 'POST', path, body)).body;
    await made('/api/v1/organizations', { name: 'acme' });
    const { key = '' } = await made('/api/v1/organizations/acme/keys', { name: 'mcp' });
    const change = { 'https://headworks.example.com': url, 'hwo_…': key };
    const acme = await connected(start(ofOrganization, change));
    expect((await acme.listTools()).tools).toHaveLength(toolsFor('organization').length);
    const document = { text: 'Alice Chen decided to launch in April.', title: 'Launch' };
    expect(await acme.callTool({ name: 'ingest', arguments: document })).toMatchObject({
      structuredContent: { outcome: 'added' },
    });
    expect(await acme.callTool({ name: 'search', arguments: { query: 'launch' } })).toMatchObject({
      structuredContent: { results: [{ title: 'Launch' }] },
    });
    expect(await admin.callTool({ name: 'search', arguments: { query: 'launch' } })).toMatchObject({
      structuredContent: { results: [] },
    });
  });
});
