// Generated meeting minutes with decisions, commitments and risks that rules recognize.
import type { Random } from '../../src/core/index.ts';
import { seededRandom } from '../../src/core/index.ts';
import type { GeneratedDocument } from './corpus.ts';

const given =
  'Alice Bob Carol David Emma Frank Grace Henry Irene James Karen Laura Martin Nadia Oscar Paula Quentin Rachel Samuel Teresa Ulrich Vera Walter Xenia Yusuf Zoe Aisha Boris Chiara Diego Elena Farid'.split(
    ' ',
  );
const family =
  'Abbott Brisk Castellan Dupree Eklund Farrow Galvez Hadley Ivers Jansen Kowal Lindqvist Mercer Nakata Okafor Pruitt Quist Rosetti Sandoval Tremblay Umar Vance Whitlock Xiong Yardley Zeller Amari Bellweather Corwin Draper Engel Fontaine Granger Holt Ibarra Juarez Kessler Lomax Madsen Norwood Ostrow Pell Quade Ridley Stroud Tilden Usher Voss Wexler Yates Zorn Ashby Birch Colby Danforth Easton Fenwick Garner Hollis Irving Keller Langley'.split(
    ' ',
  );
const things = 'billing reporting search ingest payment onboarding inventory ledger catalog portal'.split(
  ' ',
);
const names =
  'Beacon Atlas Harbor Juniper Lantern Meridian Orchid Pinnacle Quarry Summit Timber Willow'.split(' ');
const firms = 'Northwind Contoso Fabrikam Tailspin Litware Proseware Wingtip Adatum Lucerne Humongous'.split(
  ' ',
);
const endings = 'Corp Labs Group Systems Partners'.split(' ');
const teamCount = 250;
const teamSize = 8;

interface Team {
  readonly people: readonly string[];
  readonly firm: string;
  readonly project: string;
}

/** The same seed returns the same minutes. About 120 words each; six people, a company and a project on average. */
export class GeneratedMinutes {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  #below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  #of(list: readonly string[]): string {
    return list[this.#below(list.length)] ?? '';
  }

  document(): GeneratedDocument {
    const { people, firm, project } = teamOf(this.#below(teamCount));
    const who = () => this.#of(people);
    const thing = () => this.#of(things);
    const day = () => `March ${1 + this.#below(28)}`;
    const sentences = [
      () => `${who()} decided to move the ${thing()} service to ${project} on ${day()}.`,
      () => `${who()} promised to send the figures of the ${thing()} team to ${who()} by ${day()}.`,
      () => `${who()} is worried that the ${thing()} queue may fail under the load we expect next quarter.`,
      () => `We finished the ${thing()} migration yesterday, and the tests passed on the first attempt.`,
      () => `${firm} asked for a preview of the ${thing()} page before the contract is renewed.`,
      () => `${who()} and ${who()} met with ${firm} and discussed how the ${thing()} data should be kept.`,
      () => `The ${thing()} budget was cut by a tenth, so two of the planned features have to wait.`,
      () => `${who()} suggested that the ${thing()} report be written by a person outside of the team.`,
    ];
    const lines = Array.from({ length: 8 }, () => sentences[this.#below(sentences.length)]?.() ?? '');
    return { title: `${project}, ${day()}`, text: lines.join(' ') };
  }
}

function teamOf(number: number): Team {
  const pick = (list: readonly string[], at: number): string => list[at % list.length] ?? '';
  const people = Array.from({ length: teamSize }, (_, index) => {
    const at = number * teamSize + index;
    return `${pick(given, at)} ${pick(family, Math.floor(at / given.length))}`;
  });
  return {
    people,
    firm: `${pick(firms, number)} ${pick(endings, Math.floor(number / firms.length))}`,
    project: `Project ${pick(names, number)}`,
  };
}
