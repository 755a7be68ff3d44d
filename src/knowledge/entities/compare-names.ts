// Compares two names. Points are about the log odds of being the same, calibrated on generated names.
import { isGivenName, wordKind } from '../text/lexicon.ts';
import type { PersonName } from './normalize.ts';
import {
  areSameGivenName,
  companyForms,
  contrasts,
  genericNouns,
  interchangeableForms,
  handleForms,
  isAmbiguousShortForm,
  isIndependentName,
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

/** Why two may not be joined automatically, however much else agrees. */
export interface Contradiction {
  readonly reason: string;
  /** They may be the same nevertheless: a person decides. False: they are different. */
  readonly isReviewable: boolean;
}

export interface NameComparison {
  readonly relation: NameRelation;
  /** At least `minSamePoints`: the same unless the context contradicts. Below 0: evidence against it. */
  readonly points: number;
  readonly reason: string;
  /** Spelled differently, and two people may have these names: Johnson and Johnston, Maria and Mario. */
  readonly isOtherSpelling?: boolean;
  /** A given name or a surname alone, or one of two surnames: it identifies a person within one document only. */
  readonly isPartial?: boolean;
  /** One has a middle name that the other omits or abbreviates: Robert Smith, Robert J. Smith, Robert James Smith. */
  readonly hasOtherMiddle?: boolean;
  readonly contradiction?: Contradiction;
}

export const otherName = (points: number): NameComparison => ({
  relation: 'other',
  points,
  reason: 'the names differ',
});

const different = (points: number, reason: string): NameComparison => ({
  ...otherName(points),
  contradiction: { reason, isReviewable: false },
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

/** Whole names are written in one word in scripts without spaces. */
const isPartOfName = (single: string): boolean =>
  !/[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(single);

function compareSingles(a: string, b: string): NameComparison {
  const isPartial = isPartOfName(a);
  if (a === b) return { relation: 'same', points: 4, reason: 'the same single name', isPartial };
  if (areSameGivenName(a, b))
    return { relation: 'variant', points: 2, reason: 'a short form of a given name', isPartial };
  if (a.length >= 5 && isTypingError(a, b))
    return {
      relation: 'typing-error',
      points: 2,
      reason: 'almost the same single name',
      isOtherSpelling: true,
      isPartial,
    };
  return { ...otherName(-5), ...unlessSimilar(jaroWinkler(a, b), 'their names differ') };
}

/** Names less similar than this are two names, not one with typos. */
const minSpellingSimilarity = 0.75;

const unlessSimilar = (similarity: number, reason: string): Pick<NameComparison, 'contradiction'> =>
  similarity >= minSpellingSimilarity ? {} : { contradiction: { reason, isReviewable: true } };

function compareSingle(single: string, full: PersonName): NameComparison {
  const first = full.given[0] ?? '';
  const [whole = '', joined = ''] = handleForms(full);
  if (single === joined) return { relation: 'initials', points: 5, reason: 'both names in one word' };
  if (single === whole)
    return { relation: 'initials', points: 3, reason: 'a handle of first letter and surname' };
  if (handleForms(full).includes(single))
    return { relation: 'initials', points: 2.5, reason: 'a handle formed from the name' };
  if (single === full.surname)
    return { relation: 'part', points: 2, reason: 'the surname alone', isPartial: true };
  if (!isInitial(first) && areSameGivenName(single, first))
    return { relation: 'part', points: 2, reason: 'the given name alone', isPartial: true };
  const similarity = Math.max(jaroWinkler(single, first), jaroWinkler(single, full.surname ?? ''));
  return { ...otherName(softened(-4, similarity)), ...unlessSimilar(similarity, 'their names differ') };
}

function compareFull(a: PersonName, b: PersonName): NameComparison {
  const straight = compareInOrder(a, b);
  if (straight.points >= 3) return straight;
  const turned = compareInOrder(a, reversed(b));
  if (turned.points - 0.5 <= straight.points) return straight;
  const relation = turned.relation === 'same' ? 'variant' : turned.relation;
  const reason = `${turned.reason}, in another order`;
  // "Lee Jordan" may be "Jordan Lee", surname first, or another person. With a comma the order is clear.
  const swapped = { reason: 'given name and surname are swapped', isReviewable: true };
  const contradiction = turned.contradiction ?? swapped;
  return { ...turned, relation, points: turned.points - 0.5, reason, contradiction };
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
  const contradiction = contradictionOf([givenA, givenB, given], [surnameA, surnameB, surname]);
  if (points < 0) return { ...otherName(points), ...contradiction };
  const relation = surname === 'equal' ? relationOf[given] : relationOf[surname];
  return {
    relation,
    points,
    reason: reasonOf(given, surname),
    isOtherSpelling:
      surname === 'transposition' || surname === 'typo' || areDifferentGivenNames(givenA, givenB),
    // Ann Jones may be Ann Smith-Jones, and so may Ann Smith.
    isPartial: surname === 'variant',
    hasOtherMiddle: a.given.slice(1).join(' ') !== b.given.slice(1).join(' '),
    ...contradiction,
  };
}

export const differentSurnames = 'they have different surnames';

type Compared = readonly [a: string, b: string, similarity: Similarity];

/** Two names, as opposed to two spellings or forms of one. */
function contradictionOf(
  [givenA, givenB, given]: Compared,
  [surnameA, surnameB, surname]: Compared,
): Pick<NameComparison, 'contradiction'> {
  if (given === 'variant' && isAmbiguousShortForm(givenA, givenB))
    return { contradiction: { reason: 'a short form of several given names', isReviewable: true } };
  if (given === 'variant' && isIndependentName(givenA, givenB))
    return { contradiction: { reason: 'a short form that is a name of its own', isReviewable: true } };
  if (areDifferentGivenNames(givenA, givenB))
    return { contradiction: { reason: 'they have different given names', isReviewable: true } };
  if (surname === 'other') {
    const found = unlessSimilar(jaroWinkler(surnameA, surnameB), differentSurnames);
    if (found.contradiction) return found;
  }
  return given === 'other'
    ? unlessSimilar(jaroWinkler(givenA, givenB), 'they have different given names')
    : {};
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
  const contradicts = !areCompatibleMiddles(a.given.slice(1), b.given.slice(1));
  const generations = a.generation === b.generation ? 0 : a.generation && b.generation ? 8 : 2.5;
  return (contradicts ? 5 : 0) + generations;
}

/** One list leaves out names of the other, or shortens them: "J.", "James", "James Paul". */
export function areCompatibleMiddles(a: readonly string[], b: readonly string[]): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  let at = 0;
  for (const name of long) if (at < short.length && givenLikeness(short[at] ?? '', name) !== 'other') at++;
  return at === short.length;
}

/** `short` is a form of `name` with fewer or abbreviated middle names: Robert Smith, or R. J. Smith, for Robert James Smith. */
export function omitsMiddle(short: string, name: string): boolean {
  const lengthOf = (full: string) => parsePersonName(full)?.given.slice(1).join('').length ?? 0;
  return lengthOf(short) < lengthOf(name) && comparePersonNames(short, name).hasOtherMiddle === true;
}

/** Similar names are weaker evidence against a match: a name may have several typos. */
const softened = (points: number, similarity: number): number =>
  points * (1 - Math.max(0, Math.min(1, (similarity - 0.6) / 0.5)));

// Names of organizations, projects, products and places.

interface OrganizationName {
  /** The name without its legal form: `acme`; words joined by spaces. */
  readonly base: string;
  readonly form: string | null;
  /** First letters of at least two words: `ibm`. */
  readonly acronym: string | null;
}

export function parseOrganizationName(name: string): OrganizationName {
  const tokens = joinedLetters(
    nameTokens(name, 'organization').filter((word, index) => index > 0 || word !== 'the'),
  );
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
  const contrast = contrastOf(own.base.split(' '), other.base.split(' '));
  if (contrast !== null) return different(-6, contrast);
  if (own.base.length >= 6 && isMisspelled(own.base, other.base)) return almost(own.base, other.base);
  return otherName(-5);
}

/** Not when all words by which they differ are in the dictionary: Berlin and Merlin, food and foot. */
function isMisspelled(a: string, b: string): boolean {
  if (!isTypingError(a, b)) return false;
  const [own, other] = [a.split(' '), b.split(' ')];
  const unlike = [
    ...own.filter((word) => !other.includes(word)),
    ...other.filter((word) => !own.includes(word)),
  ];
  return !unlike.every((word) => wordKind(word) !== undefined);
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
  const contradiction = { reason: 'they have different legal forms', isReviewable: true };
  return { relation: 'variant', points: 2.5, reason: `the same name as ${a} and as ${b}`, contradiction };
}

const articles = new Set(['the', 'a', 'an']);

/** The distinctive words, without the generic noun: `phoenix` of "the Phoenix project". */
export function thingWords(name: string): readonly string[] {
  const tokens = nameTokens(name, 'other');
  const distinctive = tokens.filter(
    (word, index) => !genericNouns.has(word) && word !== 'of' && (index > 0 || !articles.has(word)),
  );
  return distinctive.length === 0 ? tokens : distinctive;
}

const kindsIn = (words: string): ReadonlySet<string> =>
  new Set(words.split(' ').flatMap((word) => genericNouns.get(word) ?? []));

export function compareThingNames(a: string, b: string): NameComparison {
  const [allA, allB] = [nameTokens(a, 'other').join(' '), nameTokens(b, 'other').join(' ')];
  if (allA === allB) return { relation: 'same', points: 6, reason: 'the same name' };
  const own = thingWords(a);
  const other = thingWords(b);
  const [ownKey, otherKey] = [sortedKey(own), sortedKey(other)];
  const [kinds, otherKinds] = [kindsIn(allA), kindsIn(allB)];
  if (kinds.size > 0 && otherKinds.size > 0 && kinds.isDisjointFrom(otherKinds))
    return different(-6, 'they are different kinds of things');
  if (ownKey === otherKey) return { relation: 'variant', points: 4.5, reason: 'the same distinctive words' };
  const contrast = contrastOf(own, other);
  if (contrast !== null) return different(-6, contrast);
  if (own.join('') === other.join(''))
    return { relation: 'variant', points: 4.5, reason: 'the same words, with other spaces' };
  if (withoutPlural(ownKey) === withoutPlural(otherKey))
    return { relation: 'variant', points: 4.5, reason: 'singular and plural of the same' };
  if (ownKey.length >= 8 && isMisspelled(ownKey, otherKey)) return almost(ownKey, otherKey);
  return otherName(-5);
}

export const sortedKey = (words: readonly string[]): string => [...words].sort().join(' ');

const withoutPlural = (key: string): string => key.replaceAll(/(?<=[a-z]{3})s\b/g, '');

/** Places, of which one name is not a short form of the other: Mexico and Mexico City, America and North America. */
export function comparePlaceNames(a: string, b: string): NameComparison {
  const found = compareThingNames(a, b);
  if (found.relation !== 'other' || found.contradiction) return found;
  const [own, other] = [new Set(thingWords(a)), new Set(thingWords(b))];
  return own.isSubsetOf(other) || other.isSubsetOf(own)
    ? different(-6, 'one is a part of the other, or near it')
    : found;
}

const romanNumerals = new Set('i ii iii iv v vi vii viii ix x xi xii xiii xiv xv'.split(' '));

/** Q1, version 7, phase II, plan B. */
const isCounter = (word: string): boolean =>
  /\p{N}/u.test(word) || romanNumerals.has(word) || /^[a-z]$/.test(word);

/** The word by which similar names are different things; null when they may be spellings of one. */
function contrastOf(a: readonly string[], b: readonly string[]): string | null {
  const [onlyA, onlyB] = [a.filter((word) => !b.includes(word)), b.filter((word) => !a.includes(word))];
  if (sortedKey(onlyA.filter(isCounter)) !== sortedKey(onlyB.filter(isCounter)))
    return 'they have different numbers';
  const groupsOf = (words: readonly string[]) => new Set(words.flatMap((word) => contrasts.get(word) ?? []));
  return groupsOf(onlyA).isDisjointFrom(groupsOf(onlyB))
    ? null
    : `one is "${onlyA.join(' ')}", the other "${onlyB.join(' ')}"`;
}
