// Ids that collide, and responses without items: complete extractions over HTTP.
import { describe, expect, it } from 'vitest';
import { openVaultReader, verifyVault } from '../../src/extraction/vault/index.ts';
import type { InMemoryRequest, InMemoryResponse } from '../support/http-client/in-memory-transport.ts';
import { extractRest, json } from '../support/rest-extraction.ts';

const childrenYaml = (more = '') => `
name: api
base_url: \${URL}
resources:
  - { name: posts, path: /posts, id: id }
  - { name: comments, path: "/posts/{parent.id}/comments", parent: posts, id: id ${more} }`;
const listYaml = (more = '') => `
name: api
base_url: \${URL}
resources:
  - { name: things, path: /things, id: id ${more} }`;

/** What the vault has after an extraction: state and reason of the last type, ids, and damage. */
async function extractAll(yaml: string, handler: (request: InMemoryRequest) => InMemoryResponse, runs = 1) {
  const { run } = await extractRest({ handler, yaml, flags: { fresh: 'true' } });
  let result = await run();
  for (let more = 1; more < runs; more++) result = await run();
  const reader = openVaultReader(result.vault);
  const types = reader.types();
  const { state, reason } = types.at(-1) ?? {};
  const name = types.at(-1)?.type ?? '';
  const ids = reader.items(name, { limit: 100 }).map(({ id }) => id);
  const damage = verifyVault(reader).problems.filter(({ kind }) => kind === 'damaged');
  reader.close();
  return { state, reason, ids, damage };
}

const raw = (body: string): InMemoryResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body,
});

describe('ids', () => {
  const comments = (text: (post: string, id: number) => string) => (request: InMemoryRequest) => {
    if (request.url.pathname === '/posts') return json([{ id: 7 }, { id: 8 }]);
    const post = request.url.pathname.split('/')[2] ?? '';
    return json([1, 2, 3].map((id) => ({ id, text: text(post, id) })));
  };

  it('that occur below two parents with different content make the type incomplete (T1)', async () => {
    const { state, reason } = await extractAll(
      childrenYaml(),
      comments((post, id) => `${post} ${id}`),
    );
    expect(state).toBe('incomplete');
    expect(reason).toMatch(/3 ids occur twice\. The id 1 occurs twice, with different content/);
    expect(reason).toMatch(/in the list @[78] at position 0 and in the list @[78] at position 0/);
  });

  it('that occur below two parents with the same content are one item', async () => {
    const { state, ids } = await extractAll(
      childrenYaml(),
      comments((_post, id) => `same ${id}`),
    );
    expect({ state, ids }).toEqual({ state: 'completed', ids: ['1', '2', '3'] });
  });

  it('within a parent are different items', async () => {
    const yaml = childrenYaml().replace('parent: posts, id: id', 'parent: posts, id: ["{parent}", id]');
    const { state, ids } = await extractAll(
      yaml,
      comments((post, id) => `${post} ${id}`),
    );
    expect({ state, count: ids.length }).toEqual({ state: 'completed', count: 6 });
  });

  it('of several parts are not confused', async () => {
    const parts = [
      ['a::b', 'c'],
      ['a', 'b::c'],
      ['a:', 'b'],
      ['a', ':b'],
      ['"a', 'b'],
      ['a', 'b'],
    ];
    const yaml = listYaml().replace('id: id', 'id: [one, two]');
    const { state, ids, damage } = await extractAll(yaml, () =>
      json(parts.map(([one, two]) => ({ one, two }))),
    );
    expect({ state, damage }).toEqual({ state: 'completed', damage: [] });
    expect(ids).toHaveLength(parts.length);
    expect(ids).toContain('a::b');
  });

  it('that are once a number and once text make the type incomplete (T1)', async () => {
    const { state, reason } = await extractAll(listYaml(), () =>
      raw('[{"id":1,"n":"x"},{"id":"1","n":"y"}]'),
    );
    expect(state).toBe('incomplete');
    expect(reason).toMatch(/once as a number and once as text: in its list at position 0 and in its list/);
  });

  it.each([
    ['text', '[{"id":"a","n":1},{"id":"a","n":2}]'],
    ['one number in two forms', '[{"id":1,"n":1},{"id":1.0,"n":2}]'],
  ])(
    'that occur twice on one page with different content make the type incomplete: %s (T1)',
    async (_, body) => {
      const { state, reason } = await extractAll(listYaml(), () => raw(body));
      expect(state).toBe('incomplete');
      expect(reason).toMatch(
        /with different content: in its list at position 0 and in its list at position 1/,
      );
    },
  );

  it('that occur twice on one page with the same content are one item', async () => {
    const { state, ids } = await extractAll(listYaml(), () => json([{ id: 1 }, { id: 1 }, { id: 2 }]));
    expect({ state, ids }).toEqual({ state: 'completed', ids: ['1', '2'] });
  });

  it('and names with halves of surrogate pairs are stored and verified', async () => {
    const body = String.raw`[{"id":"\ud800","name":"\udfff"},{"id":"\ud801","name":"x"},{"id":"\u0000"}]`;
    const { state, ids, damage } = await extractAll(listYaml(', fields: { name: name }'), () => raw(body));
    expect({ state, count: ids.length, damage }).toEqual({ state: 'completed', count: 3, damage: [] });
  });
});

