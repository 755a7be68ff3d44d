// Items of a vault as documents for knowledge: owners, folders, models and explores need no reading.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEvaluationServices } from '../../bench/evaluation/services.ts';
import { documentsOfVault } from '../../src/app/ingest-documents.ts';
import { systemClock } from '../../src/core/index.ts';
import type { Space } from '../../src/knowledge/index.ts';
import { searchDefaults } from '../../src/knowledge/index.ts';
import { Chance } from '../../src/simulators/chance.ts';
import type { World } from '../../src/simulators/looker/item-parts.ts';
import { personAt } from '../../src/simulators/looker/item-parts.ts';
import { itemGenerators, tile } from '../../src/simulators/looker/items.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld } from '../support/knowledge-world.ts';
import {
  itemOf,
  noHeader,
  noTotals,
  offsetRequest,
  pageOf,
  specOf,
  typeNamed,
  vaultWorld,
  endWith,
} from '../support/vault-world.ts';

let knowledge: KnowledgeWorld;
beforeAll(async () => {
  knowledge = await knowledgeWorld();
});
afterAll(() => knowledge.dispose());
const { signal } = new AbortController();

/** Documents are read in order, by rules only. */
async function reader() {
  const { database, ids, options } = knowledge;
  const embedders = embeddersOf(null);
  const services = await openEvaluationServices({
    database,
    clock: systemClock,
    ids,
    embedders,
    options,
    signal,
  });
  const space = await knowledge.space();
  return { services, space, namesOf: (type: string) => namesIn(services, space, type) };
}

async function namesIn(
  { entities }: Awaited<ReturnType<typeof openEvaluationServices>>,
  { spaceId }: Space,
  type: string,
): Promise<readonly string[]> {
  const found = await entities.list({ spaceId, limit: 500 });
  return found.flatMap((entity) => (entity.type === type ? [entity.canonicalName] : [])).sort();
}

/** Few of each type, to keep the test short. */
const counts = { dashboards: 6, looks: 3, lookml_models: 2, explores: 4, folders: 4, users: 5, groups: 2 };

/** A small Looker, as the simulated one has it, in a vault. */
async function lookerVault(): Promise<string> {
  const world = await vaultWorld();
  const { sessions } = world.vault;
  const types = Object.keys(counts) as (keyof typeof counts)[];
  const session = sessions.open(specOf({ fresh: true, types: types.map((name) => typeNamed(name)) }));
  const all = {
    lookml_dashboards: 0,
    boards: 0,
    roles: 2,
    permission_sets: 2,
    model_sets: 2,
    scheduled_plans: 0,
  };
  for (const type of types) {
    const { id, make, more, text, hasTiles } = itemGenerators[type];
    const items = Array.from({ length: counts[type] }, (_, index) => {
      const chance = new Chance(3, types.indexOf(type), index);
      const context = { index, version: 0, chance, world: { ...counts, ...all } satisfies World };
      const data: Record<string, unknown> = {
        ...make(context),
        ...more?.(context),
        [text.field]: text.value(context),
        ...(hasTiles ? { dashboard_elements: [tile(index, chance), tile(index + 9, chance)] } : {}),
      };
      const textOf = (...names: string[]): string | null =>
        names.map((name) => data[name]).find((value) => typeof value === 'string') ?? null;
      return itemOf(id(index, context.world), JSON.stringify(data), {
        name: textOf('title', 'display_name', 'label', 'name'),
        owner: textOf('user_id', 'creator_id'),
        folder: textOf('folder_id', 'parent_id', 'model_name', 'project_name'),
      });
    });
    world.writer.write(session.id, pageOf(offsetRequest(0, 100, type), items), noHeader);
    sessions.finishType(session.id, type, endWith(null));
  }
  sessions.finish(session.id, 'completed', noTotals);
  return world.path;
}

/** Every item, as the command line sends it. */
async function ingestVault(
  { artifacts }: Awaited<ReturnType<typeof openEvaluationServices>>,
  space: Space,
  file: string,
): Promise<void> {
  for await (const document of documentsOfVault({
    file,
    cwd: '/',
    dataFolder: '/nowhere',
  })) {
    const { file: content, mentions, source_system: sourceSystem, source_id: sourceId, title } = document;
    await artifacts.ingest(
      space,
      {
        content: { text: Buffer.from(content.content, 'base64').toString() },
        title,
        sourceSystem,
        sourceId,
        mentions: mentions.map(({ name, type, relation, ...contextClues }) => ({
          surfaceForm: name,
          type,
          relation,
          contextClues,
        })),
      },
      signal,
    );
  }
}

