// People and companies with variants of their names, generated from a seed: a data set without license restrictions.
import type { Random } from '../../src/core/index.ts';
import type { ContextClues, EntityType } from '../../src/knowledge/reading/types.ts';

/** One variant of a name, and the person or company it belongs to. */
export interface NameRecord {
  readonly truth: string;
  readonly type: EntityType;
  readonly name: string;
  readonly clues: ContextClues;
}

const given =
  'Alice Andrew Anna Benjamin Carlos Catherine Charles Christopher Daniel David Deborah Edward Elena Elizabeth Emma Fatima Frederick Gabriel Grace Gregory Hannah Henrik Irene Isabella Jacob James Jennifer Jonas Joseph Joshua Julia Katherine Kenneth Laura Lawrence Leonard Lucas Margaret Maria Martin Matthew Michael Mohammed Natalie Nicholas Nina Oliver Oscar Patricia Patrick Peter Priya Rachel Rafael Rebecca Richard Robert Ronald Samuel Sarah Sofia Stephen Susan Theodore Thomas Timothy Valerie Victoria Vincent William Xiao Yuki Zachary Zoë René José'.split(
    ' ',
  );
const surnames =
  'Abbott Adams Andersen Anderson Baker Bauer Bennett Berg Brooks Carter Chen Clark Cohen Cooper Costa Davis Delgado Diaz Edwards Evans Fischer Fletcher Garcia Gomez Graham Gupta Hansen Harris Hoffman Hughes Ito Jackson Jensen Johansson Johnson Johnston Kaplan Kim Kowalski Kumar Larsen Lee Lopez Martin Martinez Mendoza Meyer Miller Mitchell Moore Morgan Müller Murphy Nakamura Nelson Nguyen Novak O’Brien Okafor Olsen Park Parker Patel Pereira Petersen Peterson Phillips Reed Richardson Rivera Robinson Rossi Russell Sanders Schmidt Schneider Silva Singh Smith Stewart Sullivan Suzuki Tanaka Taylor Thompson Torres Turner Vandenberg Vasquez Wagner Walker Wallace Watanabe Weber Williams Wilson Wong Wright Yamamoto Young Zhang Zimmermann'.split(
    ' ',
  );
const companyWords =
  'Northwind Bluestone Silverline Redwood Ironbridge Clearwater Brightpath Oakfield Summit Harbor Lakeshore Evergreen Pinnacle Vertex Quantum Stellar Horizon Cascade Granite Meridian Falcon Sterling Beacon Apex Cobalt'.split(
    ' ',
  );
const companyKinds = 'Systems Analytics Capital Logistics Foods Robotics Health Energy Media Partners'.split(
  ' ',
);
const forms = ['Corp', 'Inc', 'Ltd', 'GmbH', 'LLC'];
const longForms: Readonly<Record<string, string>> = {
  Corp: 'Corporation',
  Inc: 'Incorporated',
  Ltd: 'Limited',
};
const roles = ['Engineer', 'Product Manager', 'Designer', 'Analyst', 'Director', 'Accountant', 'Counsel'];

