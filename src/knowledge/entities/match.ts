// Scores whether a mention and an entity are the same, from names and context, and picks the match among candidates.
import type { IdSource } from '../../core/index.ts';
import type { EntityType } from '../reading/types.ts';
import type { ClueComparison, Profile } from './compare-clues.ts';
import { compareClues, gendersOf } from './compare-clues.ts';
import type { Contradiction, NameComparison } from './compare-names.ts';
import {
  compareOrganizationNames,
  comparePersonNames,
  comparePlaceNames,
  compareThingNames,
  otherName,
} from './compare-names.ts';
import { contradictionBetween } from './contradictions.ts';
import { isFullName, nameFullness, unnamedEntityName } from './normalize.ts';
import type { CandidateEntity, Entity, PairDraft } from './types.ts';

/** From here on the same, without a model. Measured by "npm run eval -- entities": lower values cost precision. */
export const minSamePoints = 4;
/** Uncertain: worth confirming with a model. */
export const minUncertainPoints = 2;
/** Vectors this close are worth confirming even when the names differ. */
const minVectorCosine = 0.85;

export interface Match {
  readonly verdict: 'same' | 'uncertain' | 'different';
  readonly points: number;
  readonly name: NameComparison;
  /** Set: no score and no model may join the two. `uncertain`: a person decides. */
  readonly veto: string | null;
  /** What is known about the two cannot be of one, whatever else becomes known; a person does not decide it either. */
  readonly isContradicted: boolean;
  /** Matched by a given name or a surname alone, which no address and no record confirms. */
  readonly isByPart: boolean;
  /** Suggested by vectors only: meaningless without a model to confirm it. */
  readonly isByVectorOnly: boolean;
  /** An address, an id or an organization is the same, not only name, role and colleagues. */
  readonly isSupported: boolean;
  readonly reasons: readonly string[];
}

interface MatchContext {
  /** Both are mentioned in one artifact. */
  readonly isInArtifact: boolean;
  readonly cosine: number | null;
}

export function matchProfiles(mention: Profile, entity: Profile, context: MatchContext): Match {
  const types = compareTypes(mention.type, entity.type);
  const name = types === 'different' ? otherName(-8) : knownComparison(mention, entity);
  // Entities of one artifact share its co-mentions anyway.
  const clues = compareClues(context.isInArtifact ? { ...mention, coMentions: [] } : mention, entity);
  const near = context.isInArtifact ? sameArtifactBonus(name) : -shortNamePenalty(name, mention, entity);
  const points = name.points + clues.points + near;
  const reasons = [
    name.reason,
    ...clues.reasons,
    ...(near > 0 ? ['both in one artifact'] : []),
    ...(context.cosine === null ? [] : [`cosine ${context.cosine.toFixed(2)}`]),
  ];
  const isByPart = name.isPartial === true && !isProven(clues);
  const veto = name.contradiction ?? vetoOf(mention, entity, isByPart && !context.isInArtifact);
  const result = (verdict: Match['verdict'], isByVectorOnly = false): Match => ({
    verdict,
    points,
    name,
    veto: veto?.reason ?? clues.contradiction,
    isContradicted: clues.contradiction !== null || veto?.isReviewable === false,
    isByPart,
    isByVectorOnly,
    isSupported: clues.isSupported,
    reasons: veto === null ? reasons : [...reasons, veto.reason],
  });
  // One record of one source, whatever its name is now.
  if (clues.hasSameIdentity) return { ...result('same'), veto: null, isContradicted: false };
  if (types === 'different' || clues.contradiction !== null) return result('different');
  if (types === 'alike' && isPerson(mention, entity) && !isWholeName(name)) return result('different');
  if (veto !== null)
    return result(veto.isReviewable && points >= minUncertainPoints ? 'uncertain' : 'different');
  if (isNearByVectorOnly(name, types, entity.type, context)) return result('uncertain', true);
  if (points < minUncertainPoints) return result('different');
  // Another type, or the same address with another name, is never certain. Johnson and Johnston may work side by side:
  // what colleagues share is no evidence about the spelling of a name.
  const counted = name.isOtherSpelling ? points - clues.colleaguePoints - near : points;
  // Another document may name Robert James or Robert Kevin Smith: which of them Robert Smith joins would depend on their order.
  const isOtherMiddle = name.hasOtherMiddle === true && !context.isInArtifact && !isProven(clues);
  const isClear =
    counted >= minSamePoints &&
    types === 'same' &&
    !isOtherMiddle &&
    (name.relation !== 'other' || hasProof(name, clues));
  return result(isClear ? 'same' : 'uncertain');
}

