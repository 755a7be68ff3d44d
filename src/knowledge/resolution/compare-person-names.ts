// Do two names mean one person, as far as names can tell?
import { isGivenName } from '../text/lexicon.ts';
import type { NameComparison } from './name-comparison.ts';
import { otherName } from './name-comparison.ts';
import { areSameGivenName } from './nicknames.ts';
import type { PersonName } from './person-name.ts';
import { handleForms, isInitial, readPersonName } from './person-name.ts';
import { isSlip, isTypingError, jaroWinkler } from './string-distance.ts';

export function comparePersonNames(a: string, b: string): NameComparison {
  const own = readPersonName(a);
  const other = readPersonName(b);
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
    return { relation: 'initials', points: 2.5, reason: 'a handle made of the name' };
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
  const turned = compareInOrder(a, turnedAround(b));
  if (turned.points - 0.5 <= straight.points) return straight;
  const relation = turned.relation === 'same' ? 'variant' : turned.relation;
  return { ...turned, relation, points: turned.points - 0.5, reason: `${turned.reason}, in another order` };
}

/** "Chen Alice" for "Alice Chen": some write the family first. */
const turnedAround = (name: PersonName): PersonName => ({
  ...name,
  given: [name.surname ?? ''],
  surname: name.given[0] ?? '',
});

type Likeness = 'equal' | 'variant' | 'slip' | 'typo' | 'initial' | 'other';

const pointsOf: Readonly<Record<Likeness, Readonly<Record<Exclude<Likeness, 'initial'>, number>>>> = {
  // given name → surname: the same, a part of a double name, a slip of the fingers, a typing error, another
  equal: { equal: 6, variant: 3, slip: 4.25, typo: 3, other: -4 },
  variant: { equal: 4, variant: 1.5, slip: 2.5, typo: 1.5, other: -5 },
  slip: { equal: 4.25, variant: 1.5, slip: 2.5, typo: 2, other: -5 },
  typo: { equal: 2.5, variant: 1, slip: 2, typo: 1.5, other: -5 },
  initial: { equal: 2.5, variant: 1, slip: 1.5, typo: 0.5, other: -5 },
  other: { equal: -4, variant: -4, slip: -4, typo: -4, other: -7 },
};

const relationOf: Readonly<Record<Likeness, NameComparison['relation']>> = {
  equal: 'same',
  variant: 'variant',
  slip: 'typing-error',
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
  let points = pointsOf[given][surname];
  if (given === 'other' && surname !== 'other') points = softened(points, jaroWinkler(givenA, givenB));
  if (surname === 'other') points = softened(points, jaroWinkler(surnameA, surnameB));
  points -= againstByDetail(a, b);
  if (points < 0) return otherName(points);
  const relation = surname === 'equal' ? relationOf[given] : relationOf[surname];
  return {
    relation,
    points,
    reason: reasonOf(given, surname),
    isOtherSpelling: surname === 'slip' || surname === 'typo' || areTwoGivenNames(givenA, givenB),
  };
}

/** Maria and Mario: no slip of one another. */
const areTwoGivenNames = (a: string, b: string): boolean =>
  a !== b && isGivenName(a) && isGivenName(b) && !areSameGivenName(a, b);

const reasonWords: Readonly<Record<Likeness, string>> = {
  equal: 'the same',
  variant: 'a form of the same',
  slip: 'a slip of the same',
  typo: 'almost the same',
  initial: 'the initial of the',
  other: 'another',
};

const reasonOf = (given: Likeness, surname: Likeness): string =>
  given === 'equal' && surname === 'equal'
    ? 'the same name'
    : `${reasonWords[given]} given name, ${reasonWords[surname]} surname`;

function givenLikeness(a: string, b: string): Likeness {
  if (a === b) return isInitial(a) ? 'initial' : 'equal';
  if (isInitial(a) || isInitial(b)) return a[0] === b[0] ? 'initial' : 'other';
  if (areSameGivenName(a, b)) return 'variant';
  return slipOrTypo(a, b);
}

function surnameLikeness(a: string, b: string): Exclude<Likeness, 'initial'> {
  if (a === b) return 'equal';
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (long.split(' ').includes(short) && short.length > 2) return 'variant';
  const likeness = slipOrTypo(a, b);
  // Philips and Phillips, Jansen and Janssen are two families; nobody is called Abbtot.
  return likeness === 'slip' && a.length !== b.length ? 'typo' : likeness;
}

function slipOrTypo(a: string, b: string): 'slip' | 'typo' | 'other' {
  if (!isTypingError(a, b)) return 'other';
  return isSlip(a, b) ? 'slip' : 'typo';
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

/** Names that are nearly alike speak less against being the same: typing errors come in threes, too. */
const softened = (points: number, likeness: number): number =>
  points * (1 - Math.max(0, Math.min(1, (likeness - 0.6) / 0.5)));
