// Knowledge requests with the keys of an organization have a concurrency limit of their own.
import { expect, it, onTestFinished } from 'vitest';
import { buildServer } from '../../src/http/index.ts';
import {
  adminToken,
  createTestDeps,
  organizationKey,
  organizationKeysOf,
} from '../support/http-dependencies.ts';
import { emptyKnowledgeServices } from '../support/knowledge-services.ts';

/** A server on which searches last until the test ends them. */
async function start() {
  const searches: (() => void)[] = [];
  const { dependencies, emitted } = createTestDeps({
    limits: { organizationConcurrency: 2 },
    mcp: () => new Promise((resolve) => searches.push(() => resolve({ status: 200, body: '{}' }))),
    access: { organizationKeys: organizationKeysOf({ [organizationKey]: 'one', hwo_two: 'two' }) },
    knowledge: {
      ...emptyKnowledgeServices,
      spaces: {
        ...emptyKnowledgeServices.spaces,
        list: () => new Promise((resolve) => searches.push(() => resolve([]))),
      },
    },
  });
  const server = await buildServer(dependencies);
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const list = (token: string, signal?: AbortSignal) =>
    fetch(`${url}/api/v1/knowledge/spaces`, {
      headers: { authorization: `Bearer ${token}` },
      ...(signal ? { signal } : {}),
    });
  const mcp = (token: string) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    });
  const running = (count: number) => expect.poll(() => searches.length).toBe(count);
  return { searches, emitted, list, mcp, running, endAll: () => searches.splice(0).forEach((end) => end()) };
}

it('rejects the request beyond the limit of its organization with 429, and no other (B3)', async () => {
  const { emitted, list, running, endAll } = await start();
  const first = [list(organizationKey), list(organizationKey)];
  await running(2);
  const rejected = await list(organizationKey);
  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([429, '1']);
  expect(await rejected.json()).toMatchObject({ error: { code: 'HTTP_ORGANIZATION_LIMIT' } });
  expect(emitted.filter(({ name }) => name === 'http:organization-limited')).toHaveLength(1);
  const others = [list('hwo_two'), list(adminToken), list(adminToken), list(adminToken)];
  await running(6);
  endAll();
  for (const response of await Promise.all([...first, ...others])) expect(response.status).toBe(200);
  const next = list(organizationKey);
  await running(1);
  endAll();
  expect((await next).status).toBe(200);
});

it('limits MCP requests too, apart from the requests of their tools (B3)', async () => {
  const { list, running, mcp, endAll } = await start();
  const first = [list(organizationKey), list(organizationKey)];
  await running(2);
  const calls = [mcp(organizationKey), mcp(organizationKey)];
  await running(4);
  expect((await mcp(organizationKey)).status).toBe(429);
  endAll();
  for (const response of await Promise.all([...first, ...calls])) expect(response.status).toBe(200);
});

it('counts a request until its caller disconnects', async () => {
  const { searches, list, running } = await start();
  const caller = new AbortController();
  const canceled = [list(organizationKey, caller.signal), list(organizationKey, caller.signal)];
  await running(2);
  caller.abort();
  expect((await Promise.allSettled(canceled)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect
    .poll(() => {
      void list(organizationKey).catch(() => undefined);
      return searches.length;
    })
    .toBeGreaterThan(2);
});
