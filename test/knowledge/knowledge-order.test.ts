// The entities of a set of documents depend neither on their order nor on how many are read at the same time (T5).
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Random } from '../../src/core/index.ts';
import { seededRandom } from '../../src/core/index.ts';
import type { MentionInput } from '../support/entity-world.ts';
import { entityWorld } from '../support/entity-world.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

const givenNames = ['Ingrid', 'Tobias', 'Marisol', 'Desmond', 'Yvette', 'Callum', 'Henrike', 'Rafael'];

/** Mentions of one family: a person under several names, and others who may not be joined with them. */
function familyOf(index: number): readonly MentionInput[] {
  const given = givenNames[index % givenNames.length] ?? '';
  const surname = `Q${'aeiou'[index % 5]}${'lmnrst'[index % 6]}${'aeiou'[(index * 3) % 5]}nd${'aeo'[index % 3]}v`;
  const organization = `${surname} Mills`;
  return [
    `${given} ${surname}`,
    `${surname}, ${given}`,
    { name: `${given} B. ${surname}`, organization },
    `Dr. ${given} ${surname}`,
    // Clear only together with the company.
    { name: `${given.slice(0, 1)}. ${surname}`, organization },
    // For a person to decide.
    `${given} ${surname} Jr.`,
    given,
  ];
}

const labelOf = (mention: MentionInput): string => (typeof mention === 'string' ? mention : mention.name);

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  for (let index = left.length - 1; index > 0; index--) {
    const other = Math.floor(random.next() * (index + 1));
    [left[index], left[other]] = [left[other] as T, left[index] as T];
  }
  return left;
}

describe('entities of documents in any order and number at a time', () => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld('server');
  });
  afterAll(() => world.dispose());

  /** Which names are one entity, and between which entities pairs are open. */
  async function resultOf(mentions: readonly MentionInput[], concurrency: number) {
    const space = await world.space();
    const resolvers = Array.from({ length: concurrency }, () => entityWorld(world));
    const [first] = resolvers;
    if (!first) throw new TypeError('There is no resolver.');
    const left = [...mentions];
    const found: { label: string; id: string }[] = [];
    await Promise.all(
      resolvers.map(async (at) => {
        for (let mention = left.shift(); mention !== undefined; mention = left.shift()) {
          const { ids, place } = await at.read(space, [mention]);
          await at.repairs.reconcile(place, at.signal);
          found.push({ label: labelOf(mention), id: ids[0] ?? '' });
        }
      }),
    );
    const live = new Map<string, string>();
    for (const { id } of found) live.set(id, (await first.service.get(space, id)).entityId);
    const labels = new Map(
      [...Map.groupBy(found, ({ id }) => live.get(id) ?? '')].map(([id, all]) => [
        id,
        all
          .map(({ label }) => label)
          .sort()
          .join(' = '),
      ]),
    );
    const pairs = await first.service.review(space, 1_000);
    return {
      entities: [...labels.values()].sort(),
      pairs: pairs
        .map(({ a, b }) =>
          [a, b]
            .map(({ entityId }) => labels.get(entityId) ?? '')
            .sort()
            .join(' ? '),
        )
        .sort(),
    };
  }

  it('are the same for every permutation, one or many at a time', async () => {
    const random = seededRandom(271);
    const mentions = Array.from({ length: 6 }, (_, index) => familyOf(index)).flat();
    const expected = await resultOf(mentions, 1);
    expect(expected.entities).toHaveLength(18);
    expect(expected.pairs).toHaveLength(18);
    for (const concurrency of [1, 4, 12])
      expect(await resultOf(shuffled(mentions, random), concurrency), `${concurrency} at a time`).toEqual(
        expected,
      );
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