it('finds people, folders, models and explores in a Looker vault, and no person in field names', async () => {
  const { services, space, namesOf } = await reader();
  const users = Array.from({ length: counts.users }, (_, index) =>
    itemGenerators.users.text.value({ index } as never),
  );
  await ingestVault(services, space, await lookerVault());
  const people = await namesOf('person');
  expect(people).toEqual(expect.arrayContaining(users));
  // Descriptions name the requester in different spellings; all others have an account.
  const parts = new Set(
    Array.from({ length: 200 }, (_, index) => personAt(index)).flatMap((each) => Object.values(each)),
  );
  for (const name of people)
    for (const word of name.split(/[ ,.]+/).filter(({ length }) => length > 1)) expect(parts).toContain(word);
  const field = /\b(?:id|at|url|name|count|can|is|show|created|updated|label|type|fields?|title|status)\b/i;
  for (const type of ['person', 'organization', 'project', 'place', 'other'])
    for (const name of await namesOf(type)) expect(name).not.toMatch(field);
  const [user = ''] = users;
  const [known] = await services.entities.list({ spaceId: space.spaceId, name: user, limit: 1 });
  const { mentions } = await services.entities.get(space, known?.entityId ?? '');
  const own = mentions.filter(({ title, relation }) => title === user && relation !== null);
  expect(own.map(({ relation }) => relation)).toEqual(['user']);
  const objects = await namesOf('object');
  expect(objects).toContain('ecommerce');
  expect(objects.every((name) => /^\w+(?:::\w+)?$/.test(name))).toBe(true);
  const found = await services.search.search(
    space,
    { ...searchDefaults, query: 'orders total_amount' },
    signal,
  );
  expect(found.primaryResults[0]?.text).toContain('orders.total_amount');
  expect(found.primaryResults[0]?.text).not.toMatch(/avatar|https?:|true|\d{4}-\d{2}-\d{2}T/);
});

it('reads rows of any service: people in their fields and sentences, and no names of fields', async () => {
  const { services, space, namesOf } = await reader();
  const rows = [
    { 'Ticket Id': 17, 'Created At': '2026-03-02T10:00:00Z', 'First Name': 'Alice', Priority: 'Very High' },
    { 'Opened By': 'x7', assignee: 'Bob Ray', comment: 'Carol Davis promised to call Acme Corp on Monday.' },
    { contact: { 'Full Name': 'Dana Whitfield', email: 'dana@acme.example' }, 'Last Updated': 'Last Monday' },
  ];
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  await services.artifacts.ingest(space, { content: { text }, title: 'tickets' }, signal);
  expect(await namesOf('person')).toEqual(['Bob Ray', 'Carol Davis', 'Dana Whitfield']);
  expect(await namesOf('other')).toEqual([]);
  const events = await services.events.list({ spaceId: space.spaceId, limit: 50 });
  expect(events.map(({ narrative }) => narrative)).toEqual([
    'Carol Davis promised to call Acme Corp on Monday.',
  ]);
});