/** As in one artifact: what is known about the two counts, not where it was read. */
export const mayBeSame = (a: { readonly profile: Profile }, b: { readonly profile: Profile }): boolean =>
  matchProfiles(a.profile, b.profile, { isInArtifact: true, cosine: null }).veto === null;

/** A reason besides the names themselves that no sum of points and no model overrides. */
function vetoOf(a: Profile, b: Profile, isPartElsewhere: boolean): Contradiction | null {
  if (a.type !== 'person' && b.type !== 'person') return null;
  const isPart = { reason: 'a part of a name, in another document', isReviewable: true };
  return contradictionBetween(a, b) ?? (isPartElsewhere ? isPart : null);
}

const isProven = ({ hasSameEmail, proofs }: ClueComparison): boolean => hasSameEmail || proofs >= 2;

/** Records with different names are the same only if nearly everything else agrees. */
const hasProof = (name: NameComparison, clues: ClueComparison): boolean =>
  (name.points > -3 && clues.points >= 7) || (clues.proofs >= 2 && clues.points >= 9);

function isNearByVectorOnly(
  name: NameComparison,
  types: TypeComparison,
  type: EntityType,
  { cosine }: MatchContext,
): boolean {
  // Vectors do not distinguish names of people.
  return (
    type !== 'person' &&
    types === 'same' &&
    name.relation === 'other' &&
    name.points > -6 &&
    (cosine ?? 0) >= minVectorCosine
  );
}

/** In one artifact, a part or short form of a name refers to the entity with the full name. */
function sameArtifactBonus({ relation }: NameComparison): number {
  if (relation === 'part' || relation === 'initials') return 2;
  return relation === 'variant' || relation === 'typing-error' ? 1 : 0;
}

/** Two with the same short name of which only one has context may be different people. */
function shortNamePenalty(name: NameComparison, a: Profile, b: Profile): number {
  const isShort = name.relation === 'same' && name.points <= minSamePoints;
  return isShort && hasContext(a) !== hasContext(b) ? 0.5 : 0;
}

const hasContext = ({ emails, organizations }: Profile): boolean =>
  emails.length > 0 || organizations.length > 0;

type TypeComparison = 'same' | 'alike' | 'different';

const things: ReadonlySet<EntityType> = new Set(['project', 'object', 'other']);

/** Readers disagree on what is a project, an object or something else; `other` may be anything. */
function compareTypes(a: EntityType, b: EntityType): TypeComparison {
  if (a === b || (things.has(a) && things.has(b))) return 'same';
  return a === 'other' || b === 'other' ? 'alike' : 'different';
}

const isPerson = (a: Profile, b: Profile): boolean => a.type === 'person' || b.type === 'person';

/** Phoenix Reed, a person, has nothing to do with a project Phoenix. */
const isWholeName = ({ relation }: NameComparison): boolean => relation === 'same' || relation === 'variant';

/** Compares names as names of this type. */
export function compareNames(type: EntityType, a: string, b: string): NameComparison {
  if (type === 'person') return comparePersonNames(a, b);
  if (type === 'place') return comparePlaceNames(a, b);
  return type === 'organization' ? compareOrganizationNames(a, b) : compareThingNames(a, b);
}

/**
 * Profiles are compared when evidence is gathered and again when it is weighed: caching saves a third of the time.
 * Needs stable objects: a copied profile misses the cache.
 */
const compared = new WeakMap<Profile, WeakMap<Profile, NameComparison>>();

