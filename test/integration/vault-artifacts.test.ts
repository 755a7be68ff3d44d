// Items of a vault as documents for knowledge: owners, folders, models and explores need no reading.
import { expect, it } from 'vitest';
import { documentsOfVault } from '../../src/app/vault-artifacts.ts';
import {
  itemOf,
  noHeader,
  noTotals,
  offsetRequest,
  pageOf,
  specOf,
  typeNamed,
  vaultWorld,
} from '../support/vault-world.ts';

it('gives every live item with the names that its source knows', async () => {
  const world = await vaultWorld();
  const types = ['dashboards', 'explores', 'folders', 'users'];
  const { sessions } = world.vault;
  const session = sessions.open(specOf({ fresh: true, types: types.map((name) => typeNamed(name)) }));
  const put = (type: string, id: string, data: object, parts: object = {}): void => {
    const page = pageOf(offsetRequest(0, 100, type), [itemOf(id, JSON.stringify(data), parts)]);
    world.writer.write(session.id, page, noHeader);
    sessions.finishType(session.id, type, null);
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
  put('explores', 'shop::refunds', { label: 'Refunds' }, { owner: 'Somebody Else' });
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
      { name: 'orders', relation: 'explore' },
      { name: 'hr', relation: 'model' },
      { name: 'people', relation: 'explore' },
    ],
  });
  expect(Buffer.from(dashboard?.file.content ?? '', 'base64').toString()).toContain('"Sales"');
  expect(found.get('explores/shop::refunds')).toMatchObject({
    title: 'explores shop::refunds',
    mentions: [
      { name: 'Somebody Else', relation: 'owner' },
      { name: 'shop', relation: 'model' },
      { name: 'refunds', relation: 'explore' },
    ],
  });
});
