// Header lines of a document: the headers of an email, labeled lines such as "Attendees:", and the people they list.
import type { StructuredMention } from '../reading/types.ts';
import { findDate } from '../text/dates.ts';
import { wordKind } from '../text/lexicon.ts';
import type { KnownPerson } from './roster.ts';
import { isRole, isSurelyOrganization, readPosition } from './roster.ts';

interface TextHead {
  readonly subject: string | null;
  readonly date: Date | null;
  /** It has a sender and a recipient. */
  readonly isMail: boolean;
}

const known = /^(?:from|to|cc|date|sent|subject)$/i;
const line = /^([A-Za-z][A-Za-z -]{0,30}):[ \t]+(\S.*)$/;
const maxLines = 20;

const heading = /^\s*#{1,6}[ \t]+\S[^\n]*\n\s*/;

/**
 * Null unless the text begins with at least two lines `Name: value`, the first with a known header name. Below a
 * Markdown heading, which is the title, one such line with a date is enough.
 */
export function readTextHead(text: string): TextHead | null {
  const above = heading.exec(text)?.[0];
  if (above !== undefined) {
    const date = dateOf(fieldsOf(text.slice(above.length)).get('date') ?? '');
    return date === null ? null : { subject: null, date, isMail: false };
  }
  const fields = fieldsOf(text);
  if (fields.size < 2) return null;
  return {
    subject: fields.get('subject') ?? null,
    date: dateOf(fields.get('date') ?? fields.get('sent') ?? ''),
    isMail: fields.has('from') && fields.has('to'),
  };
}

/** Header values by lower-case name. */
function fieldsOf(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const each of text.split(/\r?\n/, maxLines)) {
    const [, name = '', value = ''] = line.exec(each) ?? [];
    if (name === '' || (fields.size === 0 && !known.test(name))) break;
    // The first one counts: later ones may be quoted.
    const key = name.toLowerCase();
    if (!fields.has(key)) fields.set(key, value.trim());
  }
  return fields;
}

const timeWithZone = /\d:\d{2}.*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})/;

/** A date with weekday, zone and comment. */
const maxDateLength = 100;

/** Without a time zone only the day counts, at midnight UTC: the writer's zone is unknown. */
function dateOf(field: string): Date | null {
  const words = field.slice(0, maxDateLength);
  const moment = new Date(timeWithZone.test(words) ? words : '');
  return Number.isNaN(moment.getTime()) ? findDate(words, null) : moment;
}

export interface MailHead extends TextHead {
  readonly mentions: readonly StructuredMention[];
}

const relations: Readonly<Record<string, string>> = { from: 'author', to: 'recipient', cc: 'recipient' };

/** Headers of an email as the document parser writes them. */
export function readMailHead(text: string): MailHead {
  const fields = fieldsOf(text);
  const mentions = Object.entries(relations).flatMap(([field, relation]) =>
    peopleOf(fields.get(field) ?? '').map((person) => ({ ...person, relation })),
  );
  return {
    subject: fields.get('subject') ?? null,
    date: dateOf(fields.get('date') ?? ''),
    isMail: true,
    mentions,
  };
}

type Addressee = Omit<StructuredMention, 'relation'>;

/** Neither nests nor overlaps: linear on any field. */
const angled = /<([^<>]*)>(?:,\s*|$)/g;

/**
 * Bare addresses, and names (which may contain commas) with an address: "ann@x.org, Lee, Ben <ben@x.org>". In one pass:
 * the sender chooses the field, which may have millions of characters.
 */