describe('a response without items', () => {
  const noContent: InMemoryResponse = { status: 204, headers: {} };

  it.each<[string, string, InMemoryResponse, string]>([
    ['null as a list', '', json(null), 'completed'],
    ['null at the path of the list', ', items: data', json({ data: null }), 'completed'],
    ['204', '', noContent, 'completed'],
    ['no list at the path', ', items: data', json({ ok: true }), 'incomplete'],
    [
      'no list, which stands for none',
      ', items: data, empty_when: [missing_list]',
      json({ ok: true }),
      'completed',
    ],
    ['null, which does not stand for none', ', empty_when: [no_content]', json(null), 'incomplete'],
    ['204, which does not stand for none', ', empty_when: []', noContent, 'incomplete'],
    ['404', '', json({ message: 'Not found' }, {}, 404), 'incomplete'],
    [
      '404, which stands for none',
      ', empty_when: [not_found]',
      json({ message: 'Not found' }, {}, 404),
      'completed',
    ],
  ])('makes the type complete or incomplete: %s', async (_what, yaml, response, state) => {
    expect(await extractAll(listYaml(yaml), () => response)).toMatchObject({ state, ids: [] });
  });

  it('404 after the last page ends the list', async () => {
    const pages = ', pagination: { type: page, page_size: 2 }';
    const handler = ({ url }: InMemoryRequest) =>
      Number(url.searchParams.get('page')) > 2
        ? json({ detail: 'Invalid page.' }, {}, 404)
        : json([{ id: `${url.search}1` }, { id: `${url.search}2` }]);
    const { state, ids } = await extractAll(listYaml(pages), handler);
    expect({ state, count: ids.length }).toEqual({ state: 'completed', count: 4 });
  });

  it('404 after a short page is no end of the list (T1)', async () => {
    const pages = ', pagination: { type: page, page_size: 10 }';
    const handler = ({ url }: InMemoryRequest) => {
      const page = Number(url.searchParams.get('page'));
      if (page === 5) return json({}, {}, 404);
      const size = page > 10 ? 0 : page === 4 ? 8 : 10;
      return json(Array.from({ length: size }, (_, index) => ({ id: page * 100 + index })));
    };
    const { state } = await extractAll(listYaml(pages), handler);
    expect(state).toBe('incomplete');
  });

  it('404 after a full page is confirmed by the page after it, once', async () => {
    const requested: string[] = [];
    const handler = ({ url }: InMemoryRequest) => {
      const page = Number(url.searchParams.get('page'));
      requested.push(`${page}`);
      return page > 2
        ? json({ detail: 'Invalid page.' }, {}, 404)
        : json([{ id: 2 * page }, { id: 2 * page + 1 }]);
    };
    const { state } = await extractAll(listYaml(', pagination: { type: page, page_size: 2 }'), handler);
    expect({ state, requested }).toEqual({ state: 'completed', requested: ['1', '2', '3', '4'] });
  });

  it.each<[string, InMemoryResponse, readonly string[]]>([
    ['404', json({}, {}, 404), ['2', '3', '4', '5']],
    ['410', json({}, {}, 410), ['2', '3', '4', '5']],
    ['null', json(null), ['2', '3']],
    ['an empty page', json([]), ['2', '3']],
  ])('%s after a full page in two runs: 404 and 410 mark nothing deleted (T2)', async (_, response, left) => {
    let runs = 0;
    const handler = ({ url }: InMemoryRequest) => {
      const page = Number(url.searchParams.get('page'));
      if (page === 1) runs += 1;
      if (page > 2) return response;
      return page === 2 && runs > 1 ? response : json([{ id: 2 * page }, { id: 2 * page + 1 }]);
    };
    const yaml = listYaml(', pagination: { type: page, page_size: 2 }');
    expect(await extractAll(yaml, handler, 4)).toMatchObject({ state: 'completed', ids: left, damage: [] });
  });

  it.each<[string, InMemoryResponse]>([
    ['404', json({}, {}, 404)],
    ['204', noContent],
    ['null', json(null)],
  ])('%s in the middle of a list makes it incomplete (T1)', async (_what, response) => {
    const handler = ({ url }: InMemoryRequest) => {
      const page = Number(url.searchParams.get('page'));
      if (page === 2) return response;
      return json(page > 4 ? [] : [{ id: 2 * page }, { id: 2 * page + 1 }]);
    };
    const { state, reason } = await extractAll(
      listYaml(', pagination: { type: page, page_size: 2 }'),
      handler,
    );
    expect({ state, reason }).toEqual({
      state: 'incomplete',
      reason: expect.stringContaining('1 page failed'),
    });
  });

  it.each<[string, InMemoryResponse]>([
    ['404', json({}, {}, 404)],
    ['410', json({ error: 'cursor expired' }, {}, 410)],
    ['204', noContent],
    ['null', json({ data: null })],
    ['a cursor that is an object', json({ data: [{ id: 3 }], next: { after: 3 } })],
  ])(
    '%s for a page that the source named makes the list incomplete, and deletes nothing (T1, T2)',
    async (_, last) => {
      let runs = 0;
      const yaml = listYaml(
        ', items: data, pagination: { type: cursor, cursor_path: next, cursor_param: after }',
      );
      const handler = ({ url }: InMemoryRequest) => {
        const after = url.searchParams.get('after');
        if (after === null) runs += 1;
        if (after === null) return json({ data: [{ id: 1 }], next: 'a' });
        if (after === 'a') return runs > 1 ? last : json({ data: [{ id: 2 }], next: 'b' });
        return json({ data: [{ id: 3 }], next: null });
      };
      expect(await extractAll(yaml, handler, 3)).toMatchObject({ state: 'incomplete', ids: ['1', '2', '3'] });
    },
  );

  it('with an error and null as its list is an error', async () => {
    const body = { data: null, errors: [{ message: 'timeout' }] };
    expect(await extractAll(listYaml(', items: data'), () => json(body))).toMatchObject({
      state: 'incomplete',
    });
  });

  it('a full last page without a link is followed (T1)', async () => {
    const handler = ({ url }: InMemoryRequest) => {
      const page = Number(url.searchParams.get('page'));
      const link: Record<string, string> = page === 1 ? { link: '</things?page=2>; rel="next"' } : {};
      return json(page > 3 ? [] : [{ id: 2 * page }, { id: 2 * page + 1 }], link);
    };
    const { state, ids } = await extractAll(listYaml(', pagination: { type: page, page_size: 2 }'), handler);
    expect({ state, count: ids.length }).toEqual({ state: 'completed', count: 6 });
  });

  it('404 for the list below a parent deletes nothing of it (T2)', async () => {
    let posts = 0;
    const handler = ({ url }: InMemoryRequest) => {
      if (url.pathname === '/posts') posts += 1;
      if (url.pathname === '/posts') return json([{ id: 7 }, { id: 8 }]);
      const post = url.pathname.split('/')[2] ?? '';
      return posts > 1 && post === '7' ? json({}, {}, 404) : json([{ id: `${post}-1` }]);
    };
    expect(await extractAll(childrenYaml(), handler, 2)).toMatchObject({
      state: 'completed',
      ids: ['7-1', '8-1'],
    });
  });

  it('404 below a parent that was deleted meanwhile is an empty list; below all parents it is an error', async () => {
    const handler =
      (gone: readonly string[]) =>
      ({ url }: InMemoryRequest) => {
        if (url.pathname === '/posts') return json([{ id: 7 }, { id: 8 }]);
        const post = url.pathname.split('/')[2] ?? '';
        return gone.includes(post) ? json({}, {}, 404) : json([{ id: `${post}-1` }]);
      };
    expect(await extractAll(childrenYaml(), handler(['7']))).toMatchObject({
      state: 'completed',
      ids: ['8-1'],
    });
    expect(await extractAll(childrenYaml(), handler(['7', '8']))).toMatchObject({
      state: 'incomplete',
      reason: expect.stringContaining('404 or 410 for all'),
    });
  });

  it.each([404, 410])(
    '%i for an item that is requested by its id marks it deleted at once (T2)',
    async (code) => {
      let calls = 0;
      const yaml = childrenYaml().replace('/comments", parent', '", single: true, parent');
      const handler = ({ url }: InMemoryRequest) => {
        if (url.pathname === '/posts') return json([{ id: 7 }, { id: 8 }]);
        calls++;
        const id = url.pathname.split('/')[2] ?? '';
        return calls > 2 && id === '7' ? json({}, {}, code) : json({ id });
      };
      expect(await extractAll(yaml, handler, 2)).toMatchObject({
        state: 'completed',
        ids: ['8'],
        damage: [],
      });
    },
  );
});
