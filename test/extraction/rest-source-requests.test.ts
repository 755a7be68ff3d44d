import { describe, expect, it } from 'vitest';
import { loadDescription } from '../../src/extraction/sources/description/load.ts';
import type { PagePosition, PageRequest } from '../../src/extraction/types.ts';
import type { InMemoryResponse, InMemoryRequest } from '../support/http-client/in-memory-transport.ts';
import { countedPermits } from '../support/counted-permits.ts';
import { childList, pageOfList, rootList } from '../support/extraction/pages.ts';
import { restSourceOn } from './rest-source-world.ts';

const never = new AbortController().signal;

/** Records its requests, and returns the given responses. */
function recorder(
  respond: (request: InMemoryRequest) => InMemoryResponse = () => ({ status: 200, body: '[]' }),
) {
  const requests: InMemoryRequest[] = [];
  return {
    requests,
    paths: () => requests.map(({ method, url }) => `${method} ${url.pathname}${url.search}`),
    handler: (request: InMemoryRequest) => {
      requests.push(request);
      return respond(request);
    },
  };
}

const file = (resource: string, more = '') =>
  `name: acme\nbase_url: https://api.acme.test/v1/\n${more}\nresources:\n  - name: things\n    path: /things\n    id: id\n${resource}`;

const page = (position: PagePosition): PageRequest => pageOfList(rootList('things'), position);

const pagings: readonly (readonly [yaml: string, position: PagePosition, path: string])[] = [
  ['', { kind: 'single' }, '/v1/things'],
  ['    query: { state: all, deep: true }', { kind: 'single' }, '/v1/things?state=all&deep=true'],
  ['    pagination: { type: offset }', { kind: 'offset', offset: 20, limit: 10 }, '/v1/things?limit=10&offset=20'],
  ['    pagination: { type: offset, start: 1, offset_param: from, limit_param: n }', { kind: 'offset', offset: 0, limit: 10 }, '/v1/things?n=10&from=1'],
  ['    pagination: { type: page }', { kind: 'page', page: 0, limit: 10 }, '/v1/things?per_page=10&page=1'],
  ['    pagination: { type: page, start: 0, page_param: p, size_param: null, page_size: 30 }', { kind: 'page', page: 2, limit: 30 }, '/v1/things?p=2'],
  ['    pagination: { type: cursor, cursor_path: next, cursor_param: after, size_param: n }', { kind: 'cursor', cursor: null, index: 0, limit: 5 }, '/v1/things?n=5'],
  ['    pagination: { type: cursor, cursor_path: next, cursor_param: after, size_param: n }', { kind: 'cursor', cursor: 'a&b', index: 1, limit: 5 }, '/v1/things?n=5&after=a%26b'],
  ['    pagination: { type: cursor, cursor_path: next }', { kind: 'cursor', cursor: '/v1/things?at=7', index: 1, limit: 5 }, '/v1/things?at=7'],
  ['    pagination: { type: link, size_param: n }', { kind: 'cursor', cursor: null, index: 0, limit: 5 }, '/v1/things?n=5'],
  ['    pagination: { type: link }', { kind: 'cursor', cursor: 'https://api.acme.test/v1/things?p=2', index: 1, limit: 5 }, '/v1/things?p=2'],
]; // oxfmt-ignore

describe('calls of a REST source', () => {
  it.for([
    [200, ['sent', 'succeeded']],
    [404, ['sent', 'failed']],
    [429, ['sent', 'rate limited 7000']],
  ] as const)(
    'report to the limiter when they were sent and the outcome of %i',
    async ([status, reports]) => {
      const api = recorder(() => ({ status, headers: { 'retry-after': '7' }, body: '[]' }));
      const counted = countedPermits();
      const source = restSourceOn(api.handler, file(''), {}, { acquirePermit: counted.acquirePermit });
      await source.fetch(page({ kind: 'single' }), never).catch(() => undefined);
      expect(counted.reports).toEqual(reports);
    },
  );
});

