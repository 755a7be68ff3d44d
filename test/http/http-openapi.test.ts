import { describe, expect, it } from 'vitest';
import { buildServer } from '../../src/http/index.ts';
import { createTestDeps } from '../support/http-dependencies.ts';

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly security?: readonly Record<string, unknown>[];
  readonly responses?: Record<string, { readonly description?: string; readonly content?: object }>;
}

/** What a gateway key reaches. */
const gatewayOperations = new Set([
  'openai.create-chat-completion',
  'openai.create-embeddings',
  'anthropic.count-tokens',
  'anthropic.create-message',
  'openai.audio-speech',
  'openai.audio-transcriptions',
  'openai.audio-translations',
  'openai.create-completion',
  'openai.create-response',
  'openai.delete-response',
  'openai.get-response',
  'openai.images-edits',
  'openai.images-generations',
  'openai.moderations',
  'openai.rerank',
  'openai.list-models',
  'openai.get-model',
  'models.list',
  'models.get',
  'models.explain',
  'prompts.process',
  'requests.get',
  'requests.list',
]);

describe('the OpenAPI document', async () => {
  const server = await buildServer(createTestDeps().dependencies);
  const answer = await server.inject('/openapi.json');
  const document = answer.json<{ openapi: string; paths: Record<string, Record<string, Operation>> }>();

  it('describes every route except pages', () => {
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const registered = server.knownRoutes
      .filter(({ method, url }) => method !== 'HEAD' && !/^\/(docs.*|dashboard.*)?$/.test(url))
      .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}').replace('*', '{*}')}`);
    expect(described.sort()).toEqual(registered.sort());
  });

  it('has the access and the responses of each operation, errors included', () => {
    expect(document.openapi).toBe('3.1.0');
    for (const [path, operations] of Object.entries(document.paths))
      for (const operation of Object.values(operations)) {
        const isOpen = /^\/(healthz|readyz|openapi\.json|api\/v1\/dashboard\/session)$/.test(path);
        const isDeploymentApi = path.startsWith('/deployment/api/');
        const ofAdmin = gatewayOperations.has(operation.operationId ?? '') ? 'gateway' : 'admin';
        const isTenants = /^(\/api\/v1\/(knowledge\/(?!folders|graph)|caller$)|\/mcp$)/.test(path);
        const access = isDeploymentApi ? 'organization' : isTenants ? 'tenant' : ofAdmin;
        expect({ path, security: operation.security }).toEqual({
          path,
          security: isOpen ? undefined : [{ [access]: [] }],
        });
        expect(Object.keys(operation.responses ?? {})).toEqual(expect.arrayContaining(['4XX', '5XX']));
        for (const response of Object.values(operation.responses ?? {})) {
          expect({ path, described: !['', 'Default Response'].includes(response.description ?? '') }).toEqual(
            {
              path,
              described: true,
            },
          );
        }
      }
  });

  it('has no missing and no unused schemas', () => {
    const { components } = answer.json<{ components: { schemas: object } }>();
    const referred = new Set(
      [...answer.body.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? ''),
    );
    expect([...referred].sort()).toEqual(Object.keys(components.schemas).sort());
  });

  it('has no names in camelCase', () => {
    const names: string[] = [];
    JSON.stringify(document.paths, (key, value: unknown) => {
      if (key === 'properties') names.push(...Object.keys(value as object));
      return value;
    });
    expect(names.filter((name) => /[A-Z]/.test(name))).toEqual([]);
  });
});

describe('the docs page', async () => {
  const server = await buildServer(createTestDeps().dependencies);

  it('loads everything from this server, and its policy allows nothing else', async () => {
    const page = await server.inject('/docs');
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    expect(page.body).not.toMatch(/(src|href)="https?:/);
    const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file ?? '');
    expect(files.length).toBeGreaterThan(4);
    for (const file of files)
      expect({ file, status: (await server.inject(file)).statusCode }).toEqual({ file, status: 200 });
  });

  it('serves no files outside of its folder', async () => {
    for (const path of [
      '/docs/static/../package.json',
      '/docs/static/%2e%2e%2fpackage.json',
      '/docs/static/..%5cpackage.json',
    ])
      expect((await server.inject(path)).statusCode).toBeGreaterThanOrEqual(400);
  });
});
