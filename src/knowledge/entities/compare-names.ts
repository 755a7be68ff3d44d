// Compares two names. Points are about the log odds of being the same, calibrated on generated names.
import { isGivenName } from '../text/lexicon.ts';
import type { PersonName } from './normalize.ts';
import {
  areSameGivenName,
  companyForms,
  genericNouns,
  interchangeableForms,
  handleForms,
  isInitial,
  nameTokens,
  parsePersonName,
} from './normalize.ts';
import { editDistance, isTransposition, isTypingError, jaroWinkler } from './string-distance.ts';

type NameRelation =
  | 'same' // the same words
  | 'variant' // the same name in another form: nickname, word order, company form, generic noun
  | 'typing-error'
  | 'initials' // initials, handle or acronym
  | 'part' // one word of it
  | 'other';

export interface NameComparison {
  readonly relation: NameRelation;
  /** At least `minSamePoints`: the same unless the context contradicts. Below 0: evidence against it. */
  readonly points: number;
  readonly reason: string;
  /** Spelled differently, and two people may have these names: Johnson and Johnston, Maria and Mario. */
  readonly isOtherSpelling?: boolean;
}

export const otherName = (points: number): NameComparison => ({
  relation: 'other',
  points,
  reason: 'the names differ',
});

// Person names.

export function comparePersonNames(a: string, b: string): NameComparison {
  const own = parsePersonName(a);
  const other = parsePersonName(b);
  if (!own || !other) return otherName(-2);
  if (own.single !== null && other.single !== null) return compareSingles(own.single, other.single);
  if (own.single !== null) return compareSingle(own.single, other);
  if (other.single !== null) return compareSingle(other.single, own);
  return compareFull(own, other);
}

function compareSingles(a: string, b: string): NameComparison {
  if (a === b) return { relation: 'same', points: 4, reason: 'the same single name' };
  if (areSameGivenName(a, b))
    return { relation: 'variant', points: 2, reason: 'a short form of a given name' };
  if (a.length >= 5 && isTypingError(a, b))
    return {
      relation: 'typing-error',
      points: 2,
      reason: 'almost the same single name',
      isOtherSpelling: true,
    };
  return otherName(-5);
}

function compareSingle(single: string, full: PersonName): NameComparison {
  const first = full.given[0] ?? '';
  const [whole = '', joined = ''] = handleForms(full);
  if (single === joined) return { relation: 'initials', points: 5, reason: 'both names in one word' };
  if (single === whole)
    return { relation: 'initials', points: 3, reason: 'a handle of first letter and surname' };
  if (handleForms(full).includes(single))
    return { relation: 'initials', points: 2.5, reason: 'a handle formed from the name' };
  if (single === full.surname) return { relation: 'part', points: 2, reason: 'the surname alone' };
  if (!isInitial(first) && areSameGivenName(single, first))
    return { relation: 'part', points: 2, reason: 'the given name alone' };
  return otherName(
    softened(-4, Math.max(jaroWinkler(single, first), jaroWinkler(single, full.surname ?? ''))),
  );
}

function compareFull(a: PersonName, b: PersonName): NameComparison {
  const straight = compareInOrder(a, b);
  if (straight.points >= 3) return straight;
  const turned = compareInOrder(a, reversed(b));
  if (turned.points - 0.5 <= straight.points) return straight;
  const relation = turned.relation === 'same' ? 'variant' : turned.relation;
  return { ...turned, relation, points: turned.points - 0.5, reason: `${turned.reason}, in another order` };
}

/** "Chen Alice" for "Alice Chen": family name first. */
const reversed = (name: PersonName): PersonName => ({
  ...name,
  given: [name.surname ?? ''],
  surname: name.given[0] ?? '',
});

type Similarity = 'equal' | 'variant' | 'transposition' | 'typo' | 'initial' | 'other';

const similarityScores: Readonly<
  Record<Similarity, Readonly<Record<Exclude<Similarity, 'initial'>, number>>>
> = {
  // given name → surname: equal, part of a double name, transposition, typo, other
  equal: { equal: 6, variant: 3, transposition: 4.25, typo: 3, other: -4 },
  variant: { equal: 4, variant: 1.5, transposition: 2.5, typo: 1.5, other: -5 },
  transposition: { equal: 4.25, variant: 1.5, transposition: 2.5, typo: 2, other: -5 },
  typo: { equal: 2.5, variant: 1, transposition: 2, typo: 1.5, other: -5 },
  initial: { equal: 2.5, variant: 1, transposition: 1.5, typo: 0.5, other: -5 },
  other: { equal: -4, variant: -4, transposition: -4, typo: -4, other: -7 },
};