function knownComparison(a: Profile, b: Profile): NameComparison {
  let own = compared.get(a);
  if (!own) compared.set(a, (own = new WeakMap()));
  let comparison = own.get(b);
  if (!comparison) own.set(b, (comparison = bestNameComparison(a, b)));
  return comparison;
}

/** Full names are compared with full names only: Peter Weber is not Peter Klein because both were once called Peter. */
function bestNameComparison(a: Profile, b: Profile): NameComparison {
  const type = a.type === 'other' ? b.type : a.type;
  const fullNames = ({ names }: Profile) => (type === 'person' ? names.filter(isFullName) : []);
  const [ownFull, otherFull] = [fullNames(a), fullNames(b)];
  const areFull = ownFull.length > 0 && otherFull.length > 0;
  const isFullNamed = ownFull.length > 0 || otherFull.length > 0;
  let best: NameComparison | null = null;
  const known: [Set<string>, Set<string>] = [new Set(), new Set()];
  const contradictions: { readonly own: string; readonly other: string; readonly found: Contradiction }[] =
    [];
  for (const own of areFull ? ownFull : a.names)
    for (const other of areFull ? otherFull : b.names) {
      const found = compareNames(type, own, other);
      if (found.relation === 'same') {
        known[0].add(own);
        known[1].add(other);
      } else if (found.contradiction) contradictions.push({ own, other, found: found.contradiction });
      // Alice Chen may be written Alice or A. Chen, and so may others: a short alias is no proof.
      const isShort = found.relation === 'same' && found.points <= minSamePoints;
      const counted =
        isFullNamed && isShort ? { ...shortNameAgain, isPartial: found.isPartial === true } : found;
      if (best === null || isBetter(counted, best)) best = counted;
    }
  if (best === null || best.contradiction || type === 'person') return best ?? otherName(-8);
  // Acme AG and Acme GmbH are not the same because both are called Acme. What a person has merged has both names.
  const left = contradictions.find(({ own, other }) => !known[0].has(own) && !known[1].has(other));
  return left ? { ...best, contradiction: left.found } : best;
}

/** One pair of names without a contradiction is enough: people change their names. */
const isBetter = (one: NameComparison, other: NameComparison): boolean =>
  (one.contradiction === undefined) === (other.contradiction === undefined)
    ? one.points > other.points
    : one.contradiction === undefined;

const shortNameAgain = {
  relation: 'part',
  points: 2.75,
  reason: 'a short name it is known by',
} as const;

// Decides among all candidates of a mention: join one, create a new entity, or confirm with a model.

export interface MatchedCandidate<T> {
  readonly candidate: T;
  readonly match: Match;
  /** Tie breakers: whether more than the name is known, and how complete the name is. */
  readonly hasContext: boolean;
  /** Whether more than the name of the mention is known. */
  readonly isInContext: boolean;
  readonly isInArtifact: boolean;
  readonly isAddressedAlike: boolean;
  readonly fullness: number;
  readonly sortName: string;
}

export type Decision<T> =
  /** `others`: it may be the same as these, too. */
  | {
      readonly kind: 'join';
      readonly chosen: MatchedCandidate<T>;
      readonly others: readonly MatchedCandidate<T>[];
    }
  | { readonly kind: 'create' }
  /** Best first. A model may be called for `close`; `rest`: those with a veto, and those that are too many for a model. */
  | {
      readonly kind: 'confirm';
      readonly close: readonly MatchedCandidate<T>[];
      readonly rest: readonly MatchedCandidate<T>[];
    };

/** Candidates in one confirmation. */
const maxConfirmed = 5;

/** `hasModel`: without one, similarity of vectors alone does not keep a pair open. */
export function decide<T extends Matchable>(
  matched: readonly MatchedCandidate<T>[],
  hasModel: boolean,
): Decision<T> {
  // By points and name, so that the order in which they were written does not matter.
  const close = matched
    .filter(({ match }) => match.verdict !== 'different' && (hasModel || !match.isByVectorOnly))
    .sort((a, b) => b.match.points - a.match.points || (a.sortName < b.sortName ? -1 : 1));
  if (close.length === 0) return { kind: 'create' };
  const same = close.filter(({ match }) => match.verdict === 'same');
  const chosen = withoutNamesakes(same, matched);
  if (chosen !== null) return { kind: 'join', chosen, others: close.filter((one) => one !== chosen) };
  return uncertain(close);
}

