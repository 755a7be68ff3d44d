// The entities of a set of documents depend neither on their order nor on how many are read at the same time (T5).
import { expect, it } from 'vitest';
import type { Random } from '../../../src/core/index.ts';
import { seededRandom } from '../../../src/core/index.ts';
import { sql } from '../../../src/platform/postgres/index.ts';
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

const surnames =
  'Abernathy Brzezinski Castellan Drummond Eisenhart Fitzwarren Grimaldi Hollister Iverson Jankowski'.split(
    ' ',
  );

/** Documents in which one name belongs to several people or companies, and is mentioned without anything else as well. */
const namesakes: readonly ((given: string, surname: string) => readonly (readonly MentionInput[])[])[] = [
  function byEmployer(given, surname) {
    const name = `${given} ${surname}`;
    const at = (organization: string) => ({ name, organization });
    return [
      ...['Acme', 'Globex', 'Initech'].flatMap((organization) => [[at(organization)], [at(organization)]]),
      [name],
      [`${surname}, ${given}`],
      // Its parts belong to the name of their document.
      [`Dr. ${given} ${surname}`, given, 'Olga Brandt'],
      // One of them by its document, which names no other.
      [at('Globex'), name],
      [name, at('Initech')],
      // Any of the two.
      [at('Acme'), at('Globex'), name],
    ];
  },
  function byMail(given, surname) {
    const name = `${given} ${surname}`;
    return [
      [{ name, email: `${given}.${surname}@acme.example` }],
      [{ name, email: `${given}.${surname}@globex.example` }],
      [{ name, organization: 'Globex' }],
      [name],
      [name, 'Olga Brandt'],
      [{ name, role: 'Director' }],
    ];
  },
  function byLegalForm(given, surname) {
    const name = `${surname}${given.toLowerCase()}`;
    const company = (form = '') => ({ name: `${name}${form}`, type: 'organization' as const });
    return [
      ...[' AG', ' GmbH', ' SE'].flatMap((form) => [[company(form)], [company(form), 'Olga Brandt']]),
      [company()],
      [company()],
      [company(), 'Olga Brandt'],
      [company(), company(' AG')],
    ];
  },
];

const namesakesOf = (index: number): readonly (readonly MentionInput[])[] =>
  namesakes[index % namesakes.length]?.(
    givenNames[Math.floor(index / surnames.length) % givenNames.length] ?? '',
    surnames[index % surnames.length] ?? '',
  ) ?? [];

const noraOf = (...organizations: readonly string[]): readonly MentionInput[] =>
  organizations.map((organization) => ({ name: 'Nora Vance', organization }));
const noraAt = (domain: string) => ({ name: 'Nora Vance', email: `nora.vance@${domain}.example` });
const asType = (type: 'place' | 'project', ...names: readonly string[]): readonly MentionInput[] =>
  names.map((name) => ({ name, type }));

