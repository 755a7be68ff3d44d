// The entities of a set of documents depend neither on their order nor on how many are read at the same time (T5).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entityWorld } from '../support/entity-world.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';
import { resultOf, testOrder } from '../support/knowledge/order.contract.ts';

describe('entities of documents in any order and number at a time', () => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld('server');
  });
  afterAll(() => world.dispose());

  testOrder(() => world, { families: 6, concurrencies: [1, 4, 12], seed: 271 });

  it.each([
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ])('keep a short form of a name within its document: %i %i %i', async (...order) => {
    const documents = [
      ['Otto Karl Brandt', 'Otto Brandt'],
      ['Otto Emil Brandt', 'Otto Brandt'],
      ['Otto Brandt'],
    ];
    const space = await world.space();
    const at = entityWorld(world);
    for (const index of order) {
      const { place } = await at.read(space, documents[index] ?? []);
      await at.repairs.reconcile(place, at.signal);
    }
    const people = await at.service.list({ spaceId: space.spaceId, limit: 100 });
    expect(people.map(({ canonicalName }) => canonicalName).sort()).toEqual([
      'Otto Brandt',
      'Otto Emil Brandt',
      'Otto Karl Brandt',
    ]);
    // Otto Brandt of the third document with each of the two, which contradict each other.
    expect(await at.service.review(space, 10)).toHaveLength(2);
  });

  it.each([
    [
      'none that a company contradicts',
      [
        [{ name: 'Nora Vance Jr.', organization: 'Acme' }],
        ['Nora Vance'],
        [{ name: 'Nora Vance', organization: 'Globex' }],
      ],
      0,
    ],
    [
      'one between names of one document',
      [['Nora Vanse'], ['Nora Vanse', { name: 'Norah Vance', organization: 'Acme' }]],
      1,
    ],
  ])('have the same pairs in every order: %s', async (_, documents, pairs) => {
    const orders = documents.map((__, first) => [...documents.slice(first), ...documents.slice(0, first)]);
    for (const order of [...orders, ...orders.map((one) => one.toReversed())]) {
      const space = await world.space();
      const at = entityWorld(world);
      for (const document of order) {
        const { place } = await at.read(space, document);
        await at.repairs.reconcile(place, at.signal);
      }
      expect(await at.service.review(space, 10), JSON.stringify(order)).toHaveLength(pairs);
    }
  });

  it.each([
    ['one of them again', ['Nora Kate Vance', 'Acme', 'Globex'], ['Globex']],
    ['the longer name again', ['Globex', 'Acme', 'Nora Kate Vance'], ['Nora Kate Vance']],
  ])(
    'leave a longer name apart from two who contradict each other in its document: %s',
    async (_, ...documents) => {
      const read = documents.map((names) =>
        names.map((name) => (name.includes(' ') ? name : { name: 'Nora Vance', organization: name })),
      );
      for (const order of [read, read.toReversed(), read.map((one) => one.toReversed())])
        expect(await resultOf(world, order, 1), JSON.stringify(order)).toMatchObject({
          entities: [
            expect.stringMatching(/^Nora Kate Vance( = Nora Kate Vance)?$/),
            'Nora Vance of Acme',
            expect.stringMatching(/^Nora Vance of Globex( = Nora Vance of Globex)?$/),
          ],
          pairs: [expect.stringContaining('Acme'), expect.stringContaining('Globex')],
        });
    },
  );

  it('resolve a given name in its document, however many others have it', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    const people = Array.from(
      { length: 45 },
      (_, index) => `Otto ${'abcdefghi'[index % 9]}${'uvwxy'[index % 5]}rrand`,
    );
    for (const name of people) await at.read(space, [name]);
    for (const name of people) {
      const { ids } = await at.read(space, ['Otto', name]);
      expect(ids[0], name).toBe(ids[1]);
    }
  });

  it('lose no match between names that are written at the same time', async () => {
    const space = await world.space();
    const surnames =
      'Abernathy Brzezinski Castellan Drummond Eisenhart Fitzwarren Grimaldi Hollister Iverson Jankowski'.split(
        ' ',
      );
    await Promise.all(
      surnames.flatMap((surname) =>
        ['Robert', 'Bob', 'R.'].map((given) => entityWorld(world).read(space, [`${given} ${surname}`])),
      ),
    );
    const at = entityWorld(world);
    const names = (await at.service.list({ spaceId: space.spaceId, limit: 100 })).map(
      ({ canonicalName, aliases }) => [canonicalName, ...aliases].sort().join(' = '),
    );
    expect(names.sort()).toEqual(
      surnames.flatMap((surname) => [`Bob ${surname} = Robert ${surname}`, `R. ${surname}`]).sort(),
    );
    expect(await at.service.review(space, 100)).toHaveLength(surnames.length);
  });
});
