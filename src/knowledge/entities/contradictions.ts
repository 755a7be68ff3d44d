// Contradictions between all that is known about two people: suffixes, middle names and forms of address. With those of
// single names (compare-names.ts) they forbid every automatic join; only a person can override them.
import type { Profile } from './compare-clues.ts';
import { gendersOf } from './compare-clues.ts';
import type { Contradiction } from './compare-names.ts';
import { areCompatibleMiddles, comparePersonNames, differentSurnames } from './compare-names.ts';
import { isFullName, parsePersonName } from './normalize.ts';

/** Null when they may be one person as far as these go. */
export function contradictionBetween(a: Profile, b: Profile): Contradiction | null {
  return (
    contradictingGenerations(a, b) ??
    contradictingMiddles(a, b) ??
    contradictingAddress(a, b) ??
    contradictingSurnames(a, b)
  );
}

const disjoint = <T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean =>
  a.size > 0 && b.size > 0 && a.isDisjointFrom(b);

/** Null stands for a full name without a suffix; parts of a name leave it out. */
function generationsOf({ names }: Profile): ReadonlySet<string | null> {
  const found = names.flatMap((name) => {
    const generation = parsePersonName(name)?.generation ?? null;
    return generation !== null || (isFullName(name) && !name.includes('@')) ? [generation] : [];
  });
  return new Set(found);
}

/** Jr. and Sr. are two people; a full name with a suffix and one without may be. */
function contradictingGenerations(a: Profile, b: Profile): Contradiction | null {
  const [own, others] = [generationsOf(a), generationsOf(b)];
  const suffixes = (all: ReadonlySet<string | null>) => all.difference(new Set([null]));
  if (disjoint(suffixes(own), suffixes(others)))
    return { reason: 'they have different suffixes', isReviewable: false };
  return disjoint(own, others)
    ? { reason: 'only one of them has a suffix (Jr., Sr., II)', isReviewable: true }
    : null;
}

const middlesOf = ({ names }: Profile): readonly (readonly string[])[] =>
  names.map((name) => parsePersonName(name)?.given.slice(1) ?? []).filter((middles) => middles.length > 0);

/** Compares all names that they are known by: Robert Smith may be Robert James and Robert Kevin Smith, but not both. */
function contradictingMiddles(a: Profile, b: Profile): Contradiction | null {
  const [own, others] = [middlesOf(a), middlesOf(b)];
  if (own.length === 0 || others.length === 0) return null;
  const isIn = (middles: readonly string[], all: typeof own) =>
    all.some((other) => other.join(' ') === middles.join(' '));
  // Robert J. Smith may be James or John: with one of them it is not the other. What a person has merged has both names.
  const areContradicting = own.some((one) =>
    others.some((other) => !areCompatibleMiddles(one, other) && !isIn(one, others) && !isIn(other, own)),
  );
  if (!areContradicting) return null;
  // Which of the two a name without a middle name belongs to, its order of arrival must not decide.
  const isReviewable = [a, b].some(({ names }) => names.some(hasNoMiddle));
  return { reason: 'they have different middle names', isReviewable };
}

const hasNoMiddle = (name: string): boolean =>
  isFullName(name) && !name.includes('@') && parsePersonName(name)?.given.length === 1;

/**
 * Ann Smith is not Ann Jones because both may be Ann Smith-Jones: all full names that the two are known by are compared,
 * unless they have one in common.
 */
function contradictingSurnames(a: Profile, b: Profile): Contradiction | null {
  const fullNames = ({ names }: Profile) => names.filter((name) => isFullName(name) && !name.includes('@'));
  const compared = fullNames(a).flatMap((one) => fullNames(b).map((other) => comparePersonNames(one, other)));
  if (compared.some(({ relation }) => relation === 'same')) return null;
  const found = compared.find(({ contradiction }) => contradiction?.reason === differentSurnames);
  return found
    ? { reason: 'other names they are known by have different surnames', isReviewable: true }
    : null;
}

/** Mr. and Mrs. Claus. */
const contradictingAddress = (a: Profile, b: Profile): Contradiction | null =>
  disjoint(gendersOf(a), gendersOf(b))
    ? { reason: 'one is addressed as a man, the other as a woman', isReviewable: false }
    : null;
