// Runs examples of the docs in a project that has headworks installed: node run-examples.ts EXAMPLES TEMPLATE
// EXAMPLES is a JSON file with the code of each by its name, TEMPLATE an empty embedded store. What the examples call is
// served here, and the addresses in them are replaced. The last line that it prints has their count and what failed.
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from 'headworks/client';
import { startServer } from 'headworks';

const [examplesFile = '', template = ''] = process.argv.slice(2);
const examples = JSON.parse(await readFile(examplesFile, 'utf8')) as Record<string, string>;
const project = process.cwd();

const json = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function serve(handle: (request: IncomingMessage, response: ServerResponse, body: string) => unknown) {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => handle(request, response, body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const api = await serve((_, response) => json(response, [{ id: 1, title: 'Printer on fire' }]));
const brokenModels = await serve((_, response) => json(response, { error: { message: 'broken' } }, 500));
const models = await serve((_, response, body) => {
  const { stream, model } = JSON.parse(body) as { readonly stream?: boolean; readonly model: string };
  const content = 'Elbe, Oder, Spree';
  const choice = { index: 0, finish_reason: 'stop' };
  if (stream !== true)
    return json(response, {
      id: '1',
      model,
      choices: [{ ...choice, message: { role: 'assistant', content } }],
    });
  const chunk = {
    id: '1',
    object: 'chat.completion.chunk',
    model,
    choices: [{ ...choice, delta: { content } }],
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
});

/** A folder of its own, with empty stores where the code expects its data folders. */
async function folderFor(code: string): Promise<string> {
  const folder = await mkdtemp(join(project, 'run-'));
  await writeFile(
    join(folder, 'tickets.yaml'),
    `name: tickets\nbase_url: ${api}\nresources:\n  - { name: tickets, path: /tickets, id: id }\n`,
  );
  const named = [...code.matchAll(/dataFolder: '([^']+)'/g)].map(([, name = '']) => name);
  const defaults = code.includes('createGateway(') ? ['.headworks/gateway'] : [];
  if (code.includes('startServer(')) defaults.push('.headworks');
  for (const name of new Set([...named, ...defaults])) {
    await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
    await cp(template, join(folder, name, 'state'), { recursive: true });
  }
  return folder;
}

process.chdir(await folderFor(`startServer({ dataFolder: 'server' })`));
const server = await startServer({ dataFolder: 'server', port: 0 });
await createClient({ baseUrl: server.url, token: server.adminToken }).call('POST /api/v1/models', {
  body: { name: 'mine', base_url: `${models}/v1` },
});
process.env['KEY'] = server.adminToken;
process.env['PRIMARY_API_KEY'] = 'key of the provider';

const addresses = {
  'https://api.example.com': api,
  'https://llm.example.com': brokenModels,
  'http://127.0.0.1:8000': models,
  'http://127.0.0.1:8420': server.url,
  'admin token of the server': server.adminToken,
};

const { extract } = await import('headworks/extraction');
process.chdir(await folderFor(''));
await extract({ source: 'tickets.yaml', vault: 'tickets.vault' });
const vault = join(process.cwd(), 'tickets.vault');

const failures: string[] = [];
for (const [name, example] of Object.entries(examples)) {
  const code = Object.entries(addresses).reduce((text, [from, to]) => text.replaceAll(from, to), example);
  const folder = await folderFor(code);
  if (code.includes('openVault(')) await cp(vault, join(folder, 'tickets.vault'));
  await writeFile(join(folder, 'example.ts'), code);
  process.chdir(folder);
  try {
    await import(pathToFileURL(join(folder, 'example.ts')).href);
  } catch (error) {
    failures.push(`${name}: ${String(error)}`);
  }
}
// Examples print, too: the result is the last line.
console.log(`\n${JSON.stringify({ count: Object.keys(examples).length, failures })}`);
process.exit(0);
