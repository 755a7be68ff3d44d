import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../../../test/support/longest-task.ts';
import type { ExtractionError } from '../../errors.ts';
import { loadDescription } from './load.ts';

const load = (text: string, env: Readonly<Record<string, string>> = {}) =>
  loadDescription(text, { env, file: 'acme.yaml' });

function problemsOf(text: string, env: Readonly<Record<string, string>> = {}): readonly string[] {
  try {
    load(text, env);
  } catch (error) {
    expect(error).toMatchObject({ code: 'EXTRACTION_SOURCE_INVALID' });
    return (error as ExtractionError).details['problems'] as readonly string[];
  }
  return [];
}

const head = 'name: acme\nbase_url: https://api.acme.test\n';
const one = `${head}resources:\n  - { name: a, path: /a, id: id }\n`;
/** A file with this resource on line 4. */
const resource = (text: string) => `${head}resources:\n  - { name: a, id: id, ${text} }\n`;

describe('the file of a REST source', () => {
  it('returns a description with defaults', () => {
    expect(
      load(`${head}resources:\n  - { name: a, path: /a, id: id, items: data.rows, fields: { name: title } }`),
    ).toEqual({
      name: 'rest acme https://api.acme.test',
      baseUrl: 'https://api.acme.test',
      labels: {
        server: 'acme at https://api.acme.test',
        addressSetting: 'base_url in acme.yaml',
        credentialSettings: 'auth in acme.yaml',
      },
      headers: {},
      auth: { type: 'none' },
      types: [
        {
          type: {
            name: 'a',
            number: null,
            endpoints: [{ name: '', pagination: 'single' }],
            shape: {
              items: { kind: 'list', path: ['data', 'rows'] },
              id: [['id']],
              name: ['title'],
              emptyLists: ['null'],
            },
          },
          endpoints: {
            '': {
              path: '/a',
              query: {},
              pagination: { type: 'none' },
              totalHeader: null,
              emptyWhen: ['null_list', 'no_content'],
            },
          },
        },
      ],
      secrets: [],
      limiterKey: 'api.acme.test:anonymous',
    });
  });

  it('reads secrets from the environment, and lists them for redaction', () => {
    const text = `name: acme\nbase_url: \${URL}/v1\nauth: { type: bearer, token: "\${TOKEN}" }\nresources:\n  - { name: a, path: /a, id: id, query: { api_key: "\${KEY}" } }`;
    const loaded = load(text, { URL: 'https://api.acme.test', TOKEN: 'tok-1', KEY: 'key-1' });
    expect(loaded).toMatchObject({
      baseUrl: 'https://api.acme.test/v1',
      name: 'rest acme https://api.acme.test/v1',
      secrets: [
        { name: 'TOKEN', value: 'tok-1' },
        { name: 'KEY', value: 'key-1' },
      ],
      labels: { credentialSettings: 'auth in acme.yaml, TOKEN' },
    });
  });

  it('treats a variable after the host as a secret, and distinguishes two without showing it', () => {
    const text = `name: acme\nbase_url: https://api.acme.test/bot\${KEY}\nresources:\n  - { name: a, path: /a, id: id }`;
    const [one, other] = ['key-1', 'key-2'].map((KEY) => load(text, { KEY }));
    expect(one).toMatchObject({
      baseUrl: 'https://api.acme.test/botkey-1',
      secrets: [{ name: 'KEY', value: 'key-1' }],
    });
    expect(one?.name).toMatch(/^rest acme https:\/\/api\.acme\.test\/bot\$\{KEY\} \([0-9a-f]{8}\)$/);
    expect(other?.name).not.toBe(one?.name);
  });

  it('reports all problems at once, each with its line', () => {
    const text = [
      'name: acme',
      'base_url: ftp://acme',
      'auth: { type: bearer, token: abcdef }',
      'resorces: []',
      'resources:',
      '  - name: Big Name',
      '    path: things',
      '    id: id',
      '    pagination: { type: offset, ofset_param: x }',
      '  - name: b',
      '    path: /b',
      '    total: { heeder: X }',
    ].join('\n');
    expect(problemsOf(text)).toEqual([
      'acme.yaml line 2: base_url: must be a web address like https://api.example.com.',
      'acme.yaml line 3: auth.token: a secret must not be in this file; write ${NAME} and set that environment variable.',
      'acme.yaml line 4: "resorces" is not a key of a source file; the keys are name, base_url, headers, auth, resources.',
      'acme.yaml line 6: resource 1 (Big Name): name: must be of lower-case letters, digits and _, like open_tickets.',
      'acme.yaml line 7: resource 1 (Big Name): path: must start with / and have no query; use "query" for that.',
      'acme.yaml line 9: resource 1 (Big Name): pagination: "ofset_param" is not a key of pagination of type offset; the keys are type, offset_param, limit_param, start, page_size.',
      'acme.yaml line 10: resource 2 (b): id: is missing.',
      'acme.yaml line 12: resource 2 (b): total: must have one key, header or path.',
    ]);
  });

  const wrong: readonly (readonly [what: string, text: string, problem: RegExp])[] = [
    ['broken YAML', 'name: [', /line 1: not valid YAML/],
    ['a variable without quotes', `${one}auth: { type: bearer, token: \${TOKEN} }`, /line 5: not valid YAML.*write "\$\{NAME\}" with quotes/],
    ['nothing', '', /must have keys like name, base_url, headers/],
    ['a list', '- a', /must have keys like/],
    ['no resources', `${head}resources: []`, /line 3: resources: must hold at least one resource/],
    ['a password in the address', one.replace('api.', 'ann:pw@api.'), /line 2: base_url: contains a user or password/],
    ['a query in the address', one.replace('.test', '.test?x=1'), /line 2: base_url: has a query/],
    ['an unknown kind of auth', `${one}auth: { type: magic }`, /line 5: auth.*must be one of none, bearer, basic/],
    ['a literal header', `${one}headers:\n  X-Api-Key: abc`, /line 6: headers\.X-Api-Key: a secret must not be in this file/],
    ['a literal in a query', resource('path: /a, query: { access_token: abc }'), /line 4: resource 1 \(a\): query\.access_token: a secret must not/],
    ['a login with a literal', `${one}auth: { type: login, url: /l, body: { password: abc }, token_path: t }`, /auth\.body\.password: a secret must not/],
    ['a login without variables', `${one}auth: { type: login, url: /l, body: { number: "1234" }, token_path: t }`, /auth\.body: a secret must not/],
    ['a literal beside a variable', `${one}auth: { type: bearer, token: "half\${SET}" }`, /auth\.token: a secret must not/],
    ['a pin beside a variable', `${one}auth: { type: login, url: /l, body: { user: "\${SET}", pin: "1234" }, token_path: t }`, /auth\.body\.pin: a secret must not/],
    ['a literal key', resource('path: /a, query: { apikey: abc }'), /line 4: resource 1 \(a\): query\.apikey: a secret must not/],
    ['what looks like a key', `${one}headers:\n  X-Custom: sk_live_0123456789abcdef`, /line 6: headers\.X-Custom: a secret must not/],
    ['what looks like a key in a resource', resource('path: /a, query: { q: sk_live_0123456789abcdef }'), /line 4: resource 1 \(a\): query\.q: a secret must not/],
    ['aliases of aliases', `a: &a [${'x,'.repeat(9)}x]\nb: &b [${'*a,'.repeat(9)}*a]\nc: [${'*b,'.repeat(30)}*b]`, /aliases .* expand to too much/],
    ['an unset variable', `${one}auth: { type: bearer, token: "\${NOPE}" }`, /line 5: auth\.token: the environment variable NOPE is not set/],
    ['a variable that is none', `${one}auth: { type: bearer, token: "\${no pe}" }`, /\$\{no pe\} is not the name of an environment variable/],
    ['POST', resource('path: /a, method: POST'), /method: must be GET/],
    ['a wrong type', resource('path: /a, single: 7'), /single: must be true or false/],
    ['two of a name', `${one}  - { name: a, path: /b, id: id }`, /line 5: resource 2 \(a\): another resource has this name/],
    ['a placeholder without a parent', resource('path: "/a/{parent.id}"'), /\{parent\.id\} needs a "parent"/],
    ['a parent that is not there', resource('path: "/a/{parent.id}", parent: b'), /there is no resource "b"; there are a/],
    ['its own parent', resource('path: "/a/{parent.id}", parent: a'), /is its own parent/],
    ['a parent without a placeholder', `${one}  - { name: b, path: /b, id: id, parent: a }`, /no placeholder like \{parent\.id\}/],
    ['an unknown placeholder', `${one}  - { name: b, path: "/b/{x}", id: id, parent: a }`, /\{x\} is not a placeholder/],
    ['a child placeholder without children', `${one}  - { name: b, path: "/b/{child.id}", id: id, parent: a }`, /needs "children"/],
    ['children without a placeholder', `${one}  - { name: b, path: "/b/{parent.id}", id: id, parent: { resource: a, children: c } }`, /needs one placeholder like \{child\}/],
    ['three placeholders', `${one}  - { name: b, path: "/{parent.a}/{parent.b}/{parent.c}", id: id, parent: a }`, /more than two different placeholders/],
    ['pages of one item', resource('path: /a, single: true, pagination: { type: page }'), /one item has no pages/],
    ['a path in one item', resource('path: /a, single: true, items: x'), /the whole body is the item/],
    ['pages without a size', resource('path: /a, pagination: { type: page, size_param: null }'), /set "page_size"/],
    ['a parent in the id, and none', resource('path: /a').replace('id: id', 'id: ["{parent}", n]'), /\{parent\} needs a "parent"/],
    ['a parent alone in the id', `${one}  - { name: b, path: "/b/{parent.id}", id: "{parent}", parent: a }`, /must be the first of a list/],
    ['a path with holes', resource('path: /a, items: a..b'), /items: must be a path like data\.items/],
  ]; // oxfmt-ignore

  it.for(wrong)('rejects %s', ([, text, problem]) => {
    const problems = problemsOf(text, { SET: 'set-by-us' });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it('reports one problem in one line, and never a value', () => {
    const text = `${one}auth: { type: bearer, token: very-secret-value }`;
    expect(() => load(text)).toThrow(/^The source is not usable\. acme\.yaml line 5: auth\.token: [^\n]*$/);
    expect(() => load(text)).not.toThrow(/very-secret-value/);
    const filled = `${one}auth: { type: header, name: "bad name", value: "\${KEY}" }`;
    expect(problemsOf(filled, { KEY: 'very-secret-value' }).join()).not.toContain('very-secret-value');
  });

  it('finds cycles of parents', () => {
    const ring = (name: string, parent: string) =>
      `  - { name: ${name}, path: "/{parent.id}", id: id, parent: ${parent} }\n`;
    const problems = problemsOf(
      `${head}resources:\n${ring('a', 'c')}${ring('b', 'a')}${ring('c', 'b')}${ring('d', 'a')}`,
    );
    expect(problems).toHaveLength(3);
    expect(problems.every((problem) => problem.includes('is its own parent'))).toBe(true);
  });

  const many = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => line(index)).join('\n');

  it.each([
    [
      'separators beside a variable',
      one + `auth: { type: bearer, token: "\${SET}${'='.repeat(50_000)}!" }`,
      1,
    ],
    ['open variables', `${one}headers: { a: "${'${'.repeat(40_000)}" }`, 1],
    ['brackets in a broken line', `${one}headers: ${'['.repeat(90_000)}`, 1],
    ['headers', `${one}headers:\n${many(6_000, (index) => `  x-${index}: a`)}`, 0],
    ['literal keys', `${one}headers:\n${many(5_000, (index) => `  x${index}_token: a`)}`, 21],
    ['unknown keys', one + many(9_000, (index) => `x${index}: a`), 1],
    [
      'resources',
      `${head}resources:\n${many(2_000, (index) => `  - { name: a${index}, path: /a, id: id }`)}`,
      1,
    ],
    [
      'parents',
      `${head}resources:\n${many(900, (index) => `  - { name: a${index}, path: "/{parent.id}", id: id, parent: a${index + 1} }`)}`,
      1,
    ],
  ])('with thousands of %s does not block the main thread (B1)', async (_, text, problems) => {
    let found: readonly string[] = [];
    const longest = await repeatedTaskMs(() => (found = problemsOf(text, { SET: 'x' })));
    expect(found).toHaveLength(problems);
    expect(longest).toBeLessThan(maxTaskMs);
  });

  it('of more than 100,000 characters is rejected before it is parsed', async () => {
    const longest = await repeatedTaskMs(() =>
      expect(problemsOf(head + many(30_000, (index) => `x${index}: a`))).toEqual([
        expect.stringContaining('more than 100,000 characters'),
      ]),
    );
    expect(longest).toBeLessThan(maxTaskMs);
  });

  it('with the same key twice is rejected with the line of the second', () => {
    expect(problemsOf(`${head}headers: { a: b, a: c }`)).toEqual([
      'acme.yaml line 3: not valid YAML: Map keys must be unique.',
    ]);
  });
});
