// Are a mention and an entity the same? Names and context together; what is neither clear nor excluded is grey.
import type { EntityType } from '../reading/types.ts';
import type { ClueComparison, Profile } from './compare-clues.ts';
import { compareClues } from './compare-clues.ts';
import type { NameComparison } from './compare-names.ts';
import {
  compareOrganizationNames,
  comparePersonNames,
  compareThingNames,
  otherName,
} from './compare-names.ts';
import { isFullName, nameFullness, unnamedEntityName } from './normalize.ts';
import type { CandidateEntity, MentionGroup } from './types.ts';

/** From here on without a model. Measured by "npm run eval -- entities": lower values cost precision. */
export const minSamePoints = 4;
/** From here on worth a question. */
export const minUncertainPoints = 2;
/** Vectors that close are worth a question where names say nothing. */
export const closeCosine = 0.85;

export interface Match {
  readonly verdict: 'same' | 'grey' | 'different';
  readonly points: number;
  readonly name: NameComparison;
  /** Only vectors brought it up: without a model to ask it means nothing. */
  readonly isByVectorOnly: boolean;
  readonly reasons: readonly string[];
}

export interface MatchContext {
  /** Both are mentioned in one artifact. */
  readonly isInArtifact: boolean;
  readonly cosine: number | null;
}

export function matchProfiles(mention: Profile, entity: Profile, context: MatchContext): Match {
  const types = compareTypes(mention.type, entity.type);
  const name = types === 'different' ? otherName(-8) : knownComparison(mention, entity);
  // Who is in one artifact shares its company anyway.
  const clues = compareClues(context.isInArtifact ? { ...mention, coMentions: [] } : mention, entity);
  const near = context.isInArtifact ? pointsForCompany(name) : -doubtOfShortName(name, mention, entity);
  const points = name.points + clues.points + near;
  const reasons = [
    name.reason,
    ...clues.reasons,
    ...(near > 0 ? ['both in one artifact'] : []),
    ...(context.cosine === null ? [] : [`cosine ${context.cosine.toFixed(2)}`]),
  ];
  const result = (verdict: Match['verdict'], isByVectorOnly = false): Match => ({
    verdict,
    points,
    name,
    isByVectorOnly,
    reasons,
  });
  if (clues.hasSameIdentity) return result('same');
  if (types === 'different' || clues.contradiction !== null) return result('different');
  if (types === 'alike' && isOnePerson(mention, entity) && !isWholeName(name)) return result('different');
  if (isNearByVectorOnly(name, types, entity.type, context)) return result('grey', true);
  if (points < minUncertainPoints) return result('different');
  // Of another type, or of one address and another name: likely, but not for us to say.
  // Johnson and Johnston may work side by side: what they share as colleagues says nothing of how a name is spelled.
  const counted = name.isOtherSpelling ? points - clues.pointsOfColleagues - near : points;
  const isClear =
    counted >= minSamePoints && types === 'same' && (name.relation !== 'other' || hasProof(name, clues));
  return result(isClear ? 'same' : 'grey');
}

/** Records with unlike names are one only if nearly everything else agrees. */
const hasProof = (name: NameComparison, clues: ClueComparison): boolean =>
  (name.points > -3 && clues.points >= 7) || (clues.proofs >= 2 && clues.points >= 9);

function isNearByVectorOnly(
  name: NameComparison,
  types: TypeComparison,
  type: EntityType,
  { cosine }: MatchContext,
): boolean {
  // Vectors do not tell people's names apart.
  return (
    type !== 'person' &&
    types === 'same' &&
    name.relation === 'other' &&
    name.points > -6 &&
    (cosine ?? 0) >= closeCosine
  );
}

/** What is only a part or a short form of a name means the one of that name who is there. */
function pointsForCompany({ relation }: NameComparison): number {
  if (relation === 'part' || relation === 'initials') return 2;
  return relation === 'variant' || relation === 'typing-error' ? 1 : 0;
}

/** Two of one short name, of which only one is known by more: somebody else may be called that as well. */
function doubtOfShortName(name: NameComparison, a: Profile, b: Profile): number {
  const isShort = name.relation === 'same' && name.points <= minSamePoints;
  return isShort && hasContext(a) !== hasContext(b) ? 0.5 : 0;
}

export const hasContext = ({ emails, organizations }: Profile): boolean =>
  emails.length > 0 || organizations.length > 0;

type TypeComparison = 'same' | 'alike' | 'different';

const things: ReadonlySet<EntityType> = new Set(['project', 'object', 'other']);

/** Readers disagree on what is a project, an object or something else. `other` may be anything: nobody knew. */
function compareTypes(a: EntityType, b: EntityType): TypeComparison {
  if (a === b || (things.has(a) && things.has(b))) return 'same';
  return a === 'other' || b === 'other' ? 'alike' : 'different';
}

const isOnePerson = (a: Profile, b: Profile): boolean => a.type === 'person' || b.type === 'person';

/** Whoever is called Phoenix Reed has nothing to do with whatever is called Phoenix. */
const isWholeName = ({ relation }: NameComparison): boolean => relation === 'same' || relation === 'variant';

/** As names of this type are compared. */
export function compareNames(type: EntityType, a: string, b: string): NameComparison {
  if (type === 'person') return comparePersonNames(a, b);
  return type === 'org' ? compareOrganizationNames(a, b) : compareThingNames(a, b);
}