const relationOf: Readonly<Record<Similarity, NameComparison['relation']>> = {
  equal: 'same',
  variant: 'variant',
  transposition: 'typing-error',
  typo: 'typing-error',
  initial: 'initials',
  other: 'other',
};

function compareInOrder(a: PersonName, b: PersonName): NameComparison {
  const [givenA = '', givenB = ''] = [a.given[0], b.given[0]];
  const [surnameA, surnameB] = [a.surname ?? '', b.surname ?? ''];
  if (surnameA === surnameB && a.generation === b.generation && a.given.join(' ') === b.given.join(' '))
    return isInitial(givenA)
      ? { relation: 'same', points: 4, reason: 'the same initials and surname' }
      : { relation: 'same', points: 6, reason: 'the same name' };
  const given = givenLikeness(givenA, givenB);
  const isJoined = a.given.slice(1).includes(surnameB) || b.given.slice(1).includes(surnameA);
  const surname = isJoined ? 'variant' : surnameLikeness(surnameA, surnameB);
  let points = similarityScores[given][surname];
  if (given === 'other' && surname !== 'other') points = softened(points, jaroWinkler(givenA, givenB));
  if (surname === 'other') points = softened(points, jaroWinkler(surnameA, surnameB));
  points -= againstByDetail(a, b);
  if (points < 0) return otherName(points);
  const relation = surname === 'equal' ? relationOf[given] : relationOf[surname];
  return {
    relation,
    points,
    reason: reasonOf(given, surname),
    isOtherSpelling:
      surname === 'transposition' || surname === 'typo' || areDifferentGivenNames(givenA, givenB),
  };
}

/** Maria and Mario: two names, not a typo. */
const areDifferentGivenNames = (a: string, b: string): boolean =>
  a !== b && isGivenName(a) && isGivenName(b) && !areSameGivenName(a, b);

const reasonWords: Readonly<Record<Similarity, string>> = {
  equal: 'the same',
  variant: 'a form of the same',
  transposition: 'a transposition in the same',
  typo: 'almost the same',
  initial: 'the initial of the',
  other: 'another',
};

const reasonOf = (given: Similarity, surname: Similarity): string =>
  given === 'equal' && surname === 'equal'
    ? 'the same name'
    : `${reasonWords[given]} given name, ${reasonWords[surname]} surname`;

function givenLikeness(a: string, b: string): Similarity {
  if (a === b) return isInitial(a) ? 'initial' : 'equal';
  if (isInitial(a) || isInitial(b)) return a[0] === b[0] ? 'initial' : 'other';
  if (areSameGivenName(a, b)) return 'variant';
  return typoKind(a, b);
}

function surnameLikeness(a: string, b: string): Exclude<Similarity, 'initial'> {
  if (a === b) return 'equal';
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (long.split(' ').includes(short) && short.length > 2) return 'variant';
  const similarity = typoKind(a, b);
  // Philips and Phillips, Jansen and Janssen are different families; Abbtot is a typo.
  return similarity === 'transposition' && a.length !== b.length ? 'typo' : similarity;
}

function typoKind(a: string, b: string): 'transposition' | 'typo' | 'other' {
  if (!isTypingError(a, b)) return 'other';
  return isTransposition(a, b) ? 'transposition' : 'typo';
}

/** Middle names and generations that contradict each other. */
function againstByDetail(a: PersonName, b: PersonName): number {
  const contradicts = a.given.slice(1).some((own, index) => {
    const other = b.given[index + 1];
    return other !== undefined && givenLikeness(own, other) === 'other';
  });
  const generations = a.generation === b.generation ? 0 : a.generation && b.generation ? 8 : 2.5;
  return (contradicts ? 5 : 0) + generations;
}

/** Similar names are weaker evidence against a match: a name may have several typos. */
const softened = (points: number, similarity: number): number =>
  points * (1 - Math.max(0, Math.min(1, (similarity - 0.6) / 0.5)));

// Names of organizations, projects, products and places.

interface OrganizationName {
  /** Without its legal form: `acme`; words joined by spaces. */
  readonly base: string;
  readonly form: string | null;
  /** First letters of at least two words: `ibm`. */
  readonly acronym: string | null;
}