describe('pages of a REST source', () => {
  it.for(pagings)('requests the pages of %s', async ([yaml, request, path]) => {
    const api = recorder();
    await restSourceOn(api.handler, file(yaml)).fetch(page(request), never);
    expect(api.paths()).toEqual([`GET ${path}`]);
  });

  it('have the page size of the file where it fixes one', () => {
    const { types } = restSourceOn(recorder().handler, file('    pagination: { type: page, page_size: 30 }'));
    expect(types).toMatchObject([
      { name: 'things', number: null, endpoints: [{ name: '', pagination: 'page', pageSize: 30 }] },
    ]);
  });

  it('name the next by Link, absolute, among other links', async () => {
    const link =
      '<https://api.acme.test/v1/things?p=1,2>; rel="prev first", </v1/things?p=4>; title="x"; rel=next';
    const api = recorder(() => ({ status: 200, headers: { link }, body: '[]' }));
    const source = restSourceOn(api.handler, file('    pagination: { type: link }'));
    const fetched = await source.fetch(page({ kind: 'cursor', cursor: null, index: 0, limit: 5 }), never);
    expect(fetched.nextLink).toBe('https://api.acme.test/v1/things?p=4');
  });

  it.for([
    'https://evil.test/v1/things?p=2',
    'http://api.acme.test/v1/things?p=2',
    '//evil.test/',
    'http://[',
  ])('are not followed to %s', async (cursor) => {
    const api = recorder();
    const source = restSourceOn(api.handler, file('    pagination: { type: link }'));
    const failing = source.fetch(page({ kind: 'cursor', cursor, index: 1, limit: 5 }), never);
    await expect(failing).rejects.toMatchObject({ failure: { kind: 'malformed', isTransient: false } });
    await expect(failing).rejects.toThrow(/it is not requested/);
    expect(api.requests).toEqual([]);
  });
});

describe('child resources of a REST source', () => {
  const child = (resource: string) => `${file('')}\n  - name: parts\n    id: id\n${resource}`;
  const fetchChild = async (
    yaml: string,
    keys: Readonly<Record<string, string>>,
    position: PagePosition = { kind: 'single' },
  ) => {
    const api = recorder();
    const source = restSourceOn(api.handler, yaml);
    await source.fetch(pageOfList(childList('parts', keys), position), never);
    return { paths: api.paths(), type: source.types.find(({ name }) => name === 'parts') };
  };

  it('are requested with the keys of their parent, each as one path segment', async () => {
    const yaml = child('    parent: things\n    path: /things/{parent.meta.key}/parts');
    const { paths, type } = await fetchChild(yaml, { 'parent.meta.key': 'a/b?c' });
    expect(paths).toEqual(['GET /v1/things/a%2Fb%3Fc/parts']);
    expect(type?.parent).toEqual({ type: 'things', keys: { 'parent.meta.key': ['meta', 'key'] } });
  });

  it('may take their key in the query, and have pages of their own', async () => {
    const yaml = child(
      '    parent: things\n    path: /parts\n    query: { of: "{parent.id}" }\n    pagination: { type: page }',
    );
    const position = { kind: 'page', page: 2, limit: 10 } as const;
    const { paths, type } = await fetchChild(yaml, { 'parent.id': '{parent.id}&x' }, position);
    expect(paths).toEqual(['GET /v1/parts?of=%7Bparent.id%7D%26x&per_page=10&page=3']);
    expect(type?.endpoints[0]?.pagination).toBe('page');
  });

  it('may be named in a list of the parent', async () => {
    const yaml = child(
      '    parent: { resource: things, children: explores }\n    single: true\n    path: /things/{parent.name}/explores/{child.name}',
    );
    const { paths, type } = await fetchChild(yaml, { 'child.name': 'orders', 'parent.name': 'sales' });
    expect(paths).toEqual(['GET /v1/things/sales/explores/orders']);
    expect(type).toMatchObject({
      endpoints: [{ name: '', pagination: 'single' }],
      shape: { items: { kind: 'single' } },
      parent: {
        type: 'things',
        itemsAt: ['explores'],
        keys: { 'child.name': ['name'] },
        parentKeys: { 'parent.name': ['name'] },
      },
    });
  });

  it('may have ids that are unique within their parent only', async () => {
    const yaml = child('    parent: things\n    path: /things/{parent.id}/parts').replace(
      '  - name: parts\n    id: id',
      '  - name: parts\n    id: ["{parent}", number]',
    );
    const { type } = await fetchChild(yaml, { 'parent.id': '1' });
    expect(type?.shape).toMatchObject({ id: [['number']], isIdWithinParent: true });
  });
});

const env = { KEY: 'key-value', USER: 'ann', PASS: 'pa:ss', ID: 'id 1', SECRET: 'se/cret' };
const fixed: readonly (readonly [auth: string, headers: Readonly<Record<string, string>>])[] = [
  ['{ type: bearer, token: "${KEY}" }', { authorization: 'Bearer key-value' }],
  ['{ type: basic, username: "${USER}", password: "${PASS}" }', { authorization: `Basic ${Buffer.from('ann:pa:ss').toString('base64')}` }],
  ['{ type: header, name: X-Api-Key, value: "Key ${KEY}" }', { 'x-api-key': 'Key key-value' }],
  ['{ type: none }', {}],
]; // oxfmt-ignore

