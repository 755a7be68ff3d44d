// Knowledge in a complete server: a tenant's deployment ingests documents, the job reads them, the tenant finds them.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { redisUrl, temporaryFolder, uniqueName } from '../support/services.ts';
import { callDeployment } from '../support/tenancy/tenant-server.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

/** Servers that share a store take executions only where they share limits. */
const redisEnv = () => ({
  REDIS_URL: redisUrl(),
  HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('knowledge')}:`,
});

it('reads documents of a deployment and of a watched folder', async () => {
  const notes = await temporaryFolder();
  const server = await startTestServer(await testConfig(redisEnv()));
  const made = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await callAsAdmin(server, 'POST', path, body);
    expect(answer).toMatchObject({ status: 201 });
    return answer.body;
  };
  await writeFile(join(notes, 'watched.md'), '# Watched\n\nBob Ray will fix the turbine by Friday.');
  await writeFile(join(notes, 'broken.pdf'), '%PDF-1.7 of which nothing is left');
  await made('/api/v1/knowledge/folders', { path: notes });
  const { id = '' } = await made('/api/v1/organizations', { name: 'acme' });
  const { key = '' } = await made(`/api/v1/organizations/${id}/keys`, { name: 'test' });
  for (const workflow of ['ingest', 'search']) {
    const deployment = { organization: id, name: 'nowhere', workflow, options: { space: 'nots' } };
    expect(await callAsAdmin(server, 'POST', '/api/v1/deployments', deployment)).toMatchObject({
      status: 400,
      body: {
        error: {
          message: expect.stringContaining(`headworks spaces create nots --organization ${id}`) as string,
        },
      },
    });
  }
  await made('/api/v1/deployments', { organization: id, name: 'in', workflow: 'ingest' });
  const tenant = { organizationId: id, key, path: '/deployment/api/acme/in' };
  const text = 'Alice Chen decided to move the database to Frankfurt on 2026-03-02.';
  expect((await callDeployment(server, tenant, { body: { text } })).status).toBeLessThan(300);

  const get = async (path: string, token = key): Promise<{ status: number; body: Answer }> => {
    const answer = await fetch(`${server.url}/api/v1/knowledge${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, body: (await answer.json()) as Answer };
  };
  await expect.poll(async () => (await get('/artifacts')).body.artifacts.length).toBe(1);
  const [artifact] = (await get('/artifacts')).body.artifacts;
  await expect
    .poll(async () => (await get(`/artifacts/${artifact?.id ?? ''}`)).body.status, {
      timeout: 60_000,
    })
    .toMatchObject({ state: 'completed', steps: { read: { completed: 1 }, graph: { completed: 1 } } });
  expect((await get('/events')).body.events.length).toBeGreaterThan(0);
  // The server's own space has the documents of the folder, and the tenant sees none of them.
  await expect
    .poll(async () => (await get('/artifacts', server.adminToken)).body.artifacts.map(({ title }) => title), {
      timeout: 60_000,
    })
    .toEqual(['Watched']);
  expect((await get('/artifacts')).body.artifacts).toHaveLength(1);

  // A file that cannot be ingested is in the ledger until it can be, and a missing file is listed.
  const openRows = async () =>
    ((await callAsAdmin(server, 'GET', '/api/v1/ledger')).body as { entries: readonly object[] }).entries;
  await expect
    .poll(openRows)
    .toMatchObject([{ kind: 'knowledge.file-not-ingested', cause: 'KNOWLEDGE_DOCUMENT_UNREADABLE' }]);
  await rm(join(notes, 'broken.pdf'));
  await writeFile(join(notes, 'more.md'), '# More');
  await rm(join(notes, 'watched.md'));
  const folders = async () => (await callAsAdmin(server, 'GET', '/api/v1/knowledge/folders')).body;
  await expect.poll(folders).toMatchObject({
    folders: [{ last_result: { failed: 0, missing: [{ path: join(notes, 'watched.md') }] } }],
  });
  await expect.poll(openRows).toEqual([]);
});

interface Answer {
  readonly artifacts: readonly { readonly id: string; readonly title: string }[];
  readonly events: readonly unknown[];
  readonly status: unknown;
}
