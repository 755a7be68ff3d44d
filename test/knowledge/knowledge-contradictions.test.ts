// No automatic step joins two entities that contradict each other (T5): ingest, repair, backfill and models.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Space } from '../../src/knowledge/index.ts';
import { entityWorld, mentionOf, noModel, placeIn, ScriptedModel } from '../support/entity-world.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld, wordEmbedder } from '../support/knowledge-world.ts';

const saysSame = JSON.stringify({ decision: 'same', candidate: 1, canonical_name: '', reason: 'It is.' });
const brokenEmbedder = {
  ...wordEmbedder(),
  embed: () => Promise.reject(new Error('The embedder is down.')),
};

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await knowledgeWorld();
});
afterAll(() => world.dispose());

const entitiesOf = (at: ReturnType<typeof entityWorld>, { spaceId }: Space) =>
  at.service.list({ spaceId, limit: 100 });

describe('the repair of entities without vectors', () => {
  it('keeps two people apart who were once called by the same part of their names (T5)', async () => {
    const space = await world.space();
    const down = entityWorld(world, { embedder: brokenEmbedder });
    const { ids } = await down.read(space, ['Ines Duarte', 'Ines Varga']);
    await down.read(space, [{ name: 'Ines Duarte', as: 'Ines' }, 'Ines Duarte']);
    await down.read(space, ['Ines', 'Ines Duarte']);
    const up = entityWorld(world, { embedder: wordEmbedder() });
    for (const id of ids) await up.repairs.retry('embedding-missing', id, up.signal);
    const left = await entitiesOf(up, space);
    expect(left.map(({ canonicalName }) => canonicalName).sort()).toEqual(['Ines Duarte', 'Ines Varga']);
    expect(left.flatMap(({ aliases }) => aliases)).toEqual(['Ines']);
  });

  it.each([
    ['Otis Penrose Jr.', 'Otis Penrose Sr.'],
    ['Otis Penrose Jr.', 'Otis Penrose'],
    ['Walter James Hobbs', 'Walter Kevin Hobbs'],
    ['Mr. Farnham', 'Mrs. Farnham'],
    ['Jordan Lee', 'Lee Jordan'],
    ['Sam Whitlock', 'Samantha Whitlock'],
    ['Jack Whitlock', 'John Whitlock'],
    ['Rose Whitlock', 'Rosemary Whitlock'],
    ['Otis Penrose V', 'Otis Penrose'],
    ['Otis Penrose the Third', 'Otis Penrose 4th'],
    ['Sister Evelyn Marsh', 'Brother Evelyn Marsh'],
    ['Ann Varga-Brandt', 'Ann Varga'],
  ])('keeps %s and %s apart, in one document and in two', async (a, b) => {
    for (const documents of [[[a, b]], [[a], [b]]]) {
      const space = await world.space();
      const down = entityWorld(world, { embedder: brokenEmbedder });
      const clues = { email: 'office@penrose.example', organization: 'Penrose Mills' };
      for (const names of documents)
        await down.read(space, [...names.map((name) => ({ name, ...clues })), 'Olga Brandt', 'Tomas Varga']);
      const up = entityWorld(world, { embedder: wordEmbedder(), model: new ScriptedModel(saysSame) });
      for (const { entityId } of await entitiesOf(up, space))
        await up.repairs.retry('embedding-missing', entityId, up.signal);
      await up.repairs.confirmOpenPairs(100, up.signal);
      expect((await entitiesOf(up, space)).length).toBe(4);
    }
  });
});

describe('a document with two people of one name', () => {
  it('keeps them apart when an entity known by that name only fits both (T5)', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    const [bare] = (await at.read(space, ['Ines Duarte'])).ids;
    const { ids } = await at.read(space, [
      { name: 'Ines Duarte', organization: 'Penrose Mills' },
      { name: 'Ines Duarte', organization: 'Hollow Creek' },
    ]);
    expect(ids[0]).toBe(bare);
    expect(ids[1]).not.toBe(bare);
  });

  it('keeps all that its mentions add to one entity', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    const [id = ''] = (await at.read(space, ['Ines Duarte'])).ids;
    await at.read(space, [
      { name: 'Ines Duarte', organization: 'Penrose Mills' },
      { name: 'Ines Duarte', email: 'ines.duarte@penrosemills.example' },
    ]);
    expect(await at.service.get(space, id)).toMatchObject({
      organization: 'Penrose Mills',
      email: 'ines.duarte@penrosemills.example',
    });
  });
});