/** Two profiles are compared when evidence is gathered and again when it is weighed: a third of the time of resolving. */
const compared = new WeakMap<Profile, WeakMap<Profile, NameComparison>>();

function knownComparison(a: Profile, b: Profile): NameComparison {
  let own = compared.get(a);
  if (!own) compared.set(a, (own = new WeakMap()));
  let comparison = own.get(b);
  if (!comparison) own.set(b, (comparison = bestNameComparison(a, b)));
  return comparison;
}

function bestNameComparison(a: Profile, b: Profile): NameComparison {
  const type = a.type === 'other' ? b.type : a.type;
  const isFullNamed = type === 'person' && isFullName(b.names[0] ?? '');
  const fullNames = type === 'person' ? b.names.filter(isFullName) : [];
  let best = otherName(-8);
  for (const own of a.names) {
    // Jennifer is not Julia because Julia was once written as J.: full names are compared with full names.
    const others = fullNames.length > 0 && isFullName(own) ? fullNames : b.names;
    for (const other of others) {
      const found = compareNames(type, own, other);
      // Alice Chen is called Alice or A. Chen, and so are others: what was hers once is no proof.
      const isShort = found.relation === 'same' && found.points <= minSamePoints;
      const counted = isFullNamed && isShort ? shortNameAgain : found;
      if (counted.points > best.points) best = counted;
    }
  }
  return best;
}

const shortNameAgain: NameComparison = {
  relation: 'part',
  points: 2.75,
  reason: 'a short name it is known by',
};

// Of everybody whom a mention may mean: the one, nobody, or a question.

export interface MatchedCandidate<T> {
  readonly candidate: T;
  readonly match: Match;
  /** What tells candidates apart that all fit: whether it is known by more than a name, and how full that name is. */
  readonly hasContext: boolean;
  readonly isInArtifact: boolean;
  readonly fullness: number;
}

export type Decision<T> =
  | { readonly kind: 'join'; readonly chosen: MatchedCandidate<T> }
  | { readonly kind: 'new' }
  /** Best first. */
  | { readonly kind: 'ask'; readonly close: readonly MatchedCandidate<T>[] };

/** A model is asked about so many at once. */
const mostAsked = 5;

/** `canAsk`: without a model, likeness of vectors alone is no reason to keep a question. */
export function decide<T>(matched: readonly MatchedCandidate<T>[], canAsk: boolean): Decision<T> {
  const close = matched
    .filter(({ match }) => match.verdict !== 'different' && (canAsk || !match.isByVectorOnly))
    .sort((a, b) => b.match.points - a.match.points);
  if (close.length === 0) return { kind: 'new' };
  const same = close.filter(({ match }) => match.verdict === 'same');
  const chosen = singleBest(same);
  if (chosen !== null) return { kind: 'join', chosen };
  return { kind: 'ask', close: close.slice(0, mostAsked) };
}

/** Narrowed step by step; null when two or more remain, or none. */
function singleBest<T>(same: readonly MatchedCandidate<T>[]): MatchedCandidate<T> | null {
  let left = same;
  const narrow = (keep: (one: MatchedCandidate<T>) => boolean) => {
    const kept = left.filter(keep);
    if (kept.length > 0) left = kept;
  };
  const best = Math.max(...left.map(({ match }) => match.points));
  narrow(({ match }) => match.points >= best - 0.99);
  narrow(({ isInArtifact }) => isInArtifact);
  const fullest = Math.max(...left.map(({ fullness }) => fullness));
  narrow(({ fullness }) => fullness === fullest);
  // Two of one name and different context: one that is known by name only is what such a mention became before.
  narrow(({ hasContext, match }) => !hasContext && match.name.relation === 'same');
  return left.length === 1 ? (left[0] ?? null) : null;
}

// A name against everybody it may mean.

/** What tells candidates apart that all fit. */
export const tieBreakers = (profile: Profile) => ({
  hasContext: hasContext(profile),
  fullness: profile.type === 'person' ? nameFullness(profile.names[0] ?? '') : 0,
});

/** `here`: entities that other names of the same chunk turned out to mean. */
export function matchCandidates(
  group: Pick<MentionGroup, 'profile' | 'normalizedName' | 'name'>,
  known: readonly CandidateEntity[],
  here: ReadonlySet<string> = new Set(),
): readonly MatchedCandidate<CandidateEntity>[] {
  return known.map((candidate) => {
    const isInArtifact = candidate.isInArtifact || here.has(candidate.entity.entityId);
    const match =
      group.name === unnamedEntityName
        ? matchUnnamed(group.normalizedName === candidate.entity.normalizedName)
        : matchProfiles(group.profile, candidate.profile, { isInArtifact, cosine: candidate.cosine });
    return { candidate, match, isInArtifact, ...tieBreakers(candidate.profile) };
  });
}

/** Without a name there is nothing to compare: within one artifact they are one. */
export const matchUnnamed = (isSame: boolean): Match => ({
  verdict: isSame ? 'same' : 'different',
  points: isSame ? 4 : -8,
  name: { relation: isSame ? 'same' : 'other', points: isSame ? 4 : -8, reason: 'no visible name' },
  isByVectorOnly: false,
  reasons: ['no visible name'],
});