/** Mentions of one name by itself, and with what distinguishes those who have it. Each set of documents has one kind. */
const kinds: readonly (readonly MentionInput[])[] = [
  noraOf('Acme', 'Globex', 'Initech'),
  ['acme', 'globex'].map(noraAt),
  ['user/1', 'user/2', 'user/3'].map((id) => ({ name: 'Nora Vance', identity: `looker#${id}` })),
  ['Mr. Nora Vance', 'Mrs. Nora Vance'],
  [
    { name: 'Robert Vance', organization: 'Acme' },
    { name: 'Bob Vance', organization: 'Acme' },
    { name: 'Bob Vance', organization: 'Globex' },
  ],
  ['Zorvexa AG', 'Zorvexa GmbH', 'Zorvexa SE'].map((name) => ({ name, type: 'organization' })),
  // Only what becomes known later contradicts the others.
  [
    { name: 'Nora Vance Jr.', organization: 'Acme' },
    { name: 'Nora Vance', organization: 'Globex' },
  ],
  // A form of address distinguishes none of them.
  noraOf('Acme', 'Globex', 'Initech'),
  [...noraOf('Acme', 'Globex', 'Initech'), { name: 'Nora Vance Jr.', organization: 'Acme' }],
  [...noraOf('Acme', 'Globex', 'Initech'), { name: 'Nora Quill', organization: 'Acme' }],
  [...noraOf('Acme', 'Globex'), { name: 'Nora Vance', organization: 'Acme', role: 'Director' }],
  [
    ...noraOf('Acme', 'Globex'),
    noraAt('acme'),
    noraAt('globex'),
    { ...noraAt('acme'), organization: 'Acme' },
  ],
  asType('place', 'North Springfield', 'South Springfield', 'Springfield City'),
  asType('project', 'Phoenix 2', 'Phoenix 3', 'Phoenix II'),
];
const bareNames: readonly (readonly MentionInput[])[] = [
  ['Nora Vance', 'Vance, Nora', 'Nora'],
  ...kinds.slice(1, 4).map(() => ['Nora Vance', 'Vance, Nora', { name: 'Dr. Nora Vance', role: 'Director' }]),
  ['Robert Vance', 'Bob Vance'],
  ['Zorvexa', 'The Zorvexa'].map((name) => ({ name, type: 'organization' as const })),
  ['Nora Vance', 'Nora Vance Jr.', 'Nora Vance Sr.'],
  ['Nora Vance', 'Mr. Nora Vance', 'Dr. Nora Vance', 'Nora'],
  ['Nora Vance', 'Nora Vance Jr.', 'Nora Vance Sr.'],
  ['Nora Vance', 'Nora', 'Vance', 'Nora Quill'],
  ['Nora Vance', ...['Director', 'Clerk'].map((role) => ({ name: 'Nora Vance', role }))],
  ['Nora Vance'],
  asType('place', 'Springfield'),
  asType('project', 'Phoenix', 'Project Phoenix'),
];

function randomDocuments(index: number, random: Random): readonly (readonly MentionInput[])[] {
  const numberUpTo = (most: number) => 1 + Math.floor(random.next() * most);
  const mentions = [kinds, bareNames].map((all) => all[index % kinds.length] ?? []);
  return Array.from({ length: 2 + numberUpTo(6) }, () =>
    Array.from({ length: numberUpTo(3) }, () => {
      const from = mentions[numberUpTo(2) - 1] ?? [];
      return from[numberUpTo(from.length) - 1] ?? '';
    }),
  );
}

/** People who share a given name: so many that it identifies none of them, or few enough for a pair with each. */
const sharing = (given: string, count: number): readonly (readonly MentionInput[])[] => [
  ...Array.from({ length: count }, (_, index) => [
    `${given} ${surnames[index % surnames.length]}${['', 'son', 'berg'][Math.floor(index / surnames.length)]}`,
  ]),
  [given],
  [given, 'Olga Brandt'],
  [given],
];

const labelOf = (mention: MentionInput): string => {
  if (typeof mention === 'string') return mention;
  const { name, organization, email } = mention;
  return [name, organization ?? email ?? []].flat().join(' of ');
};

export function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  for (let index = left.length - 1; index > 0; index--) {
    const other = Math.floor(random.next() * (index + 1));
    [left[index], left[other]] = [left[other] as T, left[index] as T];
  }
  return left;
}

