// Entities that a chunk brings and that are not written yet: later names of the chunk may mean them.
import type { ReviewReason } from '../ports.ts';
import type { Matched } from './choose-match.ts';
import { kindOfKey } from './lookup-keys.ts';
import { matchNameless, standingOf } from './match-known.ts';
import { matchProfiles } from './match.ts';
import type { MentionGroup } from './mention-groups.ts';
import { namelessName } from './normalize-name.ts';
import { nameFullness } from './person-name.ts';
import type { CleanClues, Profile } from './profile.ts';
import type { EntityDraft, NameRow } from './store-ports.ts';

/** A draft that grows as further names turn out to mean it. */
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

/** Drafts that one name is compared with; more share a key only in lists made to be slow. */
const mostCompared = 20;

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

  /** Those that the name may mean, compared with it. */
  match(group: MentionGroup): readonly Matched<OpenDraft>[] {
    const found = new Set<OpenDraft>();
    const { keys, normalizedNames } = group.wish;
    // However many are called that: who has the same id at its source is among those compared.
    const surest = keys.filter((key) => kindOfKey(key) === 'identity');
    for (const key of [...surest, ...normalizedNames.map((name) => `n:${name}`), ...keys])
      for (const draft of this.#byKey.get(key) ?? []) if (found.size < mostCompared) found.add(draft);
    return [...found].map((draft) => ({
      candidate: draft,
      match: this.#matchOne(group, draft),
      isInArtifact: true,
      ...standingOf(draft.profile),
    }));
  }

  #matchOne(group: MentionGroup, draft: OpenDraft): Matched<OpenDraft>['match'] {
    return group.name === namelessName
      ? matchNameless(group.normalizedName === draft.normalizedName)
      : matchProfiles(group.profile, draft.profile, { isInArtifact: true, cosine: null });
  }

  /** The name means the draft: it is another name of it, and what else is known adds up. */
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
        else if (there.length < mostCompared && !there.includes(draft)) there.push(draft);
      }
  }
}

/** A full name is better than initials, a word or an address. */
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
    companions: both(({ companions }) => companions).slice(0, 200),
  };
}
