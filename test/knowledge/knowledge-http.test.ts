// Knowledge over HTTP: what tenants and the admin can do, and that no tenant sees data of another.
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CoreError, silentLog } from '../../src/core/index.ts';
import { buildServer } from '../../src/http/index.ts';
import { openKnowledge } from '../../src/knowledge/index.ts';
import { adminToken, organizationKeysOf, createTestDeps } from '../support/http-dependencies.ts';
import { emptyKnowledgeServices } from '../support/knowledge-services.ts';
import { RecordingGraph, bracketReader, exactResolver } from '../support/knowledge-doubles.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld, noModel } from '../support/knowledge-world.ts';
import { emptyTenantServices } from '../support/tenancy/tenant-services.ts';

const base = '/api/v1/knowledge';

describe('knowledge over HTTP', () => {
  let world: KnowledgeWorld;
  let server: FastifyInstance;
  let acme: string;
  let other: string;

  beforeAll(async () => {
    world = await knowledgeWorld();
    [acme, other] = [await world.organization(), await world.organization()];
    const { database, jobs, ledger, clock, ids } = world;
    const knowledge = await openKnowledge({
      database,
      jobs,
      ledger,
      clock,
      ids,
      model: noModel,
      log: silentLog,
      options: { ...world.options, maxDocumentBytes: 100_000 },
      overrides: {
        embedders: embeddersOf(null),
        files: {
          resolve: async (path) => path,
          // oxlint-disable-next-line typescript/require-await -- the interface streams; this folder is empty
          list: async function* () {},
          find: async () => null,
          read: async () => new Uint8Array(),
        },
        documents: { read: async ({ bytes }) => ({ text: Buffer.from(bytes).toString(), warnings: [] }) },
        readers: { rules: bracketReader('rules'), model: () => null },
        resolver: exactResolver(world),
        graphStep: new RecordingGraph(),
      },
    });
    await knowledge.start({ isLongRunning: false, scansFolders: false });
    const test = createTestDeps();
    const organizations = { acme, other };
    server = await buildServer({
      ...test.dependencies,
      access: {
        ...test.dependencies.access,
        organizationKeys: organizationKeysOf({ 'acme-key': acme, 'other-key': other }),
      },
      tenants: {
        ...emptyTenantServices,
        organizations: {
          ...emptyTenantServices.organizations,
          find: (reference) => {
            const found = Object.entries(organizations).find((entry) => entry.includes(reference));
            if (!found) throw new CoreError('NOT_FOUND', 'There is no such organization.');
            return { id: found[1], name: found[0], createdAt: new Date(0) };
          },
        },
      },
      knowledge: { ...emptyKnowledgeServices, ...knowledge },
    });
  });
  afterAll(async () => {
    await server.close();
    await world.dispose();
  });

  const call = async (key: string, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => {
    const answer = await server.inject({
      method,
      url: base + path,
      headers: { authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: answer.statusCode, body: answer.body === '' ? null : answer.json<Answer>() };
  };
  type Answer = Record<string, unknown> & {
    readonly id: string;
    readonly artifacts: readonly Record<string, unknown>[];
    readonly events: readonly Record<string, unknown>[];
    readonly spaces: readonly Record<string, unknown>[];
    readonly error: { readonly code: string; readonly message: string };
  };

  const settled = async (key: string, id: string, query = '') => {
    await expect
      .poll(
        async () => {
          await world.clock.advance(1_000);
          return (await call(key, 'GET', `/artifacts/${id}${query}`)).body?.['status'];
        },
        { timeout: 60_000 },
      )
      .toMatchObject({ state: 'completed' });
  };

  it('ingests a document and returns its status', async () => {
    const taken = await call('acme-key', 'POST', '/artifacts', { text: '[Ann] decided.', title: 'Minutes' });
    expect(taken).toMatchObject({ status: 202, body: { outcome: 'added', chunks: 1 } });
    const id = taken.body?.id ?? '';
    await settled('acme-key', id);
    expect(await call('acme-key', 'GET', `/artifacts/${id}`)).toMatchObject({
      status: 200,
      body: {
        title: 'Minutes',
        text: '[Ann] decided.',
        status: { steps: { read: { completed: 1 } }, dropped: [], missing: [] },
      },
    });
    const gone = '01900000-0000-7000-8000-000000000000';
    expect((await call('acme-key', 'GET', `/artifacts/statuses?ids=${id},${gone}`)).body).toMatchObject({
      statuses: [{ id, title: 'Minutes', status: { state: 'completed' } }],
    });
    expect((await call('acme-key', 'GET', '/events?category=Decision')).body?.events).toMatchObject([
      {
        narrative: 'Ann decided.',
        actors: [{ name: 'Ann', role: 'owner' }],
        evidence: [{ quote: 'decided.' }],
      },
    ]);
    expect(
      await call('acme-key', 'POST', '/artifacts', { text: '[Ann] decided.', title: 'Minutes' }),
    ).toMatchObject({
      status: 200,
      body: { outcome: 'unchanged', job_id: null },
    });
    expect((await call('acme-key', 'GET', `/artifacts/${id}/revisions`)).body).toMatchObject({
      revisions: [{}],
    });
    expect((await call('acme-key', 'DELETE', `/artifacts/${id}`)).status).toBe(204);
    expect((await call('acme-key', 'GET', '/events')).body?.events).toEqual([]);
  });

  it('accepts source ids of mentions, and rejects invalid ones', async () => {
    const put = (identity: string) =>
      call('acme-key', 'POST', '/artifacts', {
        text: 'Costs.',
        source_id: 'dashboards/1',
        mentions: [{ name: 'Finance', type: 'other', relation: 'folder', identity }],
      });
    const taken = await put('looker https://acme.example.com#folder/1');
    expect(taken.status).toBe(202);
    const revision = await world.artifacts.revision(
      (await world.spaces.ensure(acme, 'default')).spaceId,
      String(taken.body?.['revision_id']),
    );
    expect(revision?.metadata['mentions']).toMatchObject([
      { surfaceForm: 'Finance', contextClues: { identity: 'looker https://acme.example.com#folder/1' } },
    ]);
    expect(await put('folder 1')).toMatchObject({ status: 400, body: { error: { code: 'INPUT_INVALID' } } });
  });

  it('accepts files in base64, and estimates without writing', async () => {
    const file = { name: 'notes.md', content: Buffer.from('# Plan\n\n[Bob] came.').toString('base64') };
    const estimate = await call('acme-key', 'POST', '/artifacts/estimate', { file });
    expect(estimate).toMatchObject({
      status: 200,
      body: { chunks: 1, model_calls: 0, prompt_tokens: 0, completion_tokens: 0, embedding_calls: 0 },
    });
    const taken = await call('acme-key', 'POST', '/artifacts', { file, type: 'doc' });
    const view = await call('acme-key', 'GET', `/artifacts/${taken.body?.id ?? ''}`);
    expect(view.body).toMatchObject({ title: 'Plan', type: 'doc', source_id: 'notes.md' });
  });

  it.each([
    ['neither text nor file', {}, 400, 'INPUT_INVALID'],
    ['both', { text: 'a', file: { name: 'a', content: '' } }, 400, 'INPUT_INVALID'],
    ['an unknown field', { text: 'a', color: 'red' }, 400, 'INPUT_INVALID'],
    ['too large a text', { text: 'a'.repeat(100_001) }, 400, 'INPUT_INVALID'],
    ['a space that is not there', { text: 'a', space: 'nowhere' }, 404, 'NOT_FOUND'],
  ])('rejects %s', async (_, body, status, code) => {
    expect(await call('acme-key', 'POST', '/artifacts', body)).toMatchObject({
      status,
      body: { error: { code } },
    });
  });

  it('removes U+0000 from documents, and rejects it in names', async () => {
    const document = {
      file: { name: 'nul', content: Buffer.from('[Ann] met\0 Bo.').toString('base64') },
      title: 'Mi\0nutes',
      metadata: { 'a\0': '\0' },
    };
    const taken = await call('acme-key', 'POST', '/artifacts', document);
    expect(taken.status).toBe(202);
    const id = taken.body?.id ?? '';
    expect(await call('acme-key', 'GET', `/artifacts/${id}`)).toMatchObject({
      body: { text: '[Ann] met Bo.', title: 'Minutes', source_id: 'nul' },
    });
    for (const [method, path, body] of [
      ['GET', '/artifacts?space=a%00'],
      ['GET', '/artifacts?source_system=a%00'],
      ['GET', '/entities?name=%00'],
      ['DELETE', '/spaces/a%00'],
      ['POST', '/artifacts', { text: 'Mine.', space: 'a\0' }],
      ['POST', '/artifacts', { text: 'Mine.', source_id: 'nu\0l' }],
      ['POST', '/artifacts', { text: 'Mine.', source_id: 'x', source_system: 'mail\0' }],
      ['POST', '/artifacts', { file: { ...document.file, name: 'nu\0l' } }],
      ['POST', '/artifacts/estimate', { file: { ...document.file, media_type: 'text/pl\0ain' } }],
      [
        'POST',
        '/artifacts',
        { text: 'Mine.', mentions: [{ name: 'A', type: 'organization', relation: '\0' }] },
      ],
      ['POST', '/search', { query: 'x', filters: { sources: ['a\0'] } }],
    ] as const)
      expect(await call('acme-key', method, path, body)).toMatchObject({
        status: 400,
        body: { error: { code: 'INPUT_INVALID', message: expect.stringContaining('U+0000') as string } },
      });
    await call('acme-key', 'DELETE', `/artifacts/${id}`);
  });

  it('creates and deletes spaces; an unknown language is rejected by name', async () => {
    const made = await call('acme-key', 'POST', '/spaces', { name: 'Deutsch', language: 'german' });
    expect(made).toMatchObject({ status: 201, body: { organization_id: acme, language: 'german' } });
    expect((await call('acme-key', 'POST', '/spaces', { name: 'deutsch' })).status).toBe(409);
    expect(await call('acme-key', 'POST', '/spaces', { name: 'x', language: 'klingon' })).toMatchObject({
      body: { error: { code: 'KNOWLEDGE_LANGUAGE_UNKNOWN' } },
    });
    expect((await call('acme-key', 'POST', '/spaces', { name: 'a b' })).status).toBe(400);
    expect((await call('acme-key', 'DELETE', '/spaces/DEUTSCH')).status).toBe(204);
    expect((await call('acme-key', 'DELETE', '/spaces/deutsch')).status).toBe(404);
  });

  it('accepts the owner of a space from the admin, and folders for it', async () => {
    const taken = await call(adminToken, 'POST', '/artifacts', { text: 'x', organization: 'other' });
    expect(taken.status).toBe(202);
    expect((await call('other-key', 'GET', '/artifacts')).body?.artifacts).toHaveLength(1);
    expect((await call(adminToken, 'GET', '/artifacts')).body?.artifacts).toEqual([]);
    const spaces = (await call(adminToken, 'GET', '/spaces')).body?.spaces ?? [];
    expect(new Set(spaces.map((space) => space['organization_id']))).toEqual(new Set([null, acme, other]));
    const folder = await call(adminToken, 'POST', '/folders', { path: '/srv/notes', schedule: '0 3 * * *' });
    expect(folder).toMatchObject({ status: 201, body: { path: '/srv/notes', last_run_at: null } });
    const id = String(folder.body?.['id']);
    expect(
      await call(adminToken, 'POST', '/folders', { path: '/srv/notes', delete_missing: true }),
    ).toMatchObject({
      status: 200,
      body: { id, outcome: 'updated', schedule: null, delete_missing: true },
    });
    expect(await call(adminToken, 'GET', '/folders?all=true')).toMatchObject({
      body: { folders: [{ id, space: 'default', organization_id: null }] },
    });
    expect(await call(adminToken, 'GET', '/folders?organization=acme')).toMatchObject({
      body: { folders: [] },
    });
    expect(await call(adminToken, 'POST', `/folders/${id}/scan`, {})).toMatchObject({
      status: 200,
      body: { added: 0, failed: 0, missing_count: 0, missing: [] },
    });
    expect((await call(adminToken, 'POST', '/folders', { path: '/srv', schedule: 'often' })).status).toBe(
      400,
    );
    expect((await call('acme-key', 'GET', '/folders')).status).toBe(403);
    expect((await call(adminToken, 'DELETE', `/folders/${id}`)).status).toBe(204);
    expect((await call(adminToken, 'POST', `/folders/${id}/scan`, {})).status).toBe(404);
    expect((await call('acme-key', 'POST', `/folders/${id}/scan`, {})).status).toBe(403);
  });

  it('shows and changes nothing of another tenant, on any route', async () => {
    const secret = 'hunter2-of-acme';
    const taken = await call('acme-key', 'POST', '/artifacts', {
      text: `[${secret}] decided.`,
      title: secret,
    });
    const id = taken.body?.id ?? '';
    await settled('acme-key', id);
    await call('acme-key', 'POST', '/spaces', { name: 'only-acme' });
    const events = (await call('acme-key', 'GET', '/events')).body?.events ?? [];
    const event = String(events[0]?.['id']);
    const revision = String(taken.body?.['revision_id']);
    const attempts = [
      ['GET', '/spaces'],
      ['GET', '/spaces?organization=acme'],
      ['GET', `/artifacts`],
      ['GET', `/artifacts?after=${revision}`],
      ['GET', `/artifacts?space=only-acme`],
      ['GET', `/artifacts?organization=${acme}`],
      ['GET', `/artifacts/${id}`],
      ['GET', `/artifacts/${id}?organization=acme`],
      ['GET', `/artifacts/${id}/revisions`],
      ['GET', '/events'],
      ['GET', `/events?artifact_id=${id}`],
      ['GET', `/events/${event}`],
      ['DELETE', `/artifacts/${id}`],
      ['DELETE', '/spaces/only-acme'],
      ['DELETE', '/spaces/only-acme?organization=acme'],
    ] as const;
    for (const [method, path] of attempts) {
      const answer = await call('other-key', method, path);
      expect(JSON.stringify(answer.body), `${method} ${path}`).not.toMatch(/hunter2|only-acme"|org_.*acme/);
      if (method === 'DELETE') expect(answer.status, path).toBeGreaterThanOrEqual(403);
    }
    const intruding = { text: 'x', organization: 'acme' };
    expect((await call('other-key', 'POST', '/artifacts', intruding)).status).toBe(403);
    expect(
      (await call('other-key', 'POST', '/artifacts', { ...intruding, organization: 'unknown' })).status,
    ).toBe(403);
    expect((await call('other-key', 'POST', '/spaces', { name: 'x', organization: 'acme' })).status).toBe(
      403,
    );
    expect((await call('acme-key', 'GET', `/artifacts/${id}`)).status).toBe(200);
    expect((await call('acme-key', 'GET', `/events/${event}`)).status).toBe(200);
  });
});
