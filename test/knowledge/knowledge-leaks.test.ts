// Two tenants on every route of knowledge: data of the other tenant is treated as missing, and no response
// contains any of it. A route without a row here fails.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunningServer } from '../../src/app/index.ts';
import { startServer } from '../../src/app/start.ts';
import { redisUrl, uniqueName } from '../support/services.ts';
import { testConfig } from '../support/test-server.ts';

const base = '/api/v1/knowledge';
/** Ids and names that do not exist, of the same shape as existing ones. */
const unknownNames = {
  artifact: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a01',
  entity: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a02',
  other: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a03',
  mention: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a04',
  event: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a05',
  pair: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a06',
  merge: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a07',
  revision: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a08',
  space: 'nowhere',
  organization: 'no-organization',
  organizationId: 'org_0000000000000000',
};
type Names = typeof unknownNames;

interface Attempt {
  /** Replaces the parameter in the path. */
  readonly param?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** What of a tenant can be requested on the route; empty: only the space. `null`: for the admin only. */
const routes: Readonly<Record<string, ((of: Names) => readonly Attempt[]) | null>> = {
  'GET /spaces': () => [],
  'POST /spaces': () => [{ body: { name: 'mine' } }],
  'DELETE /spaces/{space}': ({ space }) => [{ param: space }],
  'GET /folders': null,
  'POST /folders': null,
  'DELETE /folders/{id}': null,
  'POST /folders/{id}/scan': null,
  'GET /artifacts': ({ revision }) => [{ query: { after: revision } }],
  'GET /artifacts/statuses': ({ artifact }) => [{ query: { ids: artifact } }],
  'POST /artifacts': ({ artifact }) => [{ body: { text: 'Mine.', source_id: artifact } }],
  'POST /artifacts/estimate': () => [{ body: { text: 'Mine.' } }],
  'GET /artifacts/{id}': ({ artifact, revision }) => [{ param: artifact }, { param: revision }],
  'GET /artifacts/{id}/revisions': ({ artifact }) => [{ param: artifact }],
  'DELETE /artifacts/{id}': ({ artifact }) => [{ param: artifact }],
  'GET /events': ({ artifact, entity, event }): readonly Attempt[] => [
    { query: { artifact_id: artifact } },
    { query: { entity_id: entity } },
    { query: { after: event } },
  ],
  'GET /events/{id}': ({ event }) => [{ param: event }],
  'GET /graph': null,
  'POST /graph/rebuild': null,
  'GET /entities': ({ entity }): readonly Attempt[] => [
    { query: { after: entity } },
    { query: { name: 'Zebulon' } },
  ],
  'GET /entities/{id}': ({ entity }) => [{ param: entity }],
  'GET /entities/{id}/related': ({ entity }) => [{ param: entity }],
  'POST /entities/{id}/split': ({ entity, mention }) => [
    { param: entity, body: { mention_ids: [mention], name: 'Mine' } },
  ],
  'POST /merges': ({ entity, other }) => [{ body: { winner_id: entity, loser_id: other } }],
  'POST /merges/{id}/undo': ({ merge }) => [{ param: merge }],
  'GET /pairs': () => [],
  'POST /pairs/{id}/verdict': ({ pair }) => [
    { param: pair, body: { verdict: 'same' } },
    { param: pair, body: { verdict: 'different' } },
  ],
  'POST /search': ({ entity }) => [
    { body: { query: 'Zebulon harbor' } },
    { body: { query: 'harbor', filters: { entity_ids: [entity] }, include_entities: true } },
    { body: { query: 'harbor', graph_expand: true, include_entities: true, limit: 50 } },
  ],
};

/** Content of one tenant that no response to another may contain. */
const secrets = /Zebulon|Quark|hunter2|acme-only|acme-leak/i;
const secretText =
  'Zebulon Quark (hunter2 lead, Quarkworks) decided to buy the harbor. Zebulon Quark will call Dana Reed on Monday.';

describe('data of another tenant', () => {
  let folder: string;
  let server: RunningServer;
  let mine: Names;
  let theirs: Names;
  let myKey = '';
  let theirKey = '';
  let before: unknown;

  const call = async (key: string, method: string, path: string, body?: unknown) => {
    const answer = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, text, body: (text === '' ? null : JSON.parse(text)) as never };
  };
  const made = async <T>(key: string, path: string, body: unknown): Promise<T> => {
    const { status, text, body: answer } = await call(key, 'POST', path, body);
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
    return answer;
  };

  /** Processed documents of one tenant: two people who may be the same, a merge that was undone. */
  async function populate(name: string, space: string, text: string) {
    const { id } = await made<{ id: string }>(server.adminToken, '/api/v1/organizations', { name });
    const keys = `/api/v1/organizations/${id}/keys`;
    const { key } = await made<{ key: string }>(server.adminToken, keys, { name: 'test' });
    await made(key, `${base}/spaces`, { name: space });
    await made(key, `${base}/artifacts`, { text: `${text} Elsewhere.`, space });
    // Uncertain whether it is the same person.
    const initials = `${text[0]}. ${text.split(' ')[1]}`;
    const owned = { text: 'The harbor.', mentions: [{ name: initials, type: 'person', relation: 'owner' }] };
    let artifact: { id: string; revision_id: string } | undefined;
    for (const document of [{ text }, owned]) {
      const accepted = await made<NonNullable<typeof artifact>>(key, `${base}/artifacts`, document);
      artifact ??= accepted;
      await vi.waitFor(
        async () =>
          expect((await call(key, 'GET', `${base}/artifacts/${accepted.id}`)).body).toMatchObject({
            status: { state: 'completed' },
          }),
        { timeout: 60_000, interval: 50 },
      );
    }
    const { entities } = (await call(key, 'GET', `${base}/entities`)).body as {
      entities: { id: string; type: string; mention_count: number }[];
    };
    const [one, another] = entities
      .filter(({ type }) => type === 'person')
      .sort((a, b) => b.mention_count - a.mention_count)
      .map((found) => found.id);
    const { pairs } = (await call(key, 'GET', `${base}/pairs`)).body as { pairs: { id: string }[] };
    const { events } = (await call(key, 'GET', `${base}/events`)).body as { events: { id: string }[] };
    const { mentions } = (await call(key, 'GET', `${base}/entities/${one}`)).body as {
      mentions: { id: string }[];
    };
    const { id: merge } = await made<{ id: string }>(key, `${base}/merges`, {
      winner_id: one,
      loser_id: another,
    });
    await made(key, `${base}/merges/${merge}/undo`, undefined);
    const names: Names = {
      artifact: artifact?.id ?? '',
      revision: artifact?.revision_id ?? '',
      entity: one ?? '',
      other: another ?? '',
      mention: mentions[0]?.id ?? '',
      event: events[0]?.id ?? '',
      pair: pairs[0]?.id ?? '',
      merge,
      space,
      organization: name,
      organizationId: id,
    };
    for (const [what, value] of Object.entries(names)) expect(value, `${name} has ${what}`).toBeTruthy();
    return { key, names };
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
    // Servers that share a store take executions only where they share limits.
    const env = { REDIS_URL: redisUrl(), HEADWORKS_REDIS_KEY_PREFIX: `${uniqueName('leaks')}:` };
    server = await startServer(await testConfig(env, folder), { role: 'serve' });
    ({ key: theirKey, names: theirs } = await populate('acme-leak', 'acme-only', secretText));
    ({ key: myKey, names: mine } = await populate(
      'other',
      'side',
      'Mona Berg decided to sell the harbor. Mona Berg will meet Omar Faruk on Friday.',
    ));
    await made(server.adminToken, `${base}/artifacts`, { text: 'The owner of hunter2 has a harbor.' });
    before = await snapshot();
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  /** Without the requested ids and what differs in every response, to compare with a response about unknown ids. */
  function plain({ status, text }: { status: number; text: string }, requested: Names): string {
    let shown = text;
    for (const [what, value] of Object.entries(requested)) shown = shown.replaceAll(value, `<${what}>`);
    for (const [what, value] of Object.entries(unknownNames)) shown = shown.replaceAll(value, `<${what}>`);
    return `${status} ${shown.replaceAll(/"(request_id|artifact_id|revision_id|job_id|id|created_at|as_of)":"[^"]*"/g, '"$1":"…"')}`;
  }

  const pathOf = (route: string, { param = '', query = {} }: Attempt) => {
    const [, path = ''] = route.split(' ');
    const search = new URLSearchParams(query).toString();
    return `${base}${path.replace(/\{\w+\}/, encodeURIComponent(param))}${search === '' ? '' : `?${search}`}`;
  };
  const send = (route: string, attempt: Attempt, key = myKey) =>
    call(key, route.split(' ')[0] ?? '', pathOf(route, attempt), attempt.body);

  /** Apart from the ids in the request. */
  function expectNothingOfTheirs(text: string, label: string): void {
    let shown = text;
    for (const value of Object.values(theirs)) shown = shown.replaceAll(value, '');
    expect(shown, label).not.toMatch(secrets);
  }

  it('is tested on every route of the server', async () => {
    const { paths } = (await call(server.adminToken, 'GET', '/openapi.json')).body as {
      paths: Record<string, Record<string, unknown>>;
    };
    const registered = Object.entries(paths)
      .filter(([path]) => path.startsWith(base))
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.slice(base.length)}`),
      );
    expect(Object.keys(routes).sort()).toEqual(registered.sort());
  });

  it.each(Object.entries(routes))('is not returned on %s', async (route, attemptsOf) => {
    if (attemptsOf === null) {
      const body = route.startsWith('POST') ? {} : undefined;
      const answer = await send(route, { param: theirs.entity, ...(body ? { body } : {}) });
      expect(answer.status).toBe(403);
      expectNothingOfTheirs(answer.text, route);
      return;
    }
    const plainAttempts = attemptsOf(theirs).length === 0 ? [{}] : attemptsOf(theirs);
    const unknowns = attemptsOf(unknownNames);
    for (const [index, attempt] of plainAttempts.entries()) {
      const label = `${route} ${JSON.stringify(attempt)}`;
      const [theirsResponse, unknown] = [
        await send(route, attempt),
        await send(route, unknowns[index] ?? {}),
      ];
      expectNothingOfTheirs(theirsResponse.text, label);
      // A cursor is a position in time and grants no access: the page contains data of the caller only.
      const isCursor = ['before', 'after'].some((name) => name in (attempt.query ?? {}));
      const isMade = route === 'POST /spaces' || route === 'POST /artifacts';
      if (!isCursor && !isMade)
        expect(plain(theirsResponse, theirs), label).toBe(plain(unknown, unknownNames));
      for (const [name, value, other] of [
        ['organization', theirs.organization, unknownNames.organization],
        ['organization', theirs.organizationId, unknownNames.organizationId],
        ['space', theirs.space, unknownNames.space],
      ] as const) {
        if (name === 'space' && /spaces/.test(route)) continue;
        const withName = (given: string): Attempt => ({
          ...attempt,
          query: { ...attempt.query, [name]: given },
        });
        const [named, unnamed] = [await send(route, withName(value)), await send(route, withName(other))];
        expect(named.status, `${label} ${name}`).toBe(name === 'space' ? 404 : 403);
        expect(plain(named, theirs), `${label} ${name}`).toBe(plain(unnamed, theirs));
        expectNothingOfTheirs(named.text, `${label} ${name}`);
      }
    }
  });

  /** All data of the other tenant. */
  async function snapshot(): Promise<unknown> {
    const paths = ['/spaces', '/artifacts', '/entities', '/pairs', '/events', `/entities/${theirs.entity}`];
    return Promise.all(
      [...paths, `/artifacts/${theirs.artifact}`, `/artifacts?space=${theirs.space}`].map(async (path) => {
        const { status, text } = await call(theirKey, 'GET', base + path);
        return { path, status, text: text.replaceAll(/"as_of":"[^"]*"/g, '"as_of":"…"') };
      }),
    );
  }

  it('is unchanged afterwards', async () => {
    expect(await snapshot()).toEqual(before);
  });

  it('is returned to its owner: the responses above could have contained it', async () => {
    const search = await call(theirKey, 'POST', `${base}/search`, { query: 'Zebulon harbor' });
    expect(search.text).toMatch(secrets);
    for (const path of [
      '/artifacts',
      '/entities',
      '/events',
      '/pairs',
      '/spaces',
      `/artifacts/${theirs.artifact}`,
      `/entities/${theirs.entity}`,
      `/entities/${theirs.entity}/related`,
      `/events/${theirs.event}`,
    ])
      expect((await call(theirKey, 'GET', base + path)).text, path).toMatch(secrets);
    expect((await call(myKey, 'POST', `${base}/search`, { query: 'harbor' })).text).toContain('Mona');
  });

  it('is not returned by the workflows search and ingest', async () => {
    const publish = (workflow: string, space?: string) =>
      call(server.adminToken, 'POST', '/api/v1/deployments', {
        organization: mine.organization,
        name: `${workflow}-${space ?? 'own'}`,
        workflow,
        ...(space === undefined ? {} : { options: { space } }),
      });
    const execute = (api: string, parameters: object, organization = mine.organization) =>
      call(myKey, 'POST', `/deployment/api/${organization}/${api}?timeout=30`, parameters);
    const input = { search: { query: 'Zebulon harbor', limit: 50 }, ingest: { text: 'Mine.' } };
    for (const workflow of ['search', 'ingest'] as const) {
      const [own, named, unknown] = [
        await publish(workflow),
        await publish(workflow, theirs.space),
        await publish(workflow, unknownNames.space),
      ];
      expect(own.status, own.text).toBe(201);
      const words = (answer: typeof named) =>
        plain(answer, theirs).replaceAll(/"(webhook_secret|updated_at|endpoint|url)":"[^"]*"/g, '');
      expect(words(named)).toBe(words(unknown));
      const answer = await execute(`${workflow}-own`, input[workflow]);
      expect(answer.status, answer.text).toBe(200);
      expectNothingOfTheirs(answer.text, workflow);
      if (named.status !== 201) continue;
      const [inTheirs, inUnknown] = [
        await execute(`${workflow}-${theirs.space}`, input[workflow]),
        await execute(`${workflow}-${unknownNames.space}`, input[workflow]),
      ];
      expect(inTheirs.status).toBe(inUnknown.status);
      expectNothingOfTheirs(inTheirs.text, workflow);
    }
    // Nor by a deployment of the other tenant.
    await made(server.adminToken, '/api/v1/deployments', {
      organization: theirs.organization,
      name: 'ask',
      workflow: 'search',
    });
    const [there, nowhere] = [
      await execute('ask', input.search, theirs.organization),
      await execute('ask', input.search, unknownNames.organization),
    ];
    expect(there.status).toBeGreaterThanOrEqual(400);
    expect(there.status).toBe(nowhere.status);
    expectNothingOfTheirs(there.text, 'the deployment of the other tenant');
  });
});
