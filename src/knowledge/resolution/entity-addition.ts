// What a mention adds to the entity it means: names, clues, a better name to go by.
import { isBetterName } from './entity-drafts.ts';
import { nameKeys } from './lookup-keys.ts';
import { compareNames, pointsForSame } from './match.ts';
import type { MentionGroup } from './mention-groups.ts';
import { normalizeName, visibleName } from './normalize-name.ts';
import type { EntityAddition, KnownEntity, NameRow } from './store-ports.ts';

/** Null when there is nothing new in it. */
export function additionOf(
  group: Pick<MentionGroup, 'type' | 'name' | 'normalizedName' | 'names' | 'clues'>,
  { entity, aliases }: KnownEntity,
  suggestedName = '',
): EntityAddition | null {
  const known = new Set([entity.canonicalName, ...aliases]);
  const names = group.names.filter(
    ({ alias, keys }) => !known.has(alias) || keys.some((key) => /^[def]:/.test(key)),
  );
  const betterName = betterNameOf(group, entity.canonicalName, suggestedName);
  const { role, organization, email, notes } = group.clues;
  const isTelling =
    (role !== null && entity.role === null) ||
    (organization !== null && entity.organization === null) ||
    (email !== null && entity.email === null) ||
    notes.some((note) => !entity.contextClues.includes(note));
  if (names.length === 0 && betterName === null && !isTelling) return null;
  return {
    entityId: entity.entityId,
    names: [...names, ...nameRowOf(betterName, group)],
    clues: group.clues,
    betterName,
  };
}

/** A name that nobody wrote yet is looked for like any other. */
function nameRowOf(
  better: EntityAddition['betterName'],
  { type, names }: Pick<MentionGroup, 'type' | 'names'>,
): readonly NameRow[] {
  if (better === null || names.some(({ normalizedAlias }) => normalizedAlias === better.normalizedName))
    return [];
  const { canonicalName: alias, normalizedName: normalizedAlias } = better;
  return [{ alias, normalizedAlias, keys: nameKeys(alias, type).kept }];
}

/** A model may propose a name; it counts only if it is a form of one that we know. */
function betterNameOf(
  group: Pick<MentionGroup, 'type' | 'name' | 'normalizedName'>,
  current: string,
  suggested: string,
): EntityAddition['betterName'] {
  const own = isBetterName(group, current)
    ? { canonicalName: group.name, normalizedName: group.normalizedName }
    : null;
  const name = visibleName(suggested);
  const isForm = [current, group.name].some(
    (known) => compareNames(group.type, name, known).points >= pointsForSame,
  );
  if (!isForm || !isBetterName({ type: group.type, name }, own?.canonicalName ?? current)) return own;
  return { canonicalName: name, normalizedName: normalizeName(name, group.type) };
}
