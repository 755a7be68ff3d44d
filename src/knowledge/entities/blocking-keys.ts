// Lookup keys: exact matches on derived keys find similar names without comparing all entities.
import type { EntityType } from '../reading/types.ts';
import { fieldsOf, identityOf } from './compare-clues.ts';
import { parseOrganizationName, sortedKey, thingWords } from './compare-names.ts';
import type { PersonName } from './normalize.ts';
import { givenNameRoots, handleForms, isInitial, parsePersonName } from './normalize.ts';

/** The first letter of a key is its kind. Stored. */
const kinds = new Map(
  Object.entries({
    i: 'initials',
    r: 'nickname',
    s: 'trigram',
    p: 'trigram',
    e: 'email',
    d: 'identity',
    f: 'clue',
  } as const),
);

/** `part` for the keys of single words, `w:` and `1:`. */
export const kindOfKey = (key: string) => kinds.get(key[0] ?? '') ?? 'part';

interface NameKeys {
  /** Keys under which an entity with this name is stored. */
  readonly stored: readonly string[];
  /** Keys under which a mention with this name is looked up. */
  readonly lookup: readonly string[];
}

/** Longer keys are cut to fit an index; the names are compared afterwards anyway. */
const maxKeyLength = 200;
const bounded = (keys: readonly string[]): readonly string[] => [
  ...new Set(keys.map((key) => key.slice(0, maxKeyLength).toWellFormed())),
];

export function nameKeys(name: string, type: EntityType): NameKeys {
  const { stored, lookup } = keysOf[type](name);
  return { stored: bounded(stored), lookup: bounded(lookup) };
}

function personKeys(name: string): NameKeys {
  const person = parsePersonName(name);
  if (!person) return { stored: [], lookup: [] };
  if (person.single !== null) return singleKeys(person.single);
  const shared = fullNameKeys(person);
  const [first = '', last = ''] = [person.given[0], person.surname?.split(' ').at(-1)];
  const words = [...(isInitial(first) ? [] : givenNameRoots(first)), last, person.surname ?? ''];
  const handles = handleForms(person);
  return {
    stored: [...shared, ...words.map((word) => `w:${word}`), ...handles.map((handle) => `i:h ${handle}`)],
    lookup: [...shared, ...[...words, ...handles].map((word) => `1:${word}`)],
  };
}

const singleKeys = (single: string): NameKeys => ({
  stored: givenNameRoots(single).map((root) => `1:${root}`),
  lookup: [
    ...givenNameRoots(single).flatMap((root) => [`1:${root}`, `w:${root}`]),
    `i:h ${single}`,
    ...(single.length > 4 ? [`p:${single.slice(0, 4)}`] : []),
  ],
});

function fullNameKeys({ given, surname }: PersonName): readonly string[] {
  const first = given[0] ?? '';
  const last = surname ?? '';
  return [
    `i:${first.slice(0, 1)} ${last}`,
    `s:${sortedKey([first, ...last.split(' ')])}`,
    ...(isInitial(first) ? [] : givenNameRoots(first).map((root) => `r:${root} ${last}`)),
    // A typo is rarely in both prefixes.
    ...(last.length >= 4 ? [`p:${first.slice(0, 1)} ${last.slice(0, 3)}`] : []),
    ...(first.length >= 4 ? [`p:${first.slice(0, 4)} ${last.slice(0, 1)}`] : []),
  ];
}

function organizationKeys(name: string): NameKeys {
  const { base, acronym } = parseOrganizationName(name);
  const compact = base.replaceAll(' ', '');
  if (compact === '') return { stored: [], lookup: [] };
  const shared = [`s:o ${compact}`, ...(compact.length >= 6 ? [`p:o ${compact.slice(0, 5)}`] : [])];
  const short = acronym === null ? [] : [acronym];
  return {
    stored: [...shared, ...short.map((letters) => `i:o ${letters}`)],
    lookup: [...shared, `i:o ${compact}`, ...short.map((letters) => `s:o ${letters}`)],
  };
}

function thingKeys(name: string): NameKeys {
  const words = thingWords(name);
  const compact = words.join('');
  const sorted = sortedKey(words);
  const shared = [
    `s:t ${sorted}`,
    `s:t ${sorted.replaceAll(/s\b/g, '')}`,
    `s:t ${compact}`,
    ...(compact.length >= 8 ? [`p:t ${compact.slice(0, 5)}`, `p:t ${compact.slice(-5)}`] : []),
  ];
  return compact === '' ? { stored: [], lookup: [] } : { stored: shared, lookup: shared };
}

/** Type unknown: matches entities of any type with exactly this name. */
function otherKeys(name: string): NameKeys {
  const things = thingKeys(name);
  const whole = [...personKeys(name).stored, ...organizationKeys(name).stored].filter((key) =>
    key.startsWith('s:'),
  );
  return { stored: [...things.stored, ...whole], lookup: [...things.lookup, ...whole] };
}

const keysOf: Readonly<Record<EntityType, (name: string) => NameKeys>> = {
  person: personKeys,
  organization: organizationKeys,
  project: thingKeys,
  object: thingKeys,
  place: thingKeys,
  other: otherKeys,
};

/** Keys from other clues: source ids, addresses, and fields with rare values. */
export function clueKeys(emails: readonly string[], notes: readonly string[]): readonly string[] {
  const fields = [...fieldsOf(notes)].flatMap(([field, values]) =>
    field === '' ? [] : values.filter(isDistinctive).map((value) => `f:${field}=${value}`),
  );
  const identities = notes.map(identityOf).filter((identity) => identity !== null);
  return bounded([
    ...identities.map((identity) => `d:${identity}`),
    ...emails.map((email) => `e:${email}`),
    ...fields,
  ]);
}

const isDistinctive = (value: string): boolean =>
  value.replaceAll(/\P{N}/gu, '').length >= 6 || value.replaceAll(/\P{L}/gu, '').length >= 9;
