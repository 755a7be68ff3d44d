import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { lookerContentTypes } from '../../src/extraction/sources/looker/description.ts';
import type { PageRequest, Source, ContentType } from '../../src/extraction/types.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { startLookerSimulator } from '../../src/simulators/looker/server.ts';
import { countedPermits } from '../support/counted-permits.ts';
import { childList, offsetPage, pageOfList } from '../support/extraction/pages.ts';
import { createLooker, createLookerApi, lookerSourceOn } from './looker-source-world.ts';

const never = new AbortController().signal;
type Row = Readonly<Record<string, unknown>>;

async function rows(source: Source, request: PageRequest): Promise<readonly Row[]> {
  const { bytes } = await source.fetch(request, never);
  return [JSON.parse(Buffer.from(bytes).toString()) as Row | Row[]].flat();
}

/** Everything of a type's lists, in pages of three. */
async function listed(source: Source, { name, endpoints }: ContentType): Promise<readonly Row[]> {
  const all: Row[] = [];
  for (const endpoint of endpoints)
    for (let offset = 0; ; offset += 3) {
      const page = await rows(source, offsetPage(name, offset, 3, endpoint.name));
      all.push(...page);
      if (page.length < 3) break;
    }
  return all;
}

async function simulated() {
  const simulator = await startLookerSimulator({
    items: { dashboards: 20, lookml_dashboards: 2, folders: 6, users: 2 },
  });
  const transport = createUndiciTransport({});
  onTestFinished(async () => {
    await transport.close();
    await simulator.stop();
  });
  const { url: baseUrl, clientId, clientSecret } = simulator;
  return { simulator, options: { baseUrl, clientId, clientSecret, transport, clock: systemClock } };
}

describe('the content types of Looker', () => {
  it('are the twelve of the document, with its numbers', () => {
    const { types } = lookerSourceOn(createLookerApi());
    expect(Object.fromEntries(types.map(({ name, number }) => [name, number]))).toEqual(lookerContentTypes);
  });

  it('are requested in a stable order, schedules of all users', async () => {
    const api = createLookerApi();
    const source = lookerSourceOn(api);
    for (const { name, endpoints } of source.types)
      for (const endpoint of endpoints.filter(({ pagination }) => pagination === 'offset'))
        await source.fetch(offsetPage(name, 20, 10, endpoint.name), never);
    const paged = api.requested.filter((path) => path.endsWith('limit=10&offset=20'));
    expect(paged).toHaveLength(12);
    expect(api.requested.filter((path) => !path.includes('sorts=id'))).toEqual([
      '/api/4.0/lookml_models?limit=10&offset=20',
    ]);
    expect(api.requested).toContain(
      '/api/4.0/scheduled_plans/search?sorts=id&all_users=true&limit=10&offset=20',
    );
  });

  it.for(['..', '.', ''])('never let a name like "%s" lead to another address', async (id) => {
    const api = createLookerApi();
    const source = lookerSourceOn(api);
    const look = (of: string) => pageOfList(childList('looks', { id: of }, 'look'), { kind: 'single' });
    await expect(source.fetch(look(id), never)).rejects.toMatchObject({ failure: { kind: 'validation' } });
    expect(api.contentCalls()).toBe(0);
    await source.fetch(look('../a?b#c'), never);
    expect(api.requested).toEqual(['/api/4.0/looks/..%2Fa%3Fb%23c']);
  });
});

describe('a folder filter', () => {
  const endpointsOf = (source: Source, type: string) =>
    source.types.find(({ name }) => name === type)?.endpoints.map(({ name }) => name);

  it('requests dashboards and looks folder by folder, and all of the other types', async () => {
    const api = createLookerApi();
    const source = lookerSourceOn(api, { folders: { ids: ['9', '1'], recursive: false } });
    await source.connect(never);
    expect(endpointsOf(source, 'dashboards')).toEqual([
      'folder-9',
      'lookml-folder-9',
      'folder-1',
      'lookml-folder-1',
    ]);
    expect(endpointsOf(source, 'looks')).toEqual(['folder-9', 'folder-1', 'look']);
    expect(source.types.filter(({ scope }) => scope !== undefined).map(({ scope }) => scope)).toEqual([
      'folders 9, 1',
      'folders 9, 1',
    ]);
    expect(endpointsOf(source, 'folders')).toEqual(['']);
    await source.fetch(offsetPage('dashboards', 0, 10, 'folder-9'), never);
    expect(api.requested.at(-1)).toBe('/api/4.0/dashboards/search?sorts=id&folder_id=9&limit=10&offset=0');
  });

  it.for([true, false])('finds all subfolders, although pages are short (total sent: %s)', async (isSent) => {
    const api = createLookerApi();
    api.sendTotal(isSent);
    const { acquirePermit, permits } = countedPermits();
    const source = lookerSourceOn(api, { folders: { ids: ['1'], recursive: true }, acquirePermit });
    await source.connect(never);
    expect(endpointsOf(source, 'looks')).toEqual(['folder-1', 'folder-2', 'folder-3', 'folder-4', 'look']);
    expect(permits()).toBe(api.contentCalls() + api.logins());
  });

  it('names the folder that does not exist', async () => {
    const source = lookerSourceOn(createLookerApi(), { folders: { ids: ['1', '77'], recursive: false } });
    await expect(source.connect(never)).rejects.toMatchObject({ code: 'EXTRACTION_SOURCE_INVALID' });
    await expect(source.connect(never)).rejects.toThrow(/no folder 77/);
  });

  it('does not request forever when the list of folders ignores the offset', async () => {
    const api = createLookerApi();
    api.sendTotal(false);
    const folder = [{ id: '1', parent_id: null }];
    const handler: typeof api.handler = (request) =>
      request.url.pathname.endsWith('/folders/search')
        ? { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(folder) }
        : api.handler(request);
    const source = lookerSourceOn({ ...api, handler }, { folders: { ids: ['1'], recursive: true } });
    await expect(source.connect(never)).rejects.toThrow(/does not list its folders .*ignores the offset/);
  });

  it('reports that folders cannot be listed', async () => {
    const api = createLookerApi();
    api.misbehave(403);
    const source = lookerSourceOn(api, { folders: { ids: ['1'], recursive: true } });
    await expect(source.connect(never)).rejects.toThrow(/does not list its folders .*omit --folders/);
  });

  it('finds the content of the folders in a simulated Looker, and nothing twice', async () => {
    const { options } = await simulated();
    const everything = createLooker(options);
    const all = createLooker({ ...options, folders: { ids: ['1'], recursive: true } });
    const one = createLooker({ ...options, folders: { ids: ['2', '2'], recursive: false } });
    const dashboards = async (source: Source) => {
      await source.connect(never);
      const type = source.types.find(({ name }) => name === 'dashboards');
      return (type ? await listed(source, type) : []).filter(({ id }) => !String(id).includes('::'));
    };
    const whole = await dashboards(everything);
    expect(new Set((await dashboards(all)).map(({ id }) => id))).toEqual(new Set(whole.map(({ id }) => id)));
    const inTwo = whole.filter(({ folder_id }) => folder_id === '2').map(({ id }) => id);
    expect((await dashboards(one)).map(({ id }) => id)).toEqual(inTwo);
    expect(inTwo.length).toBeLessThan(whole.length);
  });
});