it('returns every live item with the names from its source', async () => {
  const world = await vaultWorld();
  const types = ['dashboards', 'explores', 'folders', 'users'];
  const { sessions } = world.vault;
  const session = sessions.open(specOf({ fresh: true, types: types.map((name) => typeNamed(name)) }));
  const put = (type: string, id: string, data: object, parts: object = {}): void => {
    const page = pageOf(offsetRequest(0, 100, type), [itemOf(id, JSON.stringify(data), parts)]);
    world.writer.write(session.id, page, noHeader);
    sessions.finishType(session.id, type, endWith(null));
  };
  put('users', '7', { email: 'ann@x.org' }, { name: 'Ann Lee' });
  put('folders', '3', {}, { name: 'Finance' });
  put(
    'dashboards',
    '42',
    {
      title: 'Sales',
      elements: [
        { query: { model: 'shop', view: 'orders' } },
        { query: { model: 'shop', view: 'orders' } },
        { look: { model: { id: '1', name: 'hr' }, explore: 'people' } },
      ],
    },
    { name: 'Sales', owner: '7', folder: '3', updatedAt: Date.parse('2026-02-01T00:00:00Z') },
  );
  put('explores', 'shop::refunds', { label: 'Refunds' }, { owner: 'Jane Other' });
  sessions.finish(session.id, 'completed', noTotals);

  const found = new Map<string, Awaited<ReturnType<typeof next>>>();
  const iterator = documentsOfVault({ file: world.path, cwd: '/', dataFolder: '/nowhere' });
  const next = async () => (await iterator.next()).value;
  for (let document = await next(); document !== undefined; document = await next())
    found.set(document.source_id, document);

  expect([...found.keys()].sort()).toEqual([
    'dashboards/42',
    'explores/shop::refunds',
    'folders/3',
    'users/7',
  ]);
  const dashboard = found.get('dashboards/42');
  expect(dashboard).toMatchObject({
    title: 'Sales',
    source_system: 'vault:acme',
    source_ts: '2026-02-01T00:00:00.000Z',
    mentions: [
      { name: 'Ann Lee', email: 'ann@x.org', type: 'person', relation: 'owner' },
      { name: 'Finance', relation: 'folder' },
      { name: 'shop', relation: 'model' },
      { name: 'shop::orders', relation: 'explore' },
      { name: 'hr', relation: 'model' },
      { name: 'hr::people', relation: 'explore' },
    ],
  });
  expect(Buffer.from(dashboard?.file.content ?? '', 'base64').toString()).toContain('"Sales"');
  expect(found.get('explores/shop::refunds')).toMatchObject({
    title: 'explores shop::refunds',
    mentions: [
      { name: 'Jane Other', relation: 'owner' },
      { name: 'shop', relation: 'model' },
      { name: 'shop::refunds', relation: 'explore' },
    ],
  });
});

it('distinguishes a folder, a model and another folder of one name, and recognizes a renamed folder', async () => {
  const { services, space } = await reader();
  const world = await vaultWorld();
  const types = ['folders', 'lookml_models', 'dashboards'];
  const { sessions } = world.vault;
  const extract = (nameOfFirst: string): void => {
    const session = sessions.open(specOf({ fresh: true, types: types.map((name) => typeNamed(name)) }));
    const put = (type: string, ...items: ReturnType<typeof itemOf>[]): void => {
      world.writer.write(session.id, pageOf(offsetRequest(0, 100, type), items), noHeader);
      sessions.finishType(session.id, type, endWith(null));
    };
    put(
      'folders',
      itemOf('1', '{}', { name: nameOfFirst }),
      itemOf('2', '{}', { name: 'Finance', folder: '1' }),
    );
    put('lookml_models', itemOf('finance', '{}', { name: 'finance' }));
    put(
      'dashboards',
      itemOf('1', '{"query":{"model":"finance"}}', { name: 'Costs', folder: '1' }),
      itemOf('2', '{"query":{"model":"finance"}}', { name: 'Taxes', folder: '2' }),
    );
    sessions.finish(session.id, 'completed', noTotals);
  };
  const entities = async () => {
    const found = await services.entities.list({ spaceId: space.spaceId, limit: 50 });
    return found
      .filter(({ contextClues }) => contextClues.length > 0)
      .map(({ canonicalName, contextClues, mentionCount, needsReview }) => ({
        canonicalName,
        clue: contextClues.join('; ').replace(/^source id: looker \S+#/, ''),
        mentionCount,
        needsReview,
      }))
      .sort((a, b) => (a.clue < b.clue ? -1 : 1));
  };
  const expected = [
    { canonicalName: 'Finance', clue: 'folder/1', mentionCount: 3, needsReview: false },
    { canonicalName: 'Finance', clue: 'folder/2', mentionCount: 2, needsReview: false },
    { canonicalName: 'finance', clue: 'model/finance', mentionCount: 3, needsReview: false },
  ];
  extract('Finance');
  await ingestVault(services, space, world.path);
  expect(await entities()).toEqual(expected);
  extract('Controlling');
  await ingestVault(services, space, world.path);
  const after = await entities();
  expect(after.map(({ clue }) => clue)).toEqual(expected.map(({ clue }) => clue));
});
