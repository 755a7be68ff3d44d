// JSON documents: as searchable text, with the people their fields name and a mask of the values that hold prose.
import { KnowledgeError } from '../errors.ts';
import type { ContextClues, StructuredMention } from '../reading/types.ts';
import { sharedNames } from '../text/lexicon.ts';
import { withoutInvisible } from '../text/spans.ts';

interface JsonDocument {
  readonly text: string;
  readonly data: DataForm;
  readonly mentions: readonly StructuredMention[];
  readonly warnings: readonly string[];
}

/** Invalid JSON is kept as it is, for search only. Fails with KNOWLEDGE_DOCUMENT_UNREADABLE. */
export function readJsonDocument(text: string): JsonDocument {
  const parsed = parseJsonText(text);
  if (parsed === null)
    return {
      text,
      data: 'raw',
      mentions: [],
      warnings: ['It is not valid JSON: it is searchable as it is, but not read.'],
    };
  const { value, brokenLines } = parsed;
  return {
    text: jsonText(value),
    data: 'lines',
    mentions: peopleOfJson(value),
    warnings:
      brokenLines === 0 ? [] : [`Lines that are not valid JSON were kept as they are: ${brokenLines}.`],
  };
}

/** Deeper than any real document; deeper nesting is an attack. */
const maxTextDepth = 500;
/** Deeper values are written as JSON. */
const deepestPath = 40;

/**
 * `owner.name: Ann`; a multi-line value follows its name, each line indented by two spaces; a value without a name
 * follows `-`. Records of a list are separated by a blank line. Empty values are omitted.
 */
function jsonText(value: unknown): string {
  const records = Array.isArray(value) && value.some(isStructure) ? value : [value];
  return records
    .map((record) => {
      const lines: string[] = [];
      write(record, '', 0, lines);
      return lines.join('\n');
    })
    .filter((record) => record !== '')
    .join('\n\n');
}

/** The value of a JSON text or of JSON lines; for lines also how many are invalid. */
interface ParsedJson {
  readonly value: unknown;
  readonly brokenLines: number;
}

/** Null when it is neither. Fails with KNOWLEDGE_DOCUMENT_UNREADABLE when it is nested too deeply. */
function parseJsonText(text: string): ParsedJson | null {
  if (isNestedBeyond(text, maxTextDepth))
    throw new KnowledgeError(
      'KNOWLEDGE_DOCUMENT_UNREADABLE',
      `The document cannot be read: as JSON it is nested more than ${maxTextDepth} levels deep. Send it flatter, or as text.`,
    );
  try {
    return { value: JSON.parse(text) as unknown, brokenLines: 0 };
  } catch {
    return parseLines(text);
  }
}

/** A truncated line, or log output between the records, is kept as text. */
function parseLines(text: string): ParsedJson | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  let brokenLines = 0;
  const value = lines.map((line): unknown => {
    try {
      return JSON.parse(line) as unknown;
    } catch {
      brokenLines++;
      return line;
    }
  });
  return lines.length >= 2 && brokenLines <= lines.length / 2 && value.some(isStructure)
    ? { value, brokenLines }
    : null;
}

const isStructure = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Checked before parsing: later recursion must not overflow the stack. */
function isNestedBeyond(text: string, max: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '\\' && isInString) at++;
    else if (sign === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (sign === '[' || sign === '{') depth++;
    else if (sign === ']' || sign === '}') depth--;
    if (depth > max) return true;
  }
  return false;
}

function write(value: unknown, path: string, depth: number, lines: string[]): void {
  if (value === null || value === undefined || value === '') return;
  if (typeof value !== 'object' || depth >= deepestPath) {
    const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
    const name = path === '' ? '-' : `${path}:`;
    if (text === '') return;
    const [first = '', ...others] = text.split(/\r\n|[\n\r\u2028\u2029]/);
    lines.push(...(others.length === 0 ? [`${name} ${first}`] : [name, ...[first, ...others].map(indented)]));
    return;
  }
  if (Array.isArray(value))
    for (const [index, each] of value.entries())
      write(each, isStructure(each) ? `${path}[${index}]` : path, depth + 1, lines);
  else
    for (const [key, each] of Object.entries(value))
      write(each, path === '' ? named(key) : `${path}.${named(key)}`, depth + 1, lines);
}

const indented = (line: string): string => `  ${line}`;

/** A field name is one line without `: `. */
const named = (key: string): string => key.replaceAll(/\s+/g, ' ').replaceAll(': ', ' ').trim();

