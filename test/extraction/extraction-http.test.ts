// Complete extractions over HTTP: servers without HEAD, compressed responses, redirects, and the mode of files.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { InMemoryRequest, InMemoryResponse } from '../support/http-client/in-memory-transport.ts';
import { extractRest, items, json } from '../support/rest-extraction.ts';

const yaml = `
name: api
base_url: \${URL}
resources:
  - { name: things, path: /things, id: id, pagination: { type: offset }, total: { header: X-Total } }`;
const list = items(30);
const page = json(list, { 'x-total': '30' });

describe('a source', () => {
  it.each<[string, (request: InMemoryRequest) => InMemoryResponse]>([
    [
      'resets',
      () => {
        throw new Error('reset');
      },
    ],
    ['returns 401', () => json({}, {}, 401)],
    ['returns 405', () => json({}, {}, 405)],
  ])('whose HEAD %s is extracted, and its first page is requested once', async (_how, onHead) => {
    const methods: string[] = [];
    const { run } = await extractRest({
      yaml,
      handler: (request) => {
        methods.push(request.method);
        return request.method === 'HEAD' ? onHead(request) : page;
      },
    });
    expect(await run()).toMatchObject({ state: 'completed', calls: 1, types: [{ held: 30 }] });
    expect(methods).toEqual(['GET']);
  });

  it('whose first page returns 401 is not extracted, and no vault is created', async () => {
    const { run, folder } = await extractRest({ yaml, handler: () => json({}, {}, 401) });
    await expect(run()).rejects.toMatchObject({ code: 'EXTRACTION_UNAUTHENTICATED' });
    const files = await readdir(folder, { recursive: true });
    expect(files.filter((name) => name.endsWith('.vault'))).toEqual([]);
  });

  it('receives a User-Agent and the accepted encodings', async () => {
    const sent: InMemoryRequest['headers'][] = [];
    const { run } = await extractRest({
      yaml,
      handler: ({ headers }) => {
        sent.push(headers);
        return page;
      },
    });
    await run();
    expect(sent[0]).toMatchObject({ 'user-agent': 'headworks', 'accept-encoding': 'gzip, deflate, br' });
  });
});

describe('a response', () => {
  const body = Buffer.from(JSON.stringify(list));
  const encoded = (encoding: string, bytes: Uint8Array): InMemoryResponse => ({
    status: 200,
    headers: { 'content-type': 'application/json', 'x-total': '30', 'content-encoding': encoding },
    body: bytes,
  });

  it.each<[string, InMemoryResponse]>([
    ['gzip', encoded('gzip', gzipSync(body))],
    ['deflate', encoded('deflate', deflateSync(body))],
    ['deflate without a header', encoded('deflate', deflateRawSync(body))],
    ['br', encoded('br', brotliCompressSync(body))],
    ['gzip of br', encoded('br, gzip', gzipSync(brotliCompressSync(body)))],
    ['identity', encoded('identity', body)],
    ['a byte order mark', encoded('identity', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]))],
    ['gzip with a byte order mark', encoded('gzip', gzipSync(`\ufeff${body.toString()}`))],
  ])('with %s is read', async (_what, response) => {
    const { run } = await extractRest({ yaml, handler: () => response });
    expect(await run()).toMatchObject({ state: 'completed', types: [{ held: 30 }] });
  });

  it.each<[string, InMemoryResponse, string]>([
    ['is truncated', encoded('gzip', gzipSync(body).subarray(0, 40)), 'cannot be decompressed'],
    ['has an encoding that was not requested', encoded('zstd', body), 'which was not requested'],
    ['is a compressed bomb', encoded('gzip', gzipSync(Buffer.alloc(80 * 1024 * 1024))), 'larger than'],
  ])('that %s fails its page', async (_what, response, message) => {
    const { run, output } = await extractRest({ yaml, handler: () => response });
    expect(await run()).toMatchObject({ state: 'incomplete' });
    expect(output.join('\n')).toContain(message);
  });

  it('that redirects within the source is followed, and counted', async () => {
    const paths: string[] = [];
    const { run } = await extractRest({
      yaml,
      handler: ({ url }) => {
        paths.push(url.pathname);
        return url.pathname === '/things' ? json({}, { location: `/moved${url.search}` }, 308) : page;
      },
    });
    expect(await run()).toMatchObject({ state: 'completed', types: [{ held: 30 }] });
    expect(paths).toEqual(['/things', '/moved']);
  });

  it.each([
    ['to another server', 'http://127.0.0.2:9/things?token=1', 1],
    ['forever', '/things', 6],
  ])('that redirects %s fails its page', async (_where, location, calls) => {
    let count = 0;
    const { run, output } = await extractRest({
      yaml,
      handler: () => {
        count++;
        return json({}, { location }, 302);
      },
    });
    expect(await run()).toMatchObject({ state: 'incomplete' });
    expect(output.join('\n')).toContain('which is not followed');
    expect(output.join('\n')).not.toContain('token=1');
    // To find out whether the source responds, for the first page, and for the next one.
    expect(count).toBe(3 * calls);
  });
});

describe('the files of a vault', () => {
  it('are readable by their owner only', async () => {
    const { run, folder } = await extractRest({ yaml, handler: () => page });
    const { vault } = await run();
    const vaults = join(vault, '..');
    expect(vaults.startsWith(folder)).toBe(true);
    for (const name of await readdir(vaults))
      expect([name, (await stat(join(vaults, name))).mode & 0o777]).toEqual([name, 0o600]);
  });
});

it('requests every page once over several runs, and none when everything is there (N3)', async () => {
  const requested: string[] = [];
  const handler = ({ url }: InMemoryRequest) => {
    requested.push(url.pathname);
    return json([{ id: url.pathname }]);
  };
  const paths = ['/a', '/b', '/c', '/d'];
  const resources = paths.map((path) => `  - { name: ${path.slice(1)}, path: ${path}, id: id }`).join('\n');
  const yaml = `name: api\nbase_url: \${URL}\nresources:\n${resources}`;
  const { run } = await extractRest({ handler, yaml, flags: { 'max-calls': '2', workers: '1' } });
  const results = [await run(), await run(), await run()];
  expect(results.map(({ state, calls }) => [state, calls])).toEqual([
    ['interrupted', 2],
    ['completed', 2],
    ['completed', 0],
  ]);
  expect(requested).toEqual(paths);
});