/** `matched`: the best first. */
export function uncertain<T>(matched: readonly MatchedCandidate<T>[]): Decision<T> {
  const free = matched.filter(({ match }) => match.veto === null);
  // The full names first: a part of a name among its namesakes explains nothing.
  const vetoed = matched.filter(({ match }) => match.veto !== null).sort((a, b) => b.fullness - a.fullness);
  return {
    kind: 'confirm',
    close: free.slice(0, maxConfirmed),
    rest: [...free.slice(maxConfirmed), ...vetoed],
  };
}

/** Those of them that contradict another one. */
export const rivalsAmong = <T extends Pick<Matchable, 'profile'>>(all: readonly T[]): ReadonlySet<T> =>
  new Set(all.filter((one) => all.some((other) => other !== one && !mayBeSame(one, other))));

/** Contradicts the mention, although its name is the same or a form of it. */
export const isNamesake = ({ veto, isByPart, name }: Match): boolean =>
  veto !== null && !isByPart && ['same', 'variant', 'typing-error'].includes(name.relation);

/**
 * A name that fits two who contradict each other belongs to neither, unless the mention has more than role and colleagues in
 * common with one of them, or its document names only one: which of the two was written first must not decide.
 */
function withoutNamesakes<T extends Matchable>(
  same: readonly MatchedCandidate<T>[],
  matched: readonly MatchedCandidate<T>[],
): MatchedCandidate<T> | null {
  const rivals = rivalsAmong(same.map(({ candidate }) => candidate));
  const isRival = ({ candidate }: MatchedCandidate<T>) => rivals.has(candidate);
  if (rivals.size > 0) {
    const supported = same.filter(({ match }) => match.isSupported);
    const clear = supported.length > 0 ? supported : same.filter((one) => one.isInArtifact && isRival(one));
    if (clear.length > 0 && rivalsAmong(clear.map(({ candidate }) => candidate)).size === 0)
      return singleBest(clear);
    return singleBest(same.filter((one) => !isRival(one) && isByNameOnly(one)));
  }
  const namesakes = matched.filter(({ match }) => isNamesake(match));
  const fits = (one: MatchedCandidate<T>, other: MatchedCandidate<T>) => {
    const matchIn = (isInArtifact: boolean) =>
      matchProfiles(one.candidate.profile, other.candidate.profile, { isInArtifact, cosine: null });
    const elsewhere = matchIn(false);
    // The mention is one Nora Vance of the document: Nora Kate Vance fits it, and the other one, too.
    const isShortened =
      one.isInArtifact &&
      other.isInArtifact &&
      elsewhere.name.hasOtherMiddle === true &&
      other.match.name.hasOtherMiddle !== true;
    return (isShortened ? matchIn(true) : elsewhere).verdict === 'same';
  };
  return singleBest(
    same.filter((one) => one.match.isSupported || !namesakes.some((namesake) => fits(one, namesake))),
  );
}

/** The entity of earlier mentions by the name only, for another one. */
const isByNameOnly = <T>({ isInContext, hasContext, match }: MatchedCandidate<T>): boolean =>
  !isInContext && !hasContext && match.name.relation === 'same';

/** Narrows by one criterion after the other; null when none or several remain. */
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
  // Same name, different context: the entity without context has the earlier mentions without context.
  narrow(({ hasContext, match }) => !hasContext && match.name.relation === 'same');
  narrow(({ isAddressedAlike }) => isAddressedAlike);
  return left.length === 1 ? (left[0] ?? null) : null;
}

/** A stored entity, or one that the chunk creates. */
export interface Matchable extends Pick<CandidateEntity, 'profile' | 'isInArtifact' | 'cosine'> {
  readonly entity: Pick<Entity, 'entityId' | 'normalizedName'>;
}

