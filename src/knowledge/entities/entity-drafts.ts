// Entities of a chunk that are not written yet: later names of the chunk may match them.
import { kindOfKey, nameKeys } from './blocking-keys.ts';
import type { CleanClues, Profile } from './compare-clues.ts';
import type { MatchedCandidate } from './match.ts';
import { compareNames, matchUnnamed, matchProfiles, minSamePoints, tieBreakers } from './match.ts';
import { nameFullness, unnamedEntityName, normalizeName, visibleName } from './normalize.ts';
import type {
  EntityAddition,
  EntityDraft,
  CandidateEntity,
  MentionGroup,
  NameRow,
  ReviewReason,
} from './types.ts';

/** Grows as further names match it. */
export interface OpenDraft {
  readonly entityId: string;
  name: string;
  normalizedName: string;
  names: readonly NameRow[];
  clues: CleanClues;
  profile: Profile;
  readonly embedding: EntityDraft['embedding'];
  readonly reviewReason: ReviewReason | null;
  readonly isUnchecked: boolean;
}

/** Drafts compared with one name; only adversarial input has more under one key. */
const maxCompared = 20;

export class EntityDrafts {
  readonly all: OpenDraft[] = [];
  readonly #byKey = new Map<string, OpenDraft[]>();

  add(
    group: MentionGroup,
    entityId: string,
    made: Pick<OpenDraft, 'embedding' | 'reviewReason' | 'isUnchecked'>,
  ): OpenDraft {
    const { name, normalizedName, names, clues, profile } = group;
    const draft: OpenDraft = { entityId, name, normalizedName, names, clues, profile, ...made };
    this.all.push(draft);
    this.#index(draft, names);
    return draft;
  }

  /** Drafts that the name may refer to, with their scores. */
  match(group: MentionGroup): readonly MatchedCandidate<OpenDraft>[] {
    const found = new Set<OpenDraft>();
    const { keys, normalizedNames } = group.query;
    // Identities first: a draft with the same source id is compared however many share the name.
    const surest = keys.filter((key) => kindOfKey(key) === 'identity');
    for (const key of [...surest, ...normalizedNames.map((name) => `n:${name}`), ...keys])
      for (const draft of this.#byKey.get(key) ?? []) if (found.size < maxCompared) found.add(draft);
    return [...found].map((draft) => ({
      candidate: draft,
      match: this.#matchOne(group, draft),
      isInArtifact: true,
      ...tieBreakers(draft.profile),
    }));
  }

  #matchOne(group: MentionGroup, draft: OpenDraft): MatchedCandidate<OpenDraft>['match'] {
    return group.name === unnamedEntityName
      ? matchUnnamed(group.normalizedName === draft.normalizedName)
      : matchProfiles(group.profile, draft.profile, { isInArtifact: true, cosine: null });
  }

  /** Adds the name and clues of a mention that matched the draft. */
  join(draft: OpenDraft, group: MentionGroup): void {
    const known = new Set(draft.names.map(({ normalizedAlias }) => normalizedAlias));
    const added = group.names.filter(({ normalizedAlias }) => !known.has(normalizedAlias));
    draft.names = [...draft.names, ...added];
    draft.clues = {
      role: draft.clues.role ?? group.clues.role,
      organization: draft.clues.organization ?? group.clues.organization,
      email: draft.clues.email ?? group.clues.email,
      notes: [...new Set([...draft.clues.notes, ...group.clues.notes])].slice(0, 50),
    };
    const better = isBetterName(group, draft.name);
    if (better) Object.assign(draft, { name: group.name, normalizedName: group.normalizedName });
    draft.profile = joinedProfile(draft.profile, group.profile, better);
    this.#index(draft, added);
  }

  #index(draft: OpenDraft, names: readonly NameRow[]): void {
    for (const { normalizedAlias, keys } of names)
      for (const key of [`n:${normalizedAlias}`, ...keys]) {
        const there = this.#byKey.get(key);
        if (!there) this.#byKey.set(key, [draft]);
        else if (there.length < maxCompared && !there.includes(draft)) there.push(draft);
      }
  }
}

/** A full name is better than initials, a single word or an address. */
export const isBetterName = (group: Pick<MentionGroup, 'type' | 'name'>, than: string): boolean =>
  group.type === 'person' && nameFullness(group.name) > nameFullness(than);

function joinedProfile(a: Profile, b: Profile, isBetter: boolean): Profile {
  const both = (read: (profile: Profile) => readonly string[]) => [...new Set([...read(a), ...read(b)])];
  const names = isBetter ? [...new Set([...b.names, ...a.names])] : both(({ names: own }) => own);
  return {
    type: a.type,
    names,
    emails: both(({ emails }) => emails),
    organizations: both(({ organizations }) => organizations),
    roles: both(({ roles }) => roles),
    notes: both(({ notes }) => notes),
    coMentions: both(({ coMentions }) => coMentions).slice(0, 200),
  };
}

// What a mention adds to its entity: names, clues, a better canonical name.

/** Null when it adds nothing. */
export function additionFor(
  group: Pick<MentionGroup, 'type' | 'name' | 'normalizedName' | 'names' | 'clues'>,
  { entity, aliases }: CandidateEntity,
  suggestedName = '',
): EntityAddition | null {
  const known = new Set([entity.canonicalName, ...aliases]);
  const names = group.names.filter(
    ({ alias, keys }) => !known.has(alias) || keys.some((key) => /^[def]:/.test(key)),
  );
  const betterName = betterNameFor(group, entity.canonicalName, suggestedName);
  const { role, organization, email, notes } = group.clues;
  const isDistinctive =
    (role !== null && entity.role === null) ||
    (organization !== null && entity.organization === null) ||
    (email !== null && entity.email === null) ||
    notes.some((note) => !entity.contextClues.includes(note));
  if (names.length === 0 && betterName === null && !isDistinctive) return null;
  return {
    entityId: entity.entityId,
    names: [...names, ...nameRowFor(betterName, group)],
    clues: group.clues,
    betterName,
  };
}

/** A new canonical name gets lookup keys like any other name. */
function nameRowFor(
  better: EntityAddition['betterName'],
  { type, names }: Pick<MentionGroup, 'type' | 'names'>,
): readonly NameRow[] {
  if (better === null || names.some(({ normalizedAlias }) => normalizedAlias === better.normalizedName))
    return [];
  const { canonicalName: alias, normalizedName: normalizedAlias } = better;
  return [{ alias, normalizedAlias, keys: nameKeys(alias, type).kept }];
}

/** A name suggested by a model counts only if it is a form of a known name. */
function betterNameFor(
  group: Pick<MentionGroup, 'type' | 'name' | 'normalizedName'>,
  current: string,
  suggested: string,
): EntityAddition['betterName'] {
  const own = isBetterName(group, current)
    ? { canonicalName: group.name, normalizedName: group.normalizedName }
    : null;
  const name = visibleName(suggested);
  const isForm = [current, group.name].some(
    (known) => compareNames(group.type, name, known).points >= minSamePoints,
  );
  if (!isForm || !isBetterName({ type: group.type, name }, own?.canonicalName ?? current)) return own;
  return { canonicalName: name, normalizedName: normalizeName(name, group.type) };
}
