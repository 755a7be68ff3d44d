// Do two names mean one company, or one project, product or place?
import type { NameComparison } from './name-comparison.ts';
import { otherName } from './name-comparison.ts';
import { companyForms, genericNouns, looseForms } from './name-words.ts';
import { nameTokens } from './normalize-name.ts';
import { editDistance, isSlip, isTypingError } from './string-distance.ts';

export interface OrganizationName {
  /** Without its form: `acme`; words joined by spaces. */
  readonly base: string;
  readonly form: string | null;
  /** First letters, when there are at least two words: `ibm`. */
  readonly acronym: string | null;
}

export function readOrganizationName(name: string): OrganizationName {
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
  const own = readOrganizationName(a);
  const other = readOrganizationName(b);
  if (own.base === other.base) return compareForms(own.form, other.form);
  if (own.base.replaceAll(' ', '') === other.base.replaceAll(' ', ''))
    return { relation: 'variant', points: 4.5, reason: 'the same name, put together otherwise' };
  if (own.acronym === other.base || other.acronym === own.base)
    return { relation: 'initials', points: 2.5, reason: 'an acronym of the name' };
  if (!haveSameNumbers(own.base, other.base)) return otherName(-6);
  if (own.base.length >= 6 && isTypingError(own.base, other.base)) return almost(own.base, other.base);
  return otherName(-5);
}

/** A slip in a long name, or one letter of a very long one, is no other name. */
function almost(a: string, b: string): NameComparison {
  const length = Math.min(a.length, b.length);
  const isClear = (length >= 8 && isSlip(a, b)) || (length >= 14 && editDistance(a, b, 1) === 1);
  return { relation: 'typing-error', points: isClear ? 4.25 : 3, reason: 'almost the same name' };
}

function compareForms(a: string | null, b: string | null): NameComparison {
  if (a === b) return { relation: 'same', points: 6, reason: 'the same name' };
  const isLoose = (form: string | null) => form === null || looseForms.has(form);
  if (a === null || b === null || (isLoose(a) && isLoose(b)))
    return { relation: 'variant', points: 5, reason: 'the same name, with and without its form' };
  return { relation: 'variant', points: 2.5, reason: `the same name as ${a} and as ${b}` };
}

/** The words that tell a thing apart, without what it is: `phoenix` of "the Phoenix project". */
export function thingWords(name: string): readonly string[] {
  const tokens = nameTokens(name, 'other');
  const telling = tokens.filter((word) => !genericNouns.has(word));
  return telling.length === 0 ? tokens : telling;
}

export function compareThingNames(a: string, b: string): NameComparison {
  const [allA, allB] = [nameTokens(a, 'other').join(' '), nameTokens(b, 'other').join(' ')];
  if (allA === allB) return { relation: 'same', points: 6, reason: 'the same name' };
  const own = thingWords(a);
  const other = thingWords(b);
  const [ownKey, otherKey] = [sortedKey(own), sortedKey(other)];
  if (ownKey === otherKey) return { relation: 'variant', points: 4.5, reason: 'the same telling words' };
  if (!haveSameNumbers(allA, allB)) return otherName(-6);
  if (own.join('') === other.join(''))
    return { relation: 'variant', points: 4.5, reason: 'the same words, put together otherwise' };
  if (withoutPlural(ownKey) === withoutPlural(otherKey))
    return { relation: 'variant', points: 4.5, reason: 'one and many of the same' };
  if (ownKey.length >= 8 && isTypingError(ownKey, otherKey)) return almost(ownKey, otherKey);
  return otherName(-5);
}

export const sortedKey = (words: readonly string[]): string => [...words].sort().join(' ');

const withoutPlural = (key: string): string => key.replaceAll(/(?<=[a-z]{3})s\b/g, '');

/** Q1 and Q2, version 7 and version 8 are never a typing error of each other. */
function haveSameNumbers(a: string, b: string): boolean {
  const numbered = (text: string) =>
    text
      .split(' ')
      .filter((word) => /\p{N}/u.test(word))
      .sort()
      .join(' ');
  return numbered(a) === numbered(b);
}