interface MatchedMention {
  readonly profile: Profile;
  readonly name: string;
  readonly normalizedName: string;
  /** The document has several people of that name. */
  readonly isAmbiguous?: boolean;
}

/** `inChunk`: entities that other names of the same chunk were resolved to. */
export function matchCandidates<T extends Matchable>(
  mention: MatchedMention,
  candidates: readonly T[],
  inChunk: ReadonlySet<string> = new Set(),
): readonly MatchedCandidate<T>[] {
  return candidates.map((candidate) => {
    const { entity, profile, cosine } = candidate;
    const isInArtifact = candidate.isInArtifact || inChunk.has(entity.entityId);
    const match =
      mention.name === unnamedEntityName
        ? matchUnnamed(mention.normalizedName === entity.normalizedName)
        : withoutGuess(mention, profile, matchProfiles(mention.profile, profile, { isInArtifact, cosine }));
    const fullness = profile.type === 'person' ? nameFullness(profile.names[0] ?? '') : 0;
    const sortName = entity.normalizedName;
    const context = { hasContext: hasContext(profile), isInContext: hasContext(mention.profile) };
    const isAddressedAlike = gendersOf(profile).symmetricDifference(gendersOf(mention.profile)).size === 0;
    return { candidate, match, isInArtifact, isAddressedAlike, ...context, fullness, sortName };
  });
}

/**
 * Within a document a part of a name is resolved to the only one who has it: by the part, which sees all of them, not by
 * a full name, which would claim it before the others.
 */
function withoutGuess(mention: MatchedMention, other: Profile, match: Match): Match {
  const isGuess =
    mention.isAmbiguous === true ? other.names.some(isFullName) : mention.profile.names.some(isFullName);
  if (!match.isByPart || match.verdict !== 'same' || !isGuess) return match;
  return { ...match, verdict: 'uncertain', veto: 'a part of a name, which others may share' };
}

/** The same for a stored entity in place of a mention. */
export const matchEntity = (
  { profile, entity: { canonicalName: name, normalizedName } }: CandidateEntity,
  candidates: readonly CandidateEntity[],
): readonly MatchedCandidate<CandidateEntity>[] =>
  matchCandidates({ profile, name, normalizedName }, candidates);

/** Nothing can be compared without a name: unnamed mentions of one artifact are one entity. */
function matchUnnamed(isSame: boolean): Match {
  const points = isSame ? 4 : -8;
  const reason = 'no visible name';
  return {
    verdict: isSame ? 'same' : 'different',
    points,
    name: { relation: isSame ? 'same' : 'other', points, reason },
    veto: null,
    isContradicted: false,
    isByPart: false,
    isByVectorOnly: false,
    isSupported: false,
    reasons: [reason],
  };
}

/** Maps points to 0–1; one half is the middle of the uncertain range. */
export const confidenceOf = (points: number): number => 1 / (1 + Math.exp(minSamePoints - 1 - points));

export type PairDecision = Pick<PairDraft, 'reason' | 'state' | 'decidedBy'>;

export const inconclusive: PairDecision = {
  reason: 'Names and context are inconclusive.',
  state: 'open',
  decidedBy: null,
};

/** A pair for each of the candidates that an entity may be the same as. With a veto it stays open for a person. */
export const pairsWith = (
  entityId: string,
  close: readonly MatchedCandidate<Matchable>[],
  decision: PairDecision,
  ids: IdSource,
): readonly PairDraft[] =>
  close.map(({ candidate, match: { points, reasons, veto, isByPart } }) => ({
    pairId: ids.uuid(),
    entityId,
    otherId: candidate.entity.entityId,
    isByPart,
    confidence: confidenceOf(points),
    evidence: { points, reasons },
    ...(veto === null ? decision : leftToPerson(veto)),
  }));

/** Not a verdict: it keeps the pair from a model. */
export const decidedByRules = 'rules';

const leftToPerson = (veto: string): PairDecision => ({
  reason: `Only a person can decide: ${veto}.`,
  state: 'open',
  decidedBy: decidedByRules,
});