function peopleOf(field: string): readonly Addressee[] {
  const people: Addressee[] = [];
  let at = 0;
  const add = (name: string, address: string): void => {
    const email = address.trim().toLowerCase();
    const shown = name.trim().replace(/^["']|["']$/g, '');
    const surfaceForm = shown === '' ? email : shown;
    if (surfaceForm !== '')
      people.push({ surfaceForm, type: 'person', contextClues: email === '' ? {} : { email } });
  };
  for (const { index, 0: whole, 1: address = '' } of field.matchAll(angled)) {
    for (let bare = bareAddress(field, at); bare; bare = bareAddress(field, at)) {
      add('', bare.address);
      at = bare.end;
    }
    add(field.slice(at, index), address);
    at = index + whole.length;
  }
  // Behind the last name with an address, also after other words.
  while (at < field.length) {
    const bare = bareAddress(field, at);
    if (bare) add('', bare.address);
    at = bare?.end ?? nextWord(field, at);
  }
  return people;
}

const word = /[^,<>\s]+/y;
const separator = /,\s*/y;

/** The address that begins here, if a comma or the end follows it. */
function bareAddress(field: string, at: number): { readonly address: string; readonly end: number } | null {
  const address = matchAt(word, field, at);
  const sign = address.indexOf('@', 1);
  if (sign < 1 || sign === address.length - 1) return null;
  const end = at + address.length;
  const comma = matchAt(separator, field, end);
  return comma === '' && end < field.length ? null : { address, end: end + comma.length };
}

/** The position after the word that begins here, or after one character. */
const nextWord = (field: string, at: number): number => at + (matchAt(word, field, at).length || 1);

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

/** The role of the people in a labeled line. */
export type HeadRole = 'author' | 'recipient' | 'participant' | 'decider' | 'stakeholder';

export interface HeadLine {
  readonly role: HeadRole;
  /** Offsets of the whole line. */
  readonly start: number;
  readonly end: number;
  /** After the colon. */
  readonly value: string;
}

const roleOfLabel: Readonly<Record<string, HeadRole>> = Object.fromEntries(
  Object.entries({
    author: 'from|author|authors|sender|written by|prepared by|posted by|reporter|submitted by|by',
    recipient: 'to|cc|bcc|recipients|recipient',
    participant:
      'attendees|attendee|participants|participant|present|in attendance|attending|people|team|members|invitees|guests|speakers|panel|interviewer|interviewee|facilitator|moderator|host|organizer|organiser|note taker|notetaker|notes by|scribe|chair',
    decider:
      'decision maker|decision makers|decider|approver|approvers|approved by|owner|owners|assignee|lead|driver|accountable|responsible|sponsor|dri|product owner|project lead|project manager',
    stakeholder:
      'stakeholders|stakeholder|consulted|informed|reviewers|reviewer|contributors|contributor|apologies|absent|regrets',
  } satisfies Record<HeadRole, string>).flatMap(([role, labels]) =>
    labels.split('|').map((label) => [label, role as HeadRole]),
  ),
);

/** A label of at most three words at the start of a line, perhaps in bold or in a list. */
const labeled =
  /^[ \t]{0,8}(?:[-*•>][ \t]{1,4})?\*{0,2}([A-Za-z][A-Za-z]{1,20}(?: [A-Za-z]{1,20}){0,2})\*{0,2}[ \t]?:\*{0,2}[ \t]*(\S.{0,4000})$/;

/** Null when the line has no known label. */
export function headLine(line: string, start: number): HeadLine | null {
  const [, label = '', value = ''] = labeled.exec(line) ?? [];
  const role = roleOfLabel[label.toLowerCase()];
  return role === undefined ? null : { role, start, end: start + line.trimEnd().length, value };
}

type NamedPerson = KnownPerson['clues'] & { readonly name: string };

/** The people listed in a line: "Ann Lee (PM), Ben <ben@x.org>, Carl Roth - Sales; Dora". At most 200. */
export function peopleIn(value: string): readonly NamedPerson[] {
  const people: NamedPerson[] = [];
  let isRoleBefore = false;
  for (const part of splitList(value).slice(0, 400)) {
    const text = part.trim();
    const last = people.at(-1);
    // "Ann Lee, Engineering Lead, Acme": what follows a name may belong to it.
    const isRoleHere = last !== undefined && last.role === undefined && isOnlyRole(text);
    const isEmployer = isRoleBefore && last?.organization === undefined && isEmployerName(text);
    if (last && isRoleHere) people[people.length - 1] = { ...last, ...readPosition(text) };
    else if (last && isEmployer) people[people.length - 1] = { ...last, organization: text };
    else people.push(...personIn(part));
    isRoleBefore = isRoleHere;
  }
  return people.slice(0, 200);
}

/** A job title without a name. */
const isOnlyRole = (text: string): boolean => isRole(text) && !/[(<@]/.test(text) && !/\s[-–—]\s/.test(text);

/** A recognizable organization, or one unknown word. */
const isEmployerName = (text: string): boolean =>
  isSurelyOrganization(text) ||
  (/^\p{Lu}[\p{L}\p{N}]{3,}$/u.test(text) && wordKind(text.toLowerCase()) === undefined);

/** Splits at semicolons, commas and "and" outside of brackets. "Lee, Ann; Roth, Carl" are two. */
function splitList(value: string): readonly string[] {
  const parts = splitAt(value, ';');
  return parts
    .flatMap((part) => (parts.length > 1 && lastNameFirst.test(part) ? [part] : splitAt(part, ',')))
    .flatMap((part) => part.split(/\s(?:and|&|with input from|with)\s|^\s*(?:and|with input from|with)\s/));
}

function splitAt(value: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < value.length; at++) {
    const sign = value.charAt(at);
    if (sign === '(' || sign === '<' || sign === '[') depth++;
    else if (sign === ')' || sign === '>' || sign === ']') depth = Math.max(0, depth - 1);
    else if (depth === 0 && sign === separator) {
      parts.push(value.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, value.slice(start)];
}

const entry =
  /^\s*["']?(\p{Lu}[\p{L}\p{M}'’.-]*(?: [\p{L}\p{M}'’.-]+){0,4})["']?\s*(?:<([^<>\s]{3,254})>|\(([^()]{1,80})\)|[-–—]\s+([\p{L}\d ./&-]{1,60}))?\s*$/u;
const lastNameFirst = /^\s*(\p{Lu}[\p{L}\p{M}'’-]+), (\p{Lu}[\p{L}\p{M}'’. -]+)\s*$/u;

function personIn(part: string): readonly NamedPerson[] {
  const swapped = lastNameFirst.exec(part);
  if (swapped) return [{ name: `${swapped[2]?.trim()} ${swapped[1]}` }];
  const [, name = '', angled, bracketed, dashed] = entry.exec(part) ?? [];
  if (name === '') return [];
  return [
    {
      name: name.trim(),
      ...(angled?.includes('@') ? { email: angled } : {}),
      ...(bracketed === undefined ? {} : readBrackets(bracketed)),
      ...(dashed === undefined ? {} : readPosition(dashed.trim())),
    },
  ];
}

const address = /[,;]?\s*<?([^\s,;<>]{1,64}@[^\s,;<>]{1,190}\.[^\s,;<>]{1,63})>?\s*/;

/** "Engineering Lead, Acme, ann@acme.example", or a part of it. */
function readBrackets(text: string): Omit<NamedPerson, 'name'> {
  const email = address.exec(text)?.[1];
  const rest = text.replace(address, '').trim();
  return { ...(rest === '' ? {} : readPosition(rest)), ...(email === undefined ? {} : { email }) };
}
