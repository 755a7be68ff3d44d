// People whom records name in fields of their own: known without reading a sentence.
import type { ContextClues, StructuredMention } from '../ports.ts';
import { sharedNames } from '../text/name-cues.ts';

/** Fields that name somebody who had to do with the record. */
const personFields: ReadonlySet<string> = new Set(
  'owner author creator created_by updated_by modified_by submitted_by assignee assigned_to reporter requester reviewer approver approved_by manager supervisor lead contact user employee attendee attendees participant participants organizer organiser sender recipient recipients members speaker'.split(
    ' ',
  ),
);
/** The relation of a record's person where no field says what they are to it. */
export const somebody = 'person';
/** People lie at most so deep in a record. */
const deepest = 8;

/**
 * Whoever has a name and a mail address in one record; whoever a field such as `owner` or `assignee` names in full. The
 * relation is the field's name, `person` where there is none. Each once, however many records name them.
 */
export function peopleOfJson(value: unknown): readonly StructuredMention[] {
  const found = new Map<string, StructuredMention>();
  const add = (field: string | null, clues: ContextClues, name: string): void => {
    const mention: StructuredMention = {
      surfaceForm: name,
      type: 'person',
      relation: field ?? somebody,
      contextClues: clues,
    };
    const key = JSON.stringify([name.toLowerCase(), clues.email ?? null]);
    if (!found.has(key)) found.set(key, mention);
  };
  walk(value, null, 0, add);
  return [...found.values()];
}

type Add = (field: string | null, clues: ContextClues, name: string) => void;

function walk(value: unknown, field: string | null, depth: number, add: Add): void {
  if (depth > deepest || value === null) return;
  if (typeof value === 'string') {
    const name = field === null ? null : personName(value);
    if (name !== null) add(field, {}, name);
  } else if (Array.isArray(value)) {
    for (const each of value) walk(each, field, depth + 1, add);
  } else if (typeof value === 'object') {
    const record = value as Readonly<Record<string, unknown>>;
    const person = personOf(record, field !== null);
    if (person) add(field, person.clues, person.name);
    for (const [key, each] of Object.entries(record)) {
      const plain = plainKey(key);
      walk(each, personFields.has(plain) ? plain : null, depth + 1, add);
    }
  }
}

/** `createdBy` and `Created By` are `created_by`. */
const plainKey = (key: string): string =>
  key
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();

const wholeNames = ['display_name', 'full_name', 'name'] as const;

/** A record of somebody: any name with an address, or, where a field says that it is somebody, a name in full alone. */
function personOf(
  record: Readonly<Record<string, unknown>>,
  isSomebody: boolean,
): { readonly name: string; readonly clues: ContextClues } | null {
  const fields = new Map(
    Object.entries(record).flatMap(([key, each]) =>
      typeof each === 'string' ? [[plainKey(key), each.trim()] as const] : [],
    ),
  );
  const whole = wholeNames.map((key) => fields.get(key) ?? '').find((each) => each !== '');
  const parts = `${fields.get('first_name') ?? ''} ${fields.get('last_name') ?? ''}`.trim();
  const email = (
    fields.get('email') ??
    fields.get('mail') ??
    fields.get('email_address') ??
    ''
  ).toLowerCase();
  const hasEmail = /^[^\s@<>]+@[^\s@<>]+$/.test(email);
  const inFull = personName(whole ?? parts) ?? personName(parts);
  const name = inFull ?? (hasEmail ? nameWithAddress(whole ?? parts, email) : null);
  if (name === null || !(hasEmail || isSomebody)) return null;
  const role = clueOf(fields.get('role') ?? fields.get('job_title') ?? fields.get('position'));
  const organization = clueOf(fields.get('company') ?? fields.get('organization') ?? fields.get('employer'));
  return {
    name,
    clues: {
      ...(hasEmail ? { email } : {}),
      ...(role === null ? {} : { role }),
      ...(organization === null ? {} : { organization }),
    },
  };
}

const longestClue = 100;
const clueOf = (value: string | undefined): string | null =>
  value === undefined || value === '' || value.length > longestClue || !/\p{L}/u.test(value) ? null : value;

const word = String.raw`\p{Lu}[\p{L}\p{M}'’.-]*`;
const between = 'van|von|der|den|de|da|di|del|della|la|le|bin|ibn|al|el|ter|ten|dos|du|zu|y|e';
const fullName = new RegExp(`^${word}(?: (?:${word}|${between})){0,3} ${word}$`, 'u');
const turned = new RegExp(`^(${word}(?: ${word})?), (${word}(?: ${word})?)$`, 'u');

/** Two words at least, written as names are, none of them a team's or a mailbox's. */
function personName(given: string): string | null {
  const seen = given.replaceAll(/\s+/g, ' ').trim();
  const [, last, first] = turned.exec(seen) ?? [];
  const name = last === undefined || first === undefined ? seen : `${first} ${last}`;
  const isShared = hasSharedWord(name);
  return name.length <= 100 && fullName.test(name) && !isShared ? name : null;
}

/**
 * Beside an address anything that shows is a name, in any script and spelling: 王小明, Madonna, jane doe. Only a few
 * plain words with a team's or a mailbox's among them are not. One that shows nothing goes by its address.
 */
function nameWithAddress(given: string, email: string): string | null {
  if (given === '') return null;
  const name = given
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (name === '') return email;
  return plainWords.test(name) && hasSharedWord(name) ? null : name;
}

const plainWords = /^[\p{L}\p{M}'’.&-]+(?: [\p{L}\p{M}'’.&-]+){0,3}$/u;

const hasSharedWord = (name: string): boolean =>
  name.split(' ').some((each) => sharedNames.has(each.toLowerCase()));
