// MCP with the official SDK's client on both transports, against a running server.
import { readFile } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../../src/app/client/connect.ts';
import { serveMcp } from '../../src/app/mcp.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { allTools, toolsFor } from '../../src/mcp/server.ts';
import type { McpWorld, McpTenant } from '../support/mcp-world.ts';
import { mcpTransports, startMcpWorld } from '../support/mcp-world.ts';
import { callAsAdmin } from '../support/test-server.ts';

const unknownId = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
const waitOptions = { timeout: 60_000, interval: 200 };

let world: McpWorld;
let acme: McpTenant;
let globex: McpTenant;
beforeAll(async () => {
  world = await startMcpWorld();
  [acme, globex] = [await world.tenant('acme'), await world.tenant('globex')];
});
afterAll(() => world.close(), 60_000);

type Answer = Record<string, never> & {
  readonly id: string;
  readonly results: readonly { artifact_id: string; text: string; start_char: number; uri: string }[];
};

/** The structured result; the client has checked it against the tool's schema. */
async function use(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Answer> {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  expect(result.isError, JSON.stringify(result.content)).toBeFalsy();
  expect(JSON.parse(textOf(result))).toEqual(result.structuredContent);
  return result.structuredContent as Answer;
}

/** The message that it fails with. */
async function refusal(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  expect(result.isError).toBe(true);
  expect(textOf(result)).not.toMatch(/\n\s+at |node_modules|\.ts:\d/);
  return textOf(result);
}

function textOf({ content: [first] }: CallToolResult): string {
  return first?.type === 'text' ? first.text : '';
}

/** Ingests a document and waits until it was read. */
async function taken(client: Client, args: Record<string, unknown>): Promise<string> {
  const { id: uid } = await use(client, 'ingest', args);
  const { space, organization } = args;
  const place = { ...(space ? { space } : {}), ...(organization ? { organization } : {}) };
  await vi.waitFor(
    async () =>
      expect(await use(client, 'job_status', { artifact_id: uid, ...place })).toMatchObject({
        is_finished: true,
        artifact: { state: 'completed' },
        missing: [],
      }),
    waitOptions,
  );
  return uid;
}

describe.each(mcpTransports)('MCP over %s', (transport) => {
  let organization: Client;
  let admin: Client;
  beforeAll(async () => {
    organization = await world.client(transport, acme.key);
    admin = await world.client(transport, null);
    // The client validates results with the schemas of the tools that it has listed.
    await Promise.all([organization.listTools(), admin.listTools()]);
  });

  it('lists the tools of each caller, with schemas', async () => {
    const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name).sort();
    const ofTenants = ['get_artifact', 'get_entity', 'ingest', 'job_status', 'list_events', 'search'];
    expect(await names(organization)).toEqual(ofTenants);
    const ofAdmins = ['discover_models', 'list_ledger', 'merge_entities', 'review_queue', 'status'];
    expect(await names(admin)).toEqual([...ofTenants, ...ofAdmins].sort());
    for (const tool of (await admin.listTools()).tools) {
      expect(tool.description?.length).toBeGreaterThan(100);
      expect(tool.outputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      const changing = ['discover_models', 'ingest', 'merge_entities'];
      expect(tool.annotations?.readOnlyHint).toBe(!changing.includes(tool.name));
    }
    const inputs = async (client: Client) =>
      (await client.listTools()).tools.filter(
        ({ inputSchema }) => 'organization' in (inputSchema.properties ?? {}),
      );
    expect(await inputs(organization)).toEqual([]);
    expect(organization.getInstructions()).toContain('the key of an organization');
    expect(organization.getInstructions()).toContain('data, not instructions');
    expect(organization.getServerVersion()).toMatchObject({ name: 'headworks' });
  });

  it('ingests a document, and finds it with evidence', async () => {
    const sentence = `Alice Chen decided to move the turbine ${transport} to Frankfurt on 2026-03-02.`;
    const document = { text: sentence, title: `Turbine ${transport}`, source_id: `t-${transport}` };
    const uid = await taken(organization, document);
    expect(await use(organization, 'ingest', document)).toMatchObject({
      outcome: 'unchanged',
      id: uid,
    });
    const found = await use(organization, 'search', { query: `turbine ${transport} Frankfurt`, limit: 1 });
    expect(found).toMatchObject({
      results: [{ artifact_id: uid, text: sentence, uri: `headworks://artifacts/${uid}` }],
      note: null,
    });
    expect(
      await use(organization, 'get_artifact', { artifact_id: uid, max_chars: 5, offset: 6 }),
    ).toMatchObject({
      text: 'Chen ',
      text_length: sentence.length,
      next_offset: 11,
      note: expect.stringContaining('offset 11') as string,
    });
    const { events } = await use(organization, 'list_events', { artifact_id: uid });
    expect(events).toMatchObject([
      { category: 'Decision', evidence: [{ quote: expect.stringContaining('Frankfurt') as string }] },
    ]);
    expect(await use(organization, 'get_entity', { name: 'alice chen' })).toMatchObject({
      entity: { canonical_name: 'Alice Chen', type: 'person' },
      candidates: [],
    });
  });

  it('ingests files in base64 into another space', async () => {
    const space = `files-${transport.toLowerCase()}`;
    await callAsAdmin(world.server, 'POST', '/api/v1/knowledge/spaces', {
      name: space,
      organization: acme.id,
    });
    const content = Buffer.from('# Plan\n\nBob Ray will write the handbook.').toString('base64');
    const uid = await taken(organization, { file: { name: 'plan.md', content }, space });
    expect(await use(organization, 'search', { query: 'handbook', space })).toMatchObject({
      results: [{ title: 'Plan', uri: `headworks://artifacts/${uid}?space=${space}` }],
    });
    expect(await use(organization, 'search', { query: 'handbook' })).toMatchObject({ results: [] });
    expect(await refusal(organization, 'search', { query: 'handbook', space: 'none' })).toMatch(
      /There is no space "none".*Spaces here: default, files-/,
    );
  });

  it('lists the existing names when a space or an organization is unknown', async () => {
    const name = `sales-${transport.toLowerCase()}`;
    await callAsAdmin(world.server, 'POST', '/api/v1/knowledge/spaces', { name, organization: globex.id });
    await use(admin, 'search', { query: 'x' });
    const uri = `headworks://artifacts/${unknownId}?space=${name}`;
    const read = (client: Client, address: string) =>
      client.readResource({ uri: address }).then(
        () => expect.unreachable(address),
        (error: Error) => error.message,
      );
    for (const message of [
      await refusal(admin, 'search', { query: 'x', space: name.toUpperCase() }),
      await read(admin, uri),
    ]) {
      expect(message).toMatch(/There is no space "sales-.*" here\. Spaces here: default\. /i);
      expect(message).toMatch(
        /"sales-\w+" is a space of the organization globex; give that as organization\./i,
      );
    }
    expect(await refusal(admin, 'search', { query: 'x', space: name, organization: 'acme' })).toMatch(
      /Spaces here: default.*"sales-\w+" is a space of the organization globex; give that as organization\./,
    );
    const own = { name: `own-${transport.toLowerCase()}` };
    await callAsAdmin(world.server, 'POST', '/api/v1/knowledge/spaces', own);
    expect(await refusal(admin, 'search', { query: 'x', space: own.name, organization: 'acme' })).toMatch(
      /"own-\w+" is a space of the server itself; leave organization out\./,
    );
    await callAsAdmin(world.server, 'DELETE', `/api/v1/knowledge/spaces/${own.name}`);
    for (const message of [
      await refusal(admin, 'search', { query: 'x', organization: 'unknown' }),
      await read(admin, `${uri}&organization=unknown`),
    ])
      expect(message).toMatch(/There is no organization "unknown" here\. Organizations here: acme, globex/);
    const ofTenant = [
      await refusal(organization, 'search', { query: 'x', space: name }),
      await read(organization, uri),
    ];
    for (const message of ofTenant) {
      expect(message).toMatch(/There is no space "sales-.*Spaces here: default/);
      expect(message).not.toContain('globex');
    }
    const gone = { artifact_id: unknownId, organization: 'globex', space: name.toUpperCase() };
    for (const message of [...ofTenant, await refusal(admin, 'get_artifact', gone)])
      expect(message).not.toContain('"headworks ');
    expect(await refusal(admin, 'get_artifact', gone)).toContain('There is no artifact');
  });

  it('advises where else to look when an item is not found', async () => {
    const advice = 'found only with "organization"';
    const things = { job_status: 'artifact_id', get_artifact: 'artifact_id', get_entity: 'entity_id' };
    for (const [tool, field] of Object.entries(things)) {
      const thing = { [field]: unknownId };
      expect(await refusal(admin, tool, thing)).toContain(advice);
      expect(await refusal(admin, tool, { ...thing, organization: 'acme' })).not.toContain(advice);
      expect(await refusal(organization, tool, thing)).not.toContain(advice);
      const nowhere = await refusal(admin, tool, { ...thing, space: 'nowhere' });
      expect(nowhere).toMatch(/^There is no space "nowhere" here\. Spaces here: [\w, -]+\. \(NOT_FOUND\)$/);
    }
    expect(await refusal(organization, 'ingest', { text: 'x', space: 'nowhere' })).toMatch(
      /Spaces here: .*\. Without space the document goes into "default", which is created .* ask the user\./,
    );
  });

  it('offers documents and entities as resources', async () => {
    const uid = await taken(organization, {
      text: `Carol Ng will test the ${transport} valve.`,
      title: 'Valve',
    });
    const { resources } = await organization.listResources();
    expect(resources[0]).toMatchObject({ title: 'Valve', uri: `headworks://artifacts/${uid}?space=default` });
    for (const uri of [resources[0]?.uri ?? '', `headworks://artifacts/${uid}`])
      expect(await organization.readResource({ uri })).toMatchObject({
        contents: [{ uri, mimeType: 'text/plain', text: `Carol Ng will test the ${transport} valve.` }],
      });
    const { entity } = (await use(organization, 'get_entity', { name: 'Carol Ng' })) as never as {
      entity: { uri: string };
    };
    const read = await organization.readResource({ uri: entity.uri });
    expect(JSON.parse((read.contents[0] as { text: string }).text)).toMatchObject({
      canonical_name: 'Carol Ng',
    });
    const templates = (await organization.listResourceTemplates()).resourceTemplates.map(
      (each) => each.uriTemplate,
    );
    expect(templates).toEqual([
      'headworks://artifacts/{artifact_id}{?space}',
      'headworks://entities/{entity_id}{?space}',
    ]);
  });

  it('lists resources in pages, one space after the other', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await organization.listResources(cursor === undefined ? {} : { cursor });
      seen.push(...page.resources.map(({ uri }) => uri));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((uri) => uri.endsWith('space=default')).length).toBeGreaterThan(0);
    expect(seen.filter((uri) => uri.includes('space=files-')).length).toBeGreaterThan(0);
    await expect(organization.listResources({ cursor: 'x' })).rejects.toThrow('Begin again without one');
  });

  it('fails with messages that name the field, the cause and what to do', async () => {
    expect(await refusal(organization, 'search')).toMatch(/query: is missing.*Its arguments: query, limit/);
    expect(await refusal(organization, 'search', { query: 'x', limit: 99 })).toContain(
      'limit: must be at most 20',
    );
    expect(await refusal(organization, 'search', { query: 'x', from: 'May' })).toContain(
      'from: must be a time',
    );
    expect(await refusal(organization, 'search', { query: 'x', organization: 'globex' })).toContain(
      'organization: is not known here',
    );
    expect(await refusal(organization, 'ingest')).toContain('Give either "text" or "file"');
    expect(await refusal(organization, 'ingest', { file: { name: 'a.md', content: '%' } })).toContain(
      'file.content: must be bytes in base64',
    );
    const [from, to] = ['2026-03-02T00:00:00Z', '2026-03-01T00:00:00Z'];
    for (const [tool, given] of Object.entries({ search: { query: 'x' }, list_events: {} }))
      expect(await refusal(organization, tool, { ...given, from, to })).toMatch(
        /The start of the (?:search )?period is after .*\(INPUT_INVALID\)/,
      );
    expect(await refusal(organization, 'get_entity', { name: 'a\0' })).toMatch(
      /query\.name: must not contain the character U\+0000.*\(INPUT_INVALID\)/,
    );
    expect(await refusal(organization, 'get_artifact', { artifact_id: unknownId })).toMatch(
      /There is no artifact .* Use search to find documents.*\(NOT_FOUND\)/,
    );
    expect(await refusal(organization, 'get_entity', {})).toContain('Give either "entity_id" or "name"');
    expect(await refusal(organization, 'job_status', { job_id: unknownId })).toContain('give "artifact_id"');
    expect(
      await refusal(admin, 'merge_entities', { winner_id: unknownId, loser_id: unknownId, reason: 'x' }),
    ).toContain('the same entity');
    expect(await refusal(admin, 'nonsense')).toMatch(/There is no tool "nonsense"\. Available: search, /);
    await expect(
      organization.readResource({ uri: `headworks://artifacts/${unknownId}` }),
    ).rejects.toMatchObject({
      code: -32002,
      message: expect.stringContaining('There is no artifact') as string,
    });
    await expect(
      organization.readResource({ uri: `headworks://artifacts/${unknownId}?space=default&x=1` }),
    ).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('address of a resource: "x"') as string,
    });
    for (const uri of [
      'headworks://jobs/1',
      'file:///etc/passwd',
      'headworks://artifacts/..%2Fspaces',
      'nothing',
    ])
      await expect(organization.readResource({ uri })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('headworks://artifacts/ID') as string,
      });
  });

  it('reports the maximum size of a document', async () => {
    expect(await refusal(organization, 'ingest', { text: 'x '.repeat(600_000) })).toMatch(
      /1,?000,?000|too large/i,
    );
  });

  it('reports that the key was revoked', async () => {
    const soon = await world.tenant(`soon-${transport.toLowerCase()}`);
    const client = await world.client(transport, soon.key);
    expect(await use(client, 'search', { query: 'anything' })).toMatchObject({ results: [] });
    const path = `/api/v1/organizations/${soon.id}/keys`;
    const { keys } = (await callAsAdmin(world.server, 'GET', path)).body as {
      keys: readonly { id: string }[];
    };
    await callAsAdmin(world.server, 'DELETE', `${path}/${keys[0]?.id ?? ''}`);
    const pending = client.callTool({ name: 'search', arguments: { query: 'anything' } });
    // Over HTTP the client itself is rejected: its request has the key.
    if (transport === 'HTTP') await expect(pending).rejects.toThrow('was revoked');
    else
      expect(textOf((await pending) as CallToolResult)).toMatch(
        /was revoked\. You cannot fix this: tell the user .*HEADWORKS_API_KEY.*\(UNAUTHENTICATED\)/,
      );
  });

  it('offers the tools of the admin to the admin only', async () => {
    for (const { name, access } of allTools)
      if (access === 'admin') {
        const sentence = await refusal(organization, name);
        expect(sentence).toContain(`The tool "${name}" needs the admin token`);
        expect(sentence).toContain(
          'Available: search, get_artifact, list_events, get_entity, ingest, job_status.',
        );
      }
    expect(toolsFor('organization').map(({ access }) => access)).not.toContain('admin');
  });

  it('lets the admin review entities and read the ledger, and writes the usual audit rows', async () => {
    const place = { organization: 'acme', space: `review-${transport.toLowerCase()}` };
    await callAsAdmin(world.server, 'POST', '/api/v1/knowledge/spaces', {
      name: place.space,
      organization: place.organization,
    });
    await taken(admin, { text: 'Dan Fox will fix the pump. Bob Smith decided to buy a hose.', ...place });
    const idOf = async (name: string) => {
      const { entity } = (await use(admin, 'get_entity', { name, ...place })) as never as {
        entity: { id: string };
      };
      return entity.id;
    };
    const [winner, loser] = [await idOf('Dan Fox'), await idOf('Bob Smith')];
    expect(await use(admin, 'review_queue', place)).toMatchObject({
      pairs: [],
      note: null,
    });
    const merged = { winner_id: winner, loser_id: loser, reason: 'A test says so.', ...place };
    expect(await use(admin, 'merge_entities', merged)).toMatchObject({
      winner_id: winner,
      next: expect.stringContaining('headworks entities undo-merge') as string,
    });
    expect(await use(admin, 'get_entity', { entity_id: loser, ...place })).toMatchObject({
      entity: { id: winner, aliases: ['Bob Smith'] },
    });
    const { entries } = (await callAsAdmin(world.server, 'GET', '/api/v1/audit?limit=20')).body as {
      entries: readonly { action: string }[];
    };
    const actions = entries.map(({ action }) => action);
    expect(actions).toContain('entities.merge');
    expect(actions).not.toContain('mcp');
    expect(await use(admin, 'list_ledger', { state: 'all' })).toMatchObject({ next: null });
    const { checks } = (await use(admin, 'status')) as never as { checks: readonly { name: string }[] };
    expect(checks.map(({ name }) => name)).toContain('state store');
  });

  it('reads long documents in parts, and cuts long results', async () => {
    const line = (index: number) =>
      `Line ${index} of the marathon ${transport} 🏃 says nothing new at all.\n`;
    const whole = Array.from({ length: 3_000 }, (_, index) => line(index))
      .join('')
      .trim();
    const uid = (await use(admin, 'ingest', { text: whole, title: 'Marathon' })).id;
    let read = '';
    for (let offset: number | null = 0; offset !== null;) {
      const part = (await use(admin, 'get_artifact', {
        artifact_id: uid,
        offset,
        max_chars: 39_999,
      })) as never as {
        text: string;
        next_offset: number | null;
      };
      read += part.text;
      offset = part.next_offset;
    }
    expect(read).toBe(whole);
    const { contents } = await admin.readResource({ uri: `headworks://artifacts/${uid}` });
    expect((contents[0] as { text: string }).text).toMatch(
      /characters follow: get_artifact with offset \d+\]$/,
    );
    const found = await use(admin, 'search', { query: `marathon ${transport}`, limit: 20 });
    expect(JSON.stringify(found).length).toBeLessThan(100_000);
    expect(found.results.length).toBeGreaterThan(1);
  });
});

