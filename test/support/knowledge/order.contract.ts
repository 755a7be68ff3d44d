// The entities of a set of documents depend neither on their order nor on how many are read at the same time (T5).
import { expect, it } from 'vitest';
import type { Random } from '../../../src/core/index.ts';
import { seededRandom } from '../../../src/core/index.ts';
import type { MentionInput } from '../entity-world.ts';
import { entityWorld } from '../entity-world.ts';
import type { KnowledgeWorld } from '../knowledge-world.ts';

/** Each is shared by three families. Of more than 20 people with one given name, the search for candidates finds 20. */
const givenNames = 'Ingrid Tobias Marisol Desmond Yvette Callum Henrike Rafael'.split(' ');

/** Documents of one family: a person under several names, and others who may not be joined with them. */
function familyOf(index: number): readonly (readonly MentionInput[])[] {
  const given = givenNames[Math.floor(index / 3) % givenNames.length] ?? '';
  const surname = `Q${'aeiou'[index % 5]}${'lmnrst'[index % 6]}${'aeiou'[(index * 3) % 5]}nd${'aeo'[index % 3]}v`;
  const organization = `${surname} Mills`;
  return [
    [`${given} ${surname}`],
    [`${surname}, ${given}`],
    [{ name: `${given} ${surname}`, organization }],
    [`Dr. ${given} ${surname}`],
    // Clear only together with the company; otherwise it may be another person.
    [{ name: `${given.slice(0, 1)}. ${surname}`, organization }],
    // A person has to decide about these.
    [`${given} ${surname} Jr.`],
    [`${given} B. ${surname}`],
    [`${given} Boris ${surname}`, `${given} ${surname}`],
    [{ name: `${given} Konrad ${surname}`, organization }],
    [`${given} Konrad ${surname}`, `${given} ${surname}`],
    [given],
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

/** Which names are one entity, and between which entities pairs are open. */
async function resultOf(
  world: KnowledgeWorld,
  documents: readonly (readonly MentionInput[])[],
  concurrency: number,
) {
  const space = await world.space();
  const resolvers = Array.from({ length: concurrency }, () => entityWorld(world));
  const [first] = resolvers;
  if (!first) throw new TypeError('There is no resolver.');
  const left = [...documents];
  const found: { label: string; id: string }[] = [];
  await Promise.all(
    resolvers.map(async (at) => {
      for (let mentions = left.shift(); mentions !== undefined; mentions = left.shift()) {
        const { ids, place } = await at.read(space, mentions);
        await at.repairs.reconcile(place, at.signal);
        for (const [index, mention] of mentions.entries())
          found.push({ label: labelOf(mention), id: ids[index] ?? '' });
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

interface OrderCase {
  readonly families: number;
  /** Documents read at the same time; each in an order of its own. */
  readonly concurrencies: readonly number[];
  readonly seed: number;
}

export function testOrder(worldOf: () => KnowledgeWorld, { families, concurrencies, seed }: OrderCase): void {
  it(`are the same for every permutation of ${families} families, one or many at a time`, async () => {
    const random = seededRandom(seed);
    const documents = Array.from({ length: families }, (_, index) => familyOf(index)).flat();
    const expected = await resultOf(worldOf(), documents, 1);
    expect(expected.entities).toHaveLength(6 * families);
    expect(expected.pairs.length).toBeGreaterThanOrEqual(6 * families);
    for (const concurrency of concurrencies)
      expect(
        await resultOf(worldOf(), shuffled(documents, random), concurrency),
        `${concurrency} at a time`,
      ).toEqual(expected);
  });
}