/** Fields that name a person related to the record. */
const personFields: ReadonlySet<string> = new Set(
  `owner author creator created_by updated_by modified_by submitted_by assignee assigned_to reporter
  requester reviewer approver approved_by manager supervisor lead contact user employee attendee
  attendees participant participants organizer organiser sender recipient recipients members speaker`.split(
    /\s+/,
  ),
);
/** The relation of a person that no field defines. */
export const unspecifiedRelation = 'person';
/** Depth of a record that is searched for people. */
const deepest = 8;

/**
 * People with a name and an email address in one record, and people that a field such as `owner` or `assignee` names in
 * full. The relation is the field's name, else `person`. Each person once, however many records name them.
 */
function peopleOfJson(value: unknown): readonly StructuredMention[] {
  const found = new Map<string, StructuredMention>();
  for (const mention of peopleIn(value, null, 0)) {
    const key = JSON.stringify([mention.surfaceForm.toLowerCase(), mention.contextClues.email ?? null]);
    if (!found.has(key)) found.set(key, mention);
  }
  return [...found.values()];
}

/** `field`: the person field that the value belongs to. */
function* peopleIn(value: unknown, field: string | null, depth: number): Generator<StructuredMention> {
  if (depth > deepest || value === null) return;
  const mentionOf = (surfaceForm: string, contextClues: ContextClues): StructuredMention => ({
    surfaceForm,
    type: 'person',
    relation: field ?? unspecifiedRelation,
    contextClues,
  });
  if (typeof value === 'string') {
    const name = field === null ? null : personName(value);
    if (name !== null) yield mentionOf(name, {});
  } else if (Array.isArray(value)) {
    for (const each of value) yield* peopleIn(each, field, depth + 1);
  } else if (typeof value === 'object') {
    const record = value as Readonly<Record<string, unknown>>;
    const person = personOf(record, field !== null);
    if (person) yield mentionOf(person.name, person.clues);
    for (const [key, each] of Object.entries(record)) {
      const plain = plainKey(key);
      yield* peopleIn(each, personFields.has(plain) ? plain : null, depth + 1);
    }
  }
}

/** `createdBy` and `Created By` are `created_by`. */
const plainKey = (key: string): string =>
  key
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();

/** A person record: any name with an address or, below a person field, a full name alone. */
function personOf(
  record: Readonly<Record<string, unknown>>,
  isPersonField: boolean,
): { readonly name: string; readonly clues: ContextClues } | null {
  const fields = new Map(
    Object.entries(record).flatMap(([key, each]) =>
      typeof each === 'string' ? [[plainKey(key), each.trim()] as const] : [],
    ),
  );
  const first = (...keys: readonly string[]) =>
    keys.map((key) => fields.get(key)).find((each) => each !== undefined);
  const whole = ['display_name', 'full_name', 'name']
    .map((key) => fields.get(key) ?? '')
    .find((each) => each !== '');
  const parts = `${fields.get('first_name') ?? ''} ${fields.get('last_name') ?? ''}`.trim();
  const email = (first('email', 'mail', 'email_address') ?? '').toLowerCase();
  const hasEmail = /^[^\s@<>]+@[^\s@<>]+$/.test(email);
  const inFull = personName(whole ?? parts) ?? personName(parts);
  const name = inFull ?? (hasEmail ? nameWithAddress(whole ?? parts, email) : null);
  if (name === null || !(hasEmail || isPersonField)) return null;
  const role = clueOf(first('role', 'job_title', 'position'));
  const organization = clueOf(first('company', 'organization', 'employer'));
  return {
    name,
    clues: {
      ...(hasEmail ? { email } : {}),
      ...(role === null ? {} : { role }),
      ...(organization === null ? {} : { organization }),
    },
  };
}

const maxClueLength = 100;
const clueOf = (value: string | undefined): string | null =>
  value === undefined || value === '' || value.length > maxClueLength || !/\p{L}/u.test(value) ? null : value;

const word = String.raw`\p{Lu}[\p{L}\p{M}'’.-]*`;
const between = 'van|von|der|den|de|da|di|del|della|la|le|bin|ibn|al|el|ter|ten|dos|du|zu|y|e';
const fullName = new RegExp(`^${word}(?: (?:${word}|${between})){0,3} ${word}$`, 'u');
const turned = new RegExp(`^(${word}(?: ${word})?), (${word}(?: ${word})?)$`, 'u');

/** At least two capitalized words, none of them the name of a team or mailbox. */
function personName(given: string): string | null {
  const seen = given.replaceAll(/\s+/g, ' ').trim();
  const [, last, first] = turned.exec(seen) ?? [];
  const name = last === undefined || first === undefined ? seen : `${first} ${last}`;
  const isShared = hasSharedWord(name);
  return name.length <= 100 && fullName.test(name) && !isShared ? name : null;
}