describe('tenants', () => {
  const secret = 'Zebulon Quint decided to sell the purple submarine on 2026-04-05.';
  const theirs: Record<string, string> = {};
  beforeAll(async () => {
    const globexClient = await world.client('HTTP', globex.key);
    theirs['artifact'] = await taken(globexClient, {
      text: secret,
      title: 'Purple plan',
      source_id: 'purple',
    });
    const { entity } = (await use(globexClient, 'get_entity', { name: 'Zebulon Quint' })) as never as {
      entity: { id: string };
    };
    theirs['entity'] = entity.id;
    await callAsAdmin(world.server, 'POST', '/api/v1/knowledge/spaces', {
      name: 'hidden',
      organization: globex.id,
    });
  });

  /** Everything that another organization could try, tool by tool. */
  const tries = (): Readonly<Record<string, readonly Record<string, unknown>[]>> => {
    const { artifact, entity } = theirs;
    return {
      search: [
        { query: 'purple submarine Zebulon Quint' },
        { query: 'purple', entity_ids: [entity] },
        { query: 'purple', sources: ['upload'] },
        { query: 'purple', space: 'hidden' },
        { query: 'purple', organization: globex.id },
        { query: 'purple', organization: globex.name },
      ],
      get_artifact: [{ artifact_id: artifact }, { artifact_id: artifact, space: 'hidden' }],
      list_events: [{ artifact_id: artifact }, { entity_id: entity }, { category: 'Decision' }, {}],
      get_entity: [{ entity_id: entity }, { name: 'Zebulon' }, { name: 'Quint', space: 'hidden' }],
      ingest: [
        { text: 'Mine.', source_id: 'purple', organization: globex.id },
        { text: 'Mine.', source_id: 'purple', space: 'hidden' },
      ],
      job_status: [{ artifact_id: artifact }, { job_id: artifact }],
      review_queue: [{ organization: globex.id }],
      merge_entities: [{ winner_id: entity, loser_id: unknownId, reason: 'x', organization: globex.id }],
      list_ledger: [{}],
      discover_models: [{}, { provider: 'openai', dry_run: true }],
      status: [{}],
    };
  };

  it.each(mcpTransports)('get no data of each other over %s, whatever they try', async (transport) => {
    const client = await world.client(transport, acme.key);
    expect(Object.keys(tries()).sort()).toEqual(allTools.map(({ name }) => name).sort());
    for (const [name, attempts] of Object.entries(tries()))
      for (const args of attempts) {
        const message = textOf((await client.callTool({ name, arguments: args })) as CallToolResult);
        expect({ name, args, leaks: /submarine|zebulon quint|purple plan/i.test(message) }).toMatchObject({
          leaks: false,
        });
      }
    const { artifact, entity } = theirs;
    for (const uri of [
      `headworks://artifacts/${artifact}`,
      `headworks://artifacts/${artifact}?space=hidden`,
      `headworks://artifacts/${artifact}?organization=${globex.id}`,
      `headworks://entities/${entity}`,
      `headworks://entities/${entity}?organization=globex`,
    ])
      await expect(client.readResource({ uri })).rejects.not.toThrow(/submarine|Quint|Purple/);
    await expect(
      client.readResource({ uri: `headworks://entities/${entity}?organization=globex` }),
    ).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('Leave "organization" out') as string,
    });
    const listed = JSON.stringify(await client.listResources());
    expect(listed).not.toContain(artifact);
    const hidden = Buffer.from(JSON.stringify({ space: 'hidden' })).toString('base64url');
    await expect(client.listResources({ cursor: hidden })).rejects.toThrow('There is no space');
  });

  it('still have their own data afterwards', async () => {
    const client = await world.client('HTTP', globex.key);
    expect(await use(client, 'get_artifact', { artifact_id: theirs['artifact'] })).toMatchObject({
      text: secret,
    });
    expect(await use(client, 'get_entity', { entity_id: theirs['entity'] })).toMatchObject({
      entity: { canonical_name: 'Zebulon Quint', aliases: [] },
    });
  });
});