describe('a caller of a REST source', () => {
  it.for(fixed)('authenticates with %s', async ([auth, headers]) => {
    const api = recorder();
    const { acquirePermit, permits } = countedPermits();
    const yaml = file('', `auth: ${auth}\nheaders: { X-Team: "7" }`);
    const source = restSourceOn(api.handler, yaml, env, { acquirePermit });
    await source.connect(never, undefined, page({ kind: 'single' }));
    await source.fetch(page({ kind: 'single' }), never);
    expect(api.paths()).toEqual(['GET /v1/things']);
    expect(permits()).toBe(1);
    for (const { headers: sent } of api.requests) expect(sent).toMatchObject({ ...headers, 'x-team': '7' });
    expect(loadDescription(yaml, { env, file: 'f' }).limiterKey).toMatch(
      auth.includes('none') ? /^api\.acme\.test:anonymous$/ : /:[0-9a-f]{16}$/,
    );
  });

  it('with a rejected fixed key fails at once, and requests a page only once', async () => {
    const api = recorder(() => ({ status: 401, body: '{}' }));
    const source = restSourceOn(api.handler, file('', 'auth: { type: bearer, token: "${KEY}" }'), env);
    const connect = () => source.connect(never, undefined, page({ kind: 'single' }));
    await expect(connect()).rejects.toMatchObject({ code: 'EXTRACTION_UNAUTHENTICATED' });
    await expect(connect()).rejects.toThrow(/check auth in source\.yaml, KEY\.$/);
    const before = api.requests.length;
    await expect(source.fetch(page({ kind: 'single' }), never)).rejects.toMatchObject({
      failure: { kind: 'authentication' },
    });
    expect(api.requests.length - before).toBe(1);
  });

  it.for([
    ['body', undefined, 'grant_type=client_credentials&scope=read&client_id=id+1&client_secret=se%2Fcret'],
    [
      'header',
      `Basic ${Buffer.from('id%201:se%2Fcret').toString('base64')}`,
      'grant_type=client_credentials&scope=read',
    ],
  ] as const)('by OAuth with the credentials in the %s', async ([place, authorization, body]) => {
    const secrets: string[] = [];
    const api = recorder(({ url }) => ({
      status: 200,
      body: url.host === 'auth.acme.test' ? '{"access_token":"t-1","expires_in":60}' : '[]',
    }));
    const auth = `auth: { type: oauth_client_credentials, token_url: "https://auth.acme.test/token", client_id: "\${ID}", client_secret: "\${SECRET}", scope: read, credentials_in: ${place} }\nheaders: { X-Team: "7" }`;
    const { acquirePermit, permits } = countedPermits();
    const onSecret = (token: string) => void secrets.push(token);
    const source = restSourceOn(api.handler, file('', auth), env, { onSecret, acquirePermit });
    await source.connect(never);
    await source.fetch(page({ kind: 'single' }), never);
    // The login is a call of another server.
    expect(permits()).toBe(1);
    const [login, content] = api.requests;
    expect(login?.headers['authorization']).toBe(authorization);
    expect(login?.headers['x-team']).toBeUndefined();
    expect(Buffer.from(login?.body ?? []).toString()).toBe(body);
    expect(content?.headers).toMatchObject({ authorization: 'Bearer t-1', 'x-team': '7' });
    expect(secrets).toEqual(['t-1']);
  });

  it('by OAuth with other credentials in the header has another limiter', () => {
    const auth = `auth: { type: oauth_client_credentials, token_url: /token, client_id: "\${ID}", client_secret: "\${SECRET}", credentials_in: header }`;
    const keyOf = (id: string) =>
      loadDescription(file('', auth), { env: { ...env, ID: id }, file: 'f' }).limiterKey;
    expect(keyOf('one')).not.toBe(keyOf('two'));
    expect(keyOf('one')).toBe(keyOf('one'));
  });

  it('with a login as a form', async () => {
    const api = recorder(({ method }) => ({ status: 200, body: method === 'POST' ? '{"t":"x-1"}' : '[]' }));
    const auth =
      'auth: { type: login, url: /login, format: form, body: { user: "${USER}", password: "${PASS}", keep: true }, token_path: t }';
    const source = restSourceOn(api.handler, file('', auth), env);
    await source.fetch(page({ kind: 'single' }), never);
    expect(api.paths()).toEqual(['POST /v1/login', 'GET /v1/things']);
    expect(Buffer.from(api.requests[0]?.body ?? []).toString()).toBe('user=ann&password=pa%3Ass&keep=true');
    expect(api.requests[1]?.headers['authorization']).toBe('Bearer x-1');
  });
});
