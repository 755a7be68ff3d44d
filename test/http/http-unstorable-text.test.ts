// U+0000 and unpaired surrogates on every route: rejected with the name of the field, before any store is called.
import type { InjectOptions } from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { buildServer } from '../../src/http/index.ts';
import { asAdmin, organizationKey, createTestDeps } from '../support/http-dependencies.ts';

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, unknown>>;
}
interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

const ofDocuments = ['text', 'title', 'metadata'];
/** Bodies that are not stored in Postgres, or are cleaned first; other tests cover them. */
const mayHoldIt: Readonly<Record<string, readonly string[] | 'everywhere'>> = {
  'POST /v1/chat/completions': 'everywhere',
  'POST /v1/embeddings': 'everywhere',
  'POST /v1/responses': 'everywhere',
  'POST /v1/messages': 'everywhere',
  'POST /v1/messages/count_tokens': 'everywhere',
  'POST /v1/completions': 'everywhere',
  'POST /v1/rerank': 'everywhere',
  'POST /v1/moderations': 'everywhere',
  'POST /v1/images/generations': 'everywhere',
  'POST /v1/images/edits': 'everywhere',
  'POST /v1/audio/speech': 'everywhere',
  'POST /v1/audio/transcriptions': 'everywhere',
  'POST /v1/audio/translations': 'everywhere',
  'POST /api/v1/prompts/process': 'everywhere',
  'POST /mcp': 'everywhere',
  'POST /api/v1/knowledge/search': ['query'],
  'POST /api/v1/knowledge/artifacts': ofDocuments,
  'POST /api/v1/knowledge/artifacts/estimate': ofDocuments,
};

const unstorable = ['a\0', 'a\ud800'];

describe('U+0000 and unpaired surrogates', async () => {
  const server = await buildServer(createTestDeps().dependencies);
  afterAll(() => server.close());
  const { paths, components } = (await server.inject('/openapi.json')).json<{
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  }>();
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  );

  const fieldsOf = ({ $ref, anyOf = [], properties = {} }: Schema): readonly string[] => [
    ...Object.keys(properties),
    ...anyOf.flatMap(fieldsOf),
    ...($ref === undefined ? [] : fieldsOf(components.schemas[$ref.split('/').at(-1) ?? ''] ?? {})),
  ];

  /** Sends it to the route at one place; `at` is the parameter of its path. */
  async function send(route: string, at: Readonly<Record<string, string>>, rest: InjectOptions = {}) {
    const [method = '', path = ''] = route.split(' ');
    const url = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(at[name] ?? 'x'));
    const headers = path.startsWith('/deployment/')
      ? { authorization: `Bearer ${organizationKey}` }
      : asAdmin;
    const answer = await server.inject({ method: method as 'GET', url, headers, ...rest });
    return { status: answer.statusCode, text: answer.body };
  }
  /** The deployment API has another error shape, with the field in `attr`. */
  const refused = { status: 400, hasMessage: true, namesField: true };
  const seen = async (route: string, field: string, ...sent: [Record<string, string>, InjectOptions?]) => {
    const { status, text } = await send(route, ...sent);
    const hasMessage = text.includes('must not contain the character U+0000');
    return { route, field, status, hasMessage, namesField: text.includes(field) };
  };

  it('are rejected in every parameter of every route', async () => {
    for (const [route, { parameters = [] }] of routes) {
      for (const { name } of parameters.filter((each) => each.in === 'path'))
        expect(await seen(route, name, { [name]: 'a\0' })).toMatchObject(refused);
      const queried = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
      for (const name of [...queried, 'anything'])
        expect(await seen(route, name, {}, { query: { [name]: 'a\0' } })).toMatchObject(refused);
    }
  });

  it('are rejected in every field of every body except those that allow them', async () => {
    let count = 0;
    for (const [route, { requestBody }] of routes) {
      const schema = requestBody?.content['application/json']?.schema ?? {};
      const allowed = mayHoldIt[route] ?? [];
      if (allowed === 'everywhere') continue;
      for (const field of fieldsOf(schema).filter((name) => !allowed.includes(name))) {
        count++;
        for (const payload of unstorable.flatMap((text) => [{ [field]: text }, { [field]: [{ [text]: 1 }] }]))
          expect(await seen(route, field, {}, { payload })).toMatchObject(refused);
      }
    }
    expect(count).toBeGreaterThan(50);
  });

  it('are found at any depth of a body', async () => {
    const payload = `{"name":${'['.repeat(90_000)}"\\u0000"${']'.repeat(90_000)}}`;
    const headers = { ...asAdmin, 'content-type': 'application/json' };
    const { status, text } = await send('POST /api/v1/organizations', {}, { payload, headers });
    expect([status, text.length < 1_000]).toEqual([400, true]);
  });
});