/** Which names are one entity, between which entities pairs are open, and which need a review without a pair. */
export async function resultOf(
  world: KnowledgeWorld,
  documents: readonly (readonly MentionInput[])[],
  concurrency: number,
) {
  const space = await world.space();
  const resolvers = Array.from({ length: concurrency }, () => entityWorld(world));
  const [first] = resolvers;
  if (!first) throw new TypeError('There is no resolver.');
  const left = [...documents];
  const read = new Map<string, readonly MentionInput[]>();
  await Promise.all(
    resolvers.map(async (at) => {
      for (let mentions = left.shift(); mentions !== undefined; mentions = left.shift()) {
        const positioned = mentions.map((mention, index) => ({
          ...(typeof mention === 'string' ? { name: mention } : mention),
          at: index,
        }));
        const { place } = await at.read(space, positioned);
        await at.repairs.reconcile(place, at.signal);
        read.set(place.revisionId, mentions);
      }
    }),
  );
  const { rows } = await world.database.query<{ id: string; revision: string; index: number }>(sql`
    select entity_id as id, revision_id as revision, start_char as index from entity_mention
    where space_id = ${space.spaceId}`);
  const labels = new Map(
    [...Map.groupBy(rows, ({ id }) => id)].map(([id, all]) => [
      id,
      all
        .map(({ revision, index }) => labelOf(read.get(revision)?.[index] ?? ''))
        .sort()
        .join(' = '),
    ]),
  );
  const pairs = await first.service.review(space, 1_000);
  const paired = new Set(pairs.flatMap(({ a, b }) => [a.entityId, b.entityId]));
  const waiting = await first.service.list({ spaceId: space.spaceId, needsReview: true, limit: 1_000 });
  return {
    flagged: waiting
      .filter(({ entityId }) => !paired.has(entityId))
      .map(({ entityId }) => labels.get(entityId) ?? '')
      .sort(),
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
  it(`separate what is known by its name only in ${2 * families} random sets of documents`, async () => {
    const random = seededRandom(seed);
    for (let index = 0; index < 2 * families; index++) {
      const documents = randomDocuments(index, random);
      const expected = await resultOf(worldOf(), documents, 1);
      for (const concurrency of concurrencies)
        expect(
          await resultOf(worldOf(), shuffled(documents, random), concurrency),
          `${concurrency} at a time: ${JSON.stringify(documents)}`,
        ).toEqual(expected);
    }
  });

  it('have pairs with all who share a given name, or with none when they are too many', async () => {
    const random = seededRandom(seed);
    const documents = [...sharing('Ingrid', 17), ...sharing('Tobias', 18), ...sharing('Marisol', 25)];
    const expected = await resultOf(worldOf(), documents, 1);
    expect(expected.entities).toHaveLength(17 + 18 + 25 + 3 * 3 + 1);
    // Of 17 people with each of the three that are known by the given name, and of these with each other.
    expect(expected.pairs).toHaveLength(17 * 3 + 3);
    expect(expected.flagged).toEqual([...Array(3).fill('Marisol'), ...Array(3).fill('Tobias')]);
    for (const concurrency of concurrencies)
      expect(
        await resultOf(worldOf(), shuffled(documents, random), concurrency),
        `${concurrency} at a time`,
      ).toEqual(expected);
  });

  it(`separate what is known by its name only from ${families} groups of namesakes, one or many at a time`, async () => {
    const random = seededRandom(seed);
    const groups = Array.from({ length: families }, (_, index) => namesakesOf(index));
    const documents = groups.flat();
    // The contexts first, what is known by its name only last.
    const hasContext = ([first]: readonly MentionInput[]) =>
      first && labelOf(first).includes(' of ') ? 0 : 1;
    const sorted = documents.toSorted((a, b) => hasContext(a) - hasContext(b));
    const expected = await resultOf(worldOf(), sorted, 1);
    const byKind = Map.groupBy(groups.keys(), (index) => index % namesakes.length);
    const counts = [0, 1, 2].map((kind) => byKind.get(kind)?.length ?? 0);
    // Per group one entity for each context, and one for the name.
    expect(expected.entities).toHaveLength(
      1 + [4, 3, 4].reduce((sum, size, kind) => sum + size * (counts[kind] ?? 0), 0),
    );
    // A pair of the name with each; those of companies are open for a person, too.
    expect(expected.pairs).toHaveLength(
      [3, 2, 6].reduce((sum, size, kind) => sum + size * (counts[kind] ?? 0), 0),
    );
    for (const concurrency of concurrencies)
      expect(
        await resultOf(worldOf(), shuffled(documents, random), concurrency),
        `${concurrency} at a time`,
      ).toEqual(expected);
  });

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