export function parseOrganizationName(name: string): OrganizationName {
  const tokens = joinedLetters(nameTokens(name, 'org').filter((word, index) => index > 0 || word !== 'the'));
  const forms = new Set(companyForms.values());
  let end = tokens.length;
  while (end > 1 && forms.has(tokens[end - 1] ?? '')) end--;
  const words = tokens.slice(0, end);
  const letters = words.filter((word) => word !== 'and' && word !== 'of');
  return {
    base: words.join(' '),
    form: end < tokens.length ? tokens.slice(end).join(' ') : null,
    acronym: letters.length > 1 ? letters.map((word) => word[0]).join('') : null,
  };
}

/** `i b m` is `ibm`. */
function joinedLetters(words: readonly string[]): readonly string[] {
  const isSpelled = words.length > 1 && words.slice(0, 2).every((word) => word.length === 1);
  if (!isSpelled) return words;
  const end = words.findIndex((word) => word.length > 1);
  const letters = end === -1 ? words : words.slice(0, end);
  return [letters.join(''), ...words.slice(letters.length)];
}

export function compareOrganizationNames(a: string, b: string): NameComparison {
  const own = parseOrganizationName(a);
  const other = parseOrganizationName(b);
  if (own.base === other.base) return compareForms(own.form, other.form);
  if (own.base.replaceAll(' ', '') === other.base.replaceAll(' ', ''))
    return { relation: 'variant', points: 4.5, reason: 'the same name, with other spaces' };
  if (own.acronym === other.base || other.acronym === own.base)
    return { relation: 'initials', points: 2.5, reason: 'an acronym of the name' };
  if (!haveSameNumbers(own.base, other.base)) return otherName(-6);
  if (own.base.length >= 6 && isTypingError(own.base, other.base)) return almost(own.base, other.base);
  return otherName(-5);
}

/** A transposition in a long name, or one letter in a very long one, is clearly a typo. */
function almost(a: string, b: string): NameComparison {
  const length = Math.min(a.length, b.length);
  const isClear = (length >= 8 && isTransposition(a, b)) || (length >= 14 && editDistance(a, b, 1) === 1);
  return { relation: 'typing-error', points: isClear ? 4.25 : 3, reason: 'almost the same name' };
}

function compareForms(a: string | null, b: string | null): NameComparison {
  if (a === b) return { relation: 'same', points: 6, reason: 'the same name' };
  const isLoose = (form: string | null) => form === null || interchangeableForms.has(form);
  if (a === null || b === null || (isLoose(a) && isLoose(b)))
    return { relation: 'variant', points: 5, reason: 'the same name, with and without its form' };
  return { relation: 'variant', points: 2.5, reason: `the same name as ${a} and as ${b}` };
}

/** The distinctive words, without the generic noun: `phoenix` of "the Phoenix project". */
export function thingWords(name: string): readonly string[] {
  const tokens = nameTokens(name, 'other');
  const distinctive = tokens.filter((word) => !genericNouns.has(word));
  return distinctive.length === 0 ? tokens : distinctive;
}

export function compareThingNames(a: string, b: string): NameComparison {
  const [allA, allB] = [nameTokens(a, 'other').join(' '), nameTokens(b, 'other').join(' ')];
  if (allA === allB) return { relation: 'same', points: 6, reason: 'the same name' };
  const own = thingWords(a);
  const other = thingWords(b);
  const [ownKey, otherKey] = [sortedKey(own), sortedKey(other)];
  if (ownKey === otherKey) return { relation: 'variant', points: 4.5, reason: 'the same distinctive words' };
  if (!haveSameNumbers(allA, allB)) return otherName(-6);
  if (own.join('') === other.join(''))
    return { relation: 'variant', points: 4.5, reason: 'the same words, with other spaces' };
  if (withoutPlural(ownKey) === withoutPlural(otherKey))
    return { relation: 'variant', points: 4.5, reason: 'singular and plural of the same' };
  if (ownKey.length >= 8 && isTypingError(ownKey, otherKey)) return almost(ownKey, otherKey);
  return otherName(-5);
}

export const sortedKey = (words: readonly string[]): string => [...words].sort().join(' ');

const withoutPlural = (key: string): string => key.replaceAll(/(?<=[a-z]{3})s\b/g, '');

/** Q1 and Q2, version 7 and version 8 are never typos of each other. */
function haveSameNumbers(a: string, b: string): boolean {
  const numbered = (text: string) =>
    text
      .split(' ')
      .filter((word) => /\p{N}/u.test(word))
      .sort()
      .join(' ');
  return numbered(a) === numbered(b);
}