class Draw {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  shuffled<T>(items: readonly T[]): readonly T[] {
    return items
      .map((item) => ({ item, at: this.#random.next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }

  /** A letter omitted, doubled, replaced or transposed, never the first. */
  slip(word: string): string {
    if (word.length < 4) return word;
    const at = 1 + this.below(word.length - 2);
    const [before, here, next, after] = [word.slice(0, at), word[at], word[at + 1], word.slice(at + 2)];
    return this.of([
      before + next + after,
      before + here + here + next + after,
      before + next + here + after,
      before + this.of('aeioustrn'.split('')) + next + after,
    ]);
  }
}

interface Person {
  readonly truth: string;
  readonly first: string;
  readonly last: string;
  readonly company: string;
  readonly role: string;
  readonly email: string;
  /** A variant that equals another person's name: indistinguishable without context. */
  readonly isNamesake: boolean;
}

/** `nicknames`: short forms by given name in lower case, in addition to those built into resolution. */
export function generateNames(
  random: Random,
  counts: { readonly people: number; readonly companies: number },
  nicknames: ReadonlyMap<string, readonly string[]>,
): readonly NameRecord[] {
  const draw = new Draw(random);
  const companies = makeCompanies(draw, counts.companies);
  const people = makePeople(
    draw,
    counts.people,
    companies.map(({ name }) => name),
  );
  return draw.shuffled([
    ...people.flatMap((person) => personRecords(draw, person, nicknames)),
    ...companies.flatMap((company) => companyRecords(draw, company)),
  ]);
}

interface Company {
  readonly truth: string;
  readonly name: string;
  readonly form: string;
}

function makeCompanies(draw: Draw, count: number): readonly Company[] {
  const names = draw.shuffled(companyWords.flatMap((word) => companyKinds.map((kind) => `${word} ${kind}`)));
  return names
    .slice(0, count)
    .map((name, index) => ({ truth: `company-${index}`, name, form: draw.of(forms) }));
}

/** One in ten has a namesake elsewhere, one in ten a relative with the same first initial. */
function makePeople(draw: Draw, count: number, companies: readonly string[]): readonly Person[] {
  const people: Person[] = [];
  const taken = new Set<string>();
  while (people.length < count) {
    const model = people.at(-1);
    const isNamesake = model !== undefined && draw.chance(0.1);
    const isRelative = model !== undefined && !isNamesake && draw.chance(0.1);
    const first = isNamesake
      ? model.first
      : isRelative
        ? draw.of(given.filter((name) => name[0] === model.first[0]))
        : draw.of(given);
    const last = isNamesake || isRelative ? model.last : draw.of(surnames);
    const company = draw.of(companies);
    const email = `${plain(first)}.${plain(last)}@${plain(company)}.com`;
    // A name that exists already by chance would be indistinguishable.
    if (taken.has(email) || (!isNamesake && taken.has(`${first} ${last}`))) continue;
    taken.add(email).add(`${first} ${last}`);
    people.push({
      truth: `person-${people.length}`,
      first,
      last,
      company,
      role: draw.of(roles),
      email,
      isNamesake,
    });
  }
  const names = people.map(({ first, last }) => `${first} ${last}`);
  return people.map((person, index) => ({
    ...person,
    isNamesake: names.some((name, other) => other !== index && name === names[index]),
  }));
}

const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/[^a-z]/gi, '')
    .toLowerCase();

function personRecords(
  draw: Draw,
  person: Person,
  nicknames: ReadonlyMap<string, readonly string[]>,
): readonly NameRecord[] {
  const { first, last, truth, company, role, email, isNamesake } = person;
  const short = nicknames.get(first.toLowerCase()) ?? [];
  const ways = [
    `${first} ${last}`,
    `${last}, ${first}`,
    `${first} ${last}`.toUpperCase(),
    `${first} ${last}`.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, ''),
    `Dr. ${first} ${last}`,
    `${first[0]}. ${last}`,
    `${draw.slip(first)} ${last}`,
    `${first} ${draw.slip(last)}`,
    ...(short.length > 0 ? [`${capital(draw.of(short))} ${last}`] : []),
    email,
    `@${plain(first)}.${plain(last)}`,
  ];
  return draw
    .shuffled(ways)
    .slice(0, 5)
    .map((name) => ({
      truth,
      type: 'person',
      name,
      clues: {
        ...(draw.chance(0.6) || isNamesake ? { organization: company } : {}),
        ...(draw.chance(0.35) ? { email } : {}),
        ...(draw.chance(0.4) ? { role } : {}),
      },
    }));
}

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

function companyRecords(draw: Draw, { truth, name, form }: Company): readonly NameRecord[] {
  const ways = [
    `${name} ${form}`,
    `${name} ${longForms[form] ?? form}`,
    `${name}, ${form}.`,
    name,
    name.toUpperCase(),
    `The ${name}`,
    name.replace(' ', ''),
    draw.slip(name),
  ];
  return draw
    .shuffled(ways)
    .slice(0, 4)
    .map((way) => ({ truth, type: 'organization', name: way, clues: {} }));
}
