// Mentions of one chunk put together by what they are called: each name is resolved once, however often it stands there.
import type { EntityMention, EntityType, MentionPlace } from '../ports.ts';
import { entityTypes } from '../ports.ts';
import { clueKeys, nameKeys } from './lookup-keys.ts';
import { compareNames } from './match.ts';
import { isNameless, namelessName, normalizeName, plainWords, visibleName } from './normalize-name.ts';
import { nameFullness } from './person-name.ts';
import type { CleanClues, Profile } from './profile.ts';
import { cleanClues, identityOf, profileOf } from './profile.ts';
import type { CandidateWish, NameRow } from './store-ports.ts';

export interface MentionGroup {
  /** Which mentions: their places in the list that was given. */
  readonly members: readonly number[];
  readonly type: EntityType;
  /** As it is shown. */
  readonly name: string;
  readonly normalizedName: string;
  /** With its spellings; the first is `name`. */
  readonly names: readonly NameRow[];
  readonly clues: CleanClues;
  readonly profile: Profile;
  readonly wish: CandidateWish;
}

/** Companions that are looked at. */
const mostCompanions = 200;

/** Those that tell most come first, so that the others can be recognised in them. */
export function groupMentions(
  mentions: readonly EntityMention[],
  place: MentionPlace,
): readonly MentionGroup[] {
  const byKey = new Map<string, { readonly first: Named; readonly members: Named[] }>();
  for (const [index, mention] of mentions.entries()) {
    const named = readMention(mention, index, place);
    const key = JSON.stringify([
      named.type,
      named.normalizedName,
      named.clues.email,
      named.clues.organization,
      named.clues.notes.find((note) => identityOf(note) !== null) ?? null,
    ]);
    const known = byKey.get(key);
    if (known) known.members.push(named);
    else byKey.set(key, { first: named, members: [named] });
  }
  const firsts = [...byKey.values()].slice(0, mostCompanions).map(({ first }) => plainWords(first.name));
  const everybody = [...new Set(firsts)];
  return [...byKey.values()].map(({ members }) => groupOf(members, everybody)).sort(byTelling);
}

interface Named {
  readonly index: number;
  readonly type: EntityType;
  readonly name: string;
  readonly normalizedName: string;
  readonly surface: string;
  readonly clues: CleanClues;
}

function readMention(mention: EntityMention, index: number, place: MentionPlace): Named {
  const type = entityTypes.includes(mention.type) ? mention.type : 'other';
  const surface = visibleName(mention.surfaceForm);
  const given = isNameless(mention.canonicalSuggestion) ? mention.surfaceForm : mention.canonicalSuggestion;
  const name = visibleName(given);
  // Whoever has no name is nobody else's namesake: one for each artifact.
  const normalizedName =
    name === namelessName ? `${namelessName} ${place.artifactUid}` : normalizeName(given, type);
  return { index, type, name, normalizedName, surface, clues: cleanClues(mention.contextClues, name) };
}

function groupOf(members: readonly Named[], everybody: readonly string[]): MentionGroup {
  const [first] = members as readonly [Named, ...Named[]];
  const { type, name, normalizedName } = first;
  const clues: CleanClues = {
    role: members.find((member) => member.clues.role !== null)?.clues.role ?? null,
    organization: first.clues.organization,
    email: first.clues.email,
    notes: [...new Set(members.flatMap((member) => member.clues.notes))].slice(0, 50),
  };
  const plainName = plainWords(name);
  const profile = profileOf(
    type,
    [name],
    clues,
    everybody.filter((other) => other !== plainName),
  );
  const keys = clueKeys(profile.emails, profile.notes);
  const isNamed = name !== namelessName;
  const { kept, wanted } = nameKeys(name, type);
  const own: NameRow = {
    alias: name,
    normalizedAlias: normalizedName,
    keys: isNamed ? [...kept, ...keys] : [],
  };
  return {
    members: members.map(({ index }) => index),
    type,
    name,
    normalizedName,
    names: [own, ...(isNamed ? spellings(members, own) : [])],
    clues,
    profile,
    wish: {
      normalizedNames: [normalizedName],
      keys: isNamed ? [...wanted, ...keys] : [],
      emails: profile.emails,
    },
  };
}

/** How the text writes it, where that is a form of the name: "she" and "the manager" are nobody's names. */
function spellings(members: readonly Named[], own: NameRow): readonly NameRow[] {
  const rows = new Map<string, NameRow>();
  for (const { surface, type, name } of members) {
    if (surface === name || surface === namelessName || compareNames(type, surface, name).points < 2)
      continue;
    const normalizedAlias = normalizeName(surface, type);
    if (normalizedAlias === own.normalizedAlias || rows.has(normalizedAlias)) continue;
    rows.set(normalizedAlias, { alias: surface, normalizedAlias, keys: nameKeys(surface, type).kept });
  }
  return [...rows.values()];
}

function byTelling(a: MentionGroup, b: MentionGroup): number {
  const rank = ({ clues, type, name }: MentionGroup) =>
    (clues.email === null ? 0 : 10) + (type === 'person' ? nameFullness(name) : 4);
  return rank(b) - rank(a) || b.name.length - a.name.length || (a.members[0] ?? 0) - (b.members[0] ?? 0);
}