describe('a model that confirms everything', () => {
  it('is not called for contradicting names, which stay a pair for a person', async () => {
    const space = await world.space();
    const model = new ScriptedModel(saysSame);
    const at = entityWorld(world, { model });
    const [jordan] = (await at.read(space, ['Jordan Lee'])).ids;
    const { results } = await at.read(space, ['Lee Jordan', 'Walter James Hobbs']);
    await at.read(space, ['Walter Kevin Hobbs']);
    expect(model.questions).toEqual([]);
    expect(results[0]).toMatchObject({ isNew: true, uncertainMatch: jordan });
    expect(await at.service.review(space, 10)).toMatchObject([
      { state: 'open', reason: 'Only a person can decide: given name and surname are swapped.' },
    ]);
    expect(await at.repairs.confirmOpenPairs(100, at.signal)).toBe(0);
    expect(model.questions).toEqual([]);
  });

  it('is not offered a namesake of another document by the repair of a given name', async () => {
    const space = await world.space();
    const without = entityWorld(world, { model: noModel });
    const place = await placeIn(world, space);
    const resolve = async (name: string) =>
      (await without.resolver.resolve([mentionOf(name)], place, 'admin', without.signal))[0]?.entityId ?? '';
    const given = await resolve('Ines');
    await without.read(space, ['Ines Varga']);
    const duarte = await resolve('Ines Duarte');
    const saysSecond = JSON.stringify({
      decision: 'same',
      candidate: 2,
      canonical_name: '',
      reason: 'It is.',
    });
    const model = new ScriptedModel(saysSecond);
    const at = entityWorld(world, { model });
    await at.repairs.retry('uncertain', given, at.signal);
    expect(JSON.stringify(model.questions)).not.toContain('Varga');
    expect([given, duarte]).toContain((await at.service.get(space, given)).entityId);
  });

  it('is not called for pairs that were left open before the contradiction was known', async () => {
    const space = await world.space();
    const without = entityWorld(world, { model: noModel });
    const [otis = ''] = (await without.read(space, ['Otis Penrose'])).ids;
    const [initial = ''] = (await without.read(space, ['O. Penrose'])).ids;
    // Since then each side got a name that contradicts the other.
    for (const [id, name] of [
      [otis, 'Otis Penrose Sr.'],
      [initial, 'Otis Penrose Jr.'],
    ] as const) {
      const [made = ''] = (await without.read(space, [{ name, organization: id }])).ids;
      await without.service.merge(space, id, made, 'a test', 'admin');
    }
    const model = new ScriptedModel(saysSame);
    const at = entityWorld(world, { model });
    await at.repairs.confirmOpenPairs(100, at.signal);
    expect(model.questions).toEqual([]);
    expect(await entitiesOf(at, space)).toHaveLength(2);
    await at.repairs.confirmOpenPairs(100, at.signal);
  });
});

describe('an automatic merge', () => {
  it('fails when a contradiction was written while it was decided', async () => {
    const space = await world.space();
    const without = entityWorld(world);
    const [walter = ''] = (await without.read(space, ['Walter James Hobbs'])).ids;
    const [initial = ''] = (await without.read(space, ['W. Hobbs'])).ids;
    const [other = ''] = (await without.read(space, ['Walter Kevin Hobbs'])).ids;
    const meanwhile = new ScriptedModel(saysSame);
    const complete = meanwhile.complete.bind(meanwhile);
    meanwhile.complete = async (request) => {
      await without.service.merge(space, other, initial, 'Meanwhile.', 'admin').catch(() => undefined);
      return complete(request);
    };
    const at = entityWorld(world, { model: meanwhile });
    await at.repairs.confirmOpenPairs(100, at.signal);
    expect((await at.service.get(space, walter)).entityId).not.toBe(
      (await at.service.get(space, other)).entityId,
    );
  });
});

describe('a given name alone', () => {
  it('in another document is an entity of its own, flagged, also with shared company and model (T5)', async () => {
    const space = await world.space();
    const model = new ScriptedModel(saysSame);
    const at = entityWorld(world, { model });
    const clues = { organization: 'Hollow Creek Mills', role: 'Director' };
    const around = ['Olga Brandt', 'Tomas Varga', 'Luke Castellan'];
    const [ines] = (await at.read(space, [{ name: 'Ines Duarte', ...clues }, ...around])).ids;
    const { results } = await at.read(space, [{ name: 'Ines', ...clues }, ...around]);
    expect(results[0]).toMatchObject({ isNew: true, uncertainMatch: ines });
    expect(await at.service.get(space, results[0]?.entityId ?? '')).toMatchObject({ needsReview: true });
    const third = await at.read(space, [{ name: 'Ines', ...clues }, ...around]);
    expect(third.results[0]).toMatchObject({ isNew: true });
    expect(model.questions).toEqual([]);
    // In the same document it is the one that the document names.
    const { ids } = await at.read(space, [{ name: 'Ines Duarte', ...clues }, 'Ines']);
    expect(ids).toEqual([ines, ines]);
  });
});

/** All orders of three. */
const orders = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

describe.each([
  ['a double surname', ['Ann Smith-Jones', 'Ann Jones', 'Ann Smith']],
  ['two middle names', ['Robert Smith', 'Robert Kevin Smith', 'Robert James Smith']],
  ['an abbreviated middle name', ['Robert J. Smith', 'Robert John Smith', 'Robert James Smith']],
])('documents with %s', (_, names) => {
  it.each(orders)(
    'join no two that contradict, and leave them for review (T5): %i %i %i',
    async (...order) => {
      const space = await world.space();
      const at = entityWorld(world);
      for (const index of order)
        await at.read(space, [
          { name: names[index] ?? '', organization: 'Acme' },
          'Olga Brandt',
          'Tomas Varga',
        ]);
      const people = (await entitiesOf(at, space)).filter(({ canonicalName }) =>
        /Ann|Robert/.test(canonicalName),
      );
      const [, one = '', other = ''] = names;
      for (const { canonicalName, aliases } of people)
        expect([canonicalName, ...aliases]).not.toEqual(expect.arrayContaining([one, other]));
      expect(people.some(({ needsReview }) => needsReview)).toBe(true);
    },
  );
});
