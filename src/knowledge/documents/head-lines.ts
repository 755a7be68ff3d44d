// Lines that say who had to do with a document: From, To, Attendees, Decision Maker, …
import { isRole, isSurelyOrganization, readPosition } from './role-and-employer.ts';
import { wordKind } from '../text/lexicon.ts';

/** What those who stand in such a line are to the document. */
export type HeadRole = 'author' | 'recipient' | 'participant' | 'decider' | 'stakeholder';

export interface HeadLine {
  readonly role: HeadRole;
  /** Of the whole line. */
  readonly start: number;
  readonly end: number;
  /** Behind the colon. */
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
const labelled =
  /^[ \t]{0,8}(?:[-*•>][ \t]{1,4})?\*{0,2}([A-Za-z][A-Za-z]{1,20}(?: [A-Za-z]{1,20}){0,2})\*{0,2}[ \t]?:\*{0,2}[ \t]*(\S.{0,4000})$/;

/** Of one line of text; null when it is none of them. */
export function headLine(line: string, start: number): HeadLine | null {
  const [, label = '', value = ''] = labelled.exec(line) ?? [];
  const role = roleOfLabel[label.toLowerCase()];
  return role === undefined ? null : { role, start, end: start + line.trimEnd().length, value };
}

export interface NamedPerson {
  readonly name: string;
  readonly role?: string;
  readonly organization?: string;
  readonly email?: string;
}

/** Who is named in such a line: "Ann Lee (PM), Ben <ben@x.org>, Carl Roth - Sales; Dora". At most 200. */
export function peopleIn(value: string): readonly NamedPerson[] {
  const people: NamedPerson[] = [];
  let isRoleBefore = false;
  for (const part of splitList(value).slice(0, 400)) {
    const said = part.trim();
    const last = people.at(-1);
    // "Ann Lee, Engineering Lead, Acme": what follows a name may belong to it.
    const isRoleHere = last !== undefined && last.role === undefined && isOnlyRole(said);
    const isEmployer = isRoleBefore && last?.organization === undefined && isEmployerName(said);
    if (last && isRoleHere) people[people.length - 1] = { ...last, ...readPosition(said) };
    else if (last && isEmployer) people[people.length - 1] = { ...last, organization: said };
    else people.push(...personIn(part));
    isRoleBefore = isRoleHere;
  }
  return people.slice(0, 200);
}

/** A title, and nobody's name with one. */
const isOnlyRole = (text: string): boolean => isRole(text) && !/[(<@]/.test(text) && !/\s[-–—]\s/.test(text);

/** One word that is nobody's name, or what says that it is an organization. */
const isEmployerName = (text: string): boolean =>
  isSurelyOrganization(text) ||
  (/^\p{Lu}[\p{L}\p{N}]{3,}$/u.test(text) && wordKind(text.toLowerCase()) === undefined);

/** At semicolons, commas and "and", outside of brackets. "Lee, Ann; Roth, Carl" are two. */
function splitList(value: string): readonly string[] {
  const parts = splitAt(value, ';');
  return parts
    .flatMap((part) => (parts.length > 1 && turned.test(part) ? [part] : splitAt(part, ',')))
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
const turned = /^\s*(\p{Lu}[\p{L}\p{M}'’-]+), (\p{Lu}[\p{L}\p{M}'’. -]+)\s*$/u;

function personIn(part: string): readonly NamedPerson[] {
  const swapped = turned.exec(part);
  if (swapped) return [{ name: `${swapped[2]?.trim()} ${swapped[1]}` }];
  const [, name = '', angled, bracketed, dashed] = entry.exec(part) ?? [];
  if (name === '') return [];
  return [
    {
      name: name.trim(),
      ...(angled?.includes('@') ? { email: angled } : {}),
      ...(bracketed === undefined ? {} : saidInBrackets(bracketed)),
      ...(dashed === undefined ? {} : readPosition(dashed.trim())),
    },
  ];
}

const address = /[,;]?\s*<?([^\s,;<>]{1,64}@[^\s,;<>]{1,190}\.[^\s,;<>]{1,63})>?\s*/;

/** "Engineering Lead, Acme, ann@acme.example", or a part of it. */
function saidInBrackets(text: string): Omit<NamedPerson, 'name'> {
  const email = address.exec(text)?.[1];
  const rest = text.replace(address, '').trim();
  return { ...(rest === '' ? {} : readPosition(rest)), ...(email === undefined ? {} : { email }) };
}