/**
 * With an address every visible name is accepted, in any script and spelling: 王小明, Madonna, jane doe. Names of teams
 * and mailboxes are not. An invisible name is replaced by the address.
 */
function nameWithAddress(given: string, email: string): string | null {
  if (given === '') return null;
  const name = withoutInvisible(given).replaceAll(/\s+/g, ' ').trim();
  if (name === '') return email;
  return plainWords.test(name) && hasSharedWord(name) ? null : name;
}

const plainWords = /^[\p{L}\p{M}'’.&-]+(?: [\p{L}\p{M}'’.&-]+){0,3}$/u;

const hasSharedWord = (name: string): boolean =>
  name.split(' ').some((each) => sharedNames.has(each.toLowerCase()));

/**
 * Marks a revision that is data, in its metadata under `data`. `lines`: written by `jsonText`, prose is in the values;
 * `raw`: the structure is unknown, so it is searched and not read.
 */
export type DataForm = 'lines' | 'raw';

/** Fields that contain prose of any length. */
const proseNames =
  /(?:^|[._ -])(?:description|descriptions?|notes?|comments?|body|text|message|content|summary|details?|reason|minutes|remarks?|abstract|bio|agenda|feedback|answer|question|decision|action)$/i;
/** Fields that never contain prose. */
const technicalNames =
  /(?:^|[._ -])(?:ids?|uuid|guid|urls?|uris?|href|links?|path|file(?:name)?|slug|hash|token|keys?|sql(?:_\w+)?|query|expressions?|formula|code|script|html|css|regex|pattern|filters?|sorts?|fields?|titles?|names?|labels?|tags?|types?|kinds?|status|states?|format|colou?rs?|timezone|locale|lookml|user_?agent|stack(?:_?trace)?)$/i;
const minWords = { inProseFields: 3, elsewhere: 5 } as const;
/** Title Case Looks Like This; in sentences of any language most words are lower case. */
const minSmall = 0.25;
/** Code, addresses and figures have a lower share of plain words. */
const minPlain = 0.6;
const plainWord = /^["'(“„«]?[\p{L}\p{M}][\p{L}\p{M}'’-]*[.,;:!?)”"'»]*$/u;
/** Scripts without spaces between words: prose has at least this many characters. */
const dense =
  /(?:[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Khmer}\p{scx=Lao}\p{scx=Myanmar}][\s\S]?){12}/u;

/** The last name of a path decides; longer words are not words. */
const maxNameLength = 100;
const maxWordLength = 100;

/** Whether the value of a field is prose. */
export function isProse(path: string, value: string): boolean {
  const name = camelParted(path.replaceAll(/\[\d+\]/g, '')).slice(-maxNameLength);
  if (technicalNames.test(name)) return false;
  const words = value.split(/\s+/).filter((word) => word !== '');
  const plain = words.filter((word) => word.length <= maxWordLength && plainWord.test(word));
  const small = plain.filter((word) => /^["'(“„«]?\p{Ll}/u.test(word));
  const least = proseNames.test(name) ? minWords.inProseFields : minWords.elsewhere;
  if (dense.test(value)) return true;
  return (
    words.length >= least &&
    plain.length >= words.length * minPlain &&
    small.length >= plain.length * minSmall
  );
}

/** `noteText` → `note_text`. */
const camelParted = (name: string): string => name.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2');

/** The text with spaces in place of everything that is not prose: same length, so that offsets stay. */
export function maskData(text: string, form: unknown): string {
  if (form === 'raw') return blanked(text);
  return form === 'lines' ? proseLines(text) : text;
}

function proseLines(text: string): string {
  const kept: string[] = [];
  let block: string[] = [];
  const flush = (): void => {
    kept.push(...proseOfBlock(block));
    block = [];
  };
  for (const line of text.split('\n')) {
    // Two spaces continue a value.
    if (!line.startsWith('  ')) flush();
    block.push(line);
  }
  flush();
  return kept.join('\n');
}

const field = /^(?:- |(.*?):(?: |$))/;

/** The lines of one value, after its name. */
function proseOfBlock(lines: readonly string[]): readonly string[] {
  const [first = '', ...others] = lines;
  const [head = '', path = ''] = field.exec(first) ?? [];
  const isKept = isProse(path, [first.slice(head.length), ...others].join('\n'));
  return isKept ? [blanked(head) + first.slice(head.length), ...others] : lines.map(blanked);
}

const blanked = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
