// A name against everybody it may mean.
import type { Matched } from './choose-match.ts';
import type { Match } from './match.ts';
import { hasContext, matchProfiles } from './match.ts';
import type { MentionGroup } from './mention-groups.ts';
import { namelessName } from './normalize-name.ts';
import { nameFullness } from './person-name.ts';
import type { Profile } from './profile.ts';
import type { KnownEntity } from './store-ports.ts';

/** What tells candidates apart that all fit. */
export const standingOf = (profile: Profile) => ({
  hasContext: hasContext(profile),
  fullness: profile.type === 'person' ? nameFullness(profile.names[0] ?? '') : 0,
});

/** `here`: entities that other names of the same chunk turned out to mean. */
export function matchKnown(
  group: Pick<MentionGroup, 'profile' | 'normalizedName' | 'name'>,
  known: readonly KnownEntity[],
  here: ReadonlySet<string> = new Set(),
): readonly Matched<KnownEntity>[] {
  return known.map((candidate) => {
    const isInArtifact = candidate.isInArtifact || here.has(candidate.entity.entityId);
    const match =
      group.name === namelessName
        ? matchNameless(group.normalizedName === candidate.entity.normalizedName)
        : matchProfiles(group.profile, candidate.profile, { isInArtifact, cosine: candidate.cosine });
    return { candidate, match, isInArtifact, ...standingOf(candidate.profile) };
  });
}

/** Without a name there is nothing to compare: within one artifact they are one. */
export const matchNameless = (isSame: boolean): Match => ({
  verdict: isSame ? 'same' : 'different',
  points: isSame ? 4 : -8,
  name: { relation: isSame ? 'same' : 'other', points: isSame ? 4 : -8, reason: 'no visible name' },
  isByVectorOnly: false,
  reasons: ['no visible name'],
});