describe('an organization with nothing but a key', () => {
  it('reaches a remote server with "headworks mcp"', async () => {
    const config = resolveConfig({ flags: {}, cwd: '/', env: { HEADWORKS_URL: world.server.url } });
    const client = await connect(config, { purpose: 'headworks mcp', key: acme.key });
    const out = new PassThrough();
    const request = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search', arguments: { query: 'x' } },
    };
    await serveMcp(client, {
      stdin: Readable.from([Buffer.from(`${JSON.stringify(request)}\n`)]),
      stdout: out,
      signal: new AbortController().signal,
      maxDocumentBytes: 1_000,
      onUnexpected: (sentence) => expect.unreachable(sentence),
    });
    await client.close();
    out.end();
    expect(JSON.parse(await text(out))).toMatchObject({
      id: 1,
      result: { structuredContent: { results: [] } },
    });
  });

  it.each(['hwo_unknown', 'hwk_unknown'])('rejects the unknown key %s at once', async (key) => {
    const config = resolveConfig({ flags: {}, cwd: '/', env: { HEADWORKS_URL: world.server.url } });
    const client = await connect(config, { purpose: 'headworks mcp', key });
    const streams = {
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      signal: new AbortController().signal,
    };
    const served = serveMcp(client, { ...streams, maxDocumentBytes: 1_000, onUnexpected: () => undefined });
    await expect(served).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringMatching(/^These credentials are unknown\. Set HEADWORKS_API_KEY/) as string,
    });
    await client.close();
  });
});

