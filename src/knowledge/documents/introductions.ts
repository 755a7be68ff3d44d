// Who a document introduces in lines of their own: attendees, senders, signatures; and when it was written.
import { findAddresses } from '../text/addresses.ts';
import { findDate } from '../text/dates.ts';
import { headLine, peopleIn } from './head-lines.ts';
import { isEveryday, isGivenName } from '../text/lexicon.ts';
import { organizationEndings, sharedNames } from '../text/name-cues.ts';
import { isRole, readPosition } from './role-and-employer.ts';
import type { Roster } from './roster.ts';
import { linesOf } from '../text/text-lines.ts';

const dateLabel = /^[ \t*-]{0,8}(?:date|sent|datum|when)\*{0,2}[ \t]?:\*{0,2}(.{1,80})$/i;
/** A log or a chat that says the day on every line. */
const stamp = /^[[(]?(\d{4}-\d{2}-\d{2})[ T\])]/;
const closing =
  /^(?:best|regards|best regards|kind regards|thanks|thank you|cheers|sincerely|yours|warmly|cordially|many thanks|all the best)[ ,.!]{0,3}(?:\p{Ll}+[,.!]?)?$/iu;
const aloneName = /^\p{Lu}[\p{L}\p{M}'’-]+(?: \p{Lu}[\p{L}\p{M}'’.-]*){1,2}$/u;

/** Puts those into the roster whom lines of attendees and signatures introduce; the author, and the date it bears. */
export function readIntroductions(
  text: string,
  roster: Roster,
): { readonly author: string | null; readonly date: Date | null } {
  let author: string | null = null;
  let date: Date | null = null;
  let before = '';
  let signed: string | null = null;
  for (const { start, text: whole } of linesOf(text)) {
    const line = whole.length > 4_200 ? '' : whole.trim();
    const head = headLine(line, start);
    if (head) {
      const first = addPeople(head.value, roster);
      if (head.role === 'author' || head.role === 'decider') author ??= first;
    }
    date ??= findDate(dateLabel.exec(line)?.[1] ?? stamp.exec(line)?.[1] ?? '', null);
    if (signed !== null && isRole(line)) roster.add(signed, readPosition(line));
    signed = null;
    if (aloneName.test(line) && isName(line)) {
      signed = line;
      if (closing.test(before)) roster.add(line);
    }
    if (line !== '') before = line;
  }
  return { author, date };
}

/** The first of them. */
function addPeople(value: string, roster: Roster): string | null {
  const people = peopleIn(value).filter(({ name }) => isName(name));
  for (const { name, ...clues } of people) roster.add(name, clues);
  const [address] = findAddresses(value);
  return people[0]?.name ?? address?.name ?? null;
}

function isName(name: string): boolean {
  const words = name.toLowerCase().split(/[\s.]+/);
  const [first = ''] = words;
  if (words.some((word) => sharedNames.has(word) || organizationEndings.has(word))) return false;
  return isGivenName(first) || words.some((word) => !isEveryday(word));
}