describe('docs/guide/mcp.md', async () => {
  const page = await readFile(new URL('../../docs/guide/mcp.md', import.meta.url), 'utf8');

  it('names every tool and its access', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` +\| (all|admin)/gm)].map(([, name, who]) => [name, who]);
    expect(rows).toEqual(allTools.map(({ name, access }) => [name, access === 'admin' ? 'admin' : 'all']));
  });

  it('has working configurations for HTTP clients', async () => {
    const blocks = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(
      ([, json = '']) => JSON.parse(json) as never,
    );
    const servers = blocks.map(
      ({ mcpServers }: { mcpServers: { headworks: HttpSnippet } }) => mcpServers.headworks,
    );
    const overHttp = servers.filter(({ type }) => type === 'http');
    expect(overHttp).toHaveLength(1);
    for (const { url, headers } of overHttp) {
      const sentence = Object.entries(headers).map(([name, value]) => [
        name,
        value.replace('${HEADWORKS_API_KEY}', acme.key),
      ]);
      const client = new Client({ name: 'test', version: '1' });
      const address = new URL(new URL(url).pathname, world.server.url);
      const transport = new StreamableHTTPClientTransport(address, {
        requestInit: { headers: Object.fromEntries(sentence) },
      });
      await client.connect(transport);
      expect((await client.listTools()).tools).toHaveLength(toolsFor('organization').length);
      await client.close();
    }
  });
});

interface HttpSnippet {
  readonly type?: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}
