// The people a document introduces: full names, addresses, attendee lines and signatures, with role and employer.
import type { ContextClues } from '../reading/types.ts';
import {
  departments,
  institutions,
  isEveryday,
  isGivenName,
  organizationEndings,
  organizationTails,
  projectEndings,
  roleWords,
  sharedNames,
  wordKind,
} from '../text/lexicon.ts';

export interface KnownPerson {
  readonly name: string;
  readonly clues: ContextClues;
}

interface Entry {
  readonly name: string;
  clues: ContextClues;
  /** Two people of that name have different employers: clues are then not assigned. */
  isAmbiguous: boolean;
}

/** Bounds memory on directories and exports. */
const maxPeople = 5_000;

export class Roster {
  readonly #people = new Map<string, Entry>();
  readonly #byPart = new Map<string, Set<string>>();
  readonly #byEmail = new Map<string, string>();
  /** Number of words of the longest name. */
  longest = 1;

  /** The first value of a clue is kept; missing ones are filled in. */
  add(name: string, clues: ContextClues = {}): void {
    const clean = name.replaceAll(/\s+/g, ' ').replace(/^[\s'"’.-]+|[\s'"’-]+$/g, '');
    // Without the periods of initials, like the words of a text.
    const words = clean.toLowerCase().replaceAll('.', ' ').trim().split(/\s+/);
    if (clean === '' || words.length > 5 || words.some((word) => sharedNames.has(word))) return;
    const key = words.join(' ');
    const known = this.#people.get(key);
    if (!known && this.#people.size >= maxPeople) return;
    const entry = known ?? { name: clean, clues: {}, isAmbiguous: false };
    const email = clues.email?.toLowerCase();
    const [employer, other] = [entry.clues.organization, clues.organization];
    if (employer !== undefined && other !== undefined && !isShortFor(other, employer))
      entry.isAmbiguous = true;
    entry.clues = { ...clues, ...(email === undefined ? {} : { email }), ...entry.clues };
    if (email !== undefined) this.#byEmail.set(email, key);
    if (known) return;
    this.#people.set(key, entry);
    this.longest = Math.max(this.longest, words.length);
    // "A. Chen" is not indexed by its parts: "A" is not a name.
    if (words.length < 2 || words[0]?.length === 1) return;
    for (const part of [words[0] ?? '', words.at(-1) ?? ''])
      this.#byPart.set(part, (this.#byPart.get(part) ?? new Set()).add(key));
  }

  /** Finds a person by full name, in lower case with single spaces. */
  whole(key: string): KnownPerson | null {
    const entry = this.#people.get(key);
    return entry ? { name: entry.name, clues: entry.isAmbiguous ? {} : entry.clues } : null;
  }

  /** Finds a person by a given or family name alone, if it is unique. */
  byPart(part: string): KnownPerson | null {
    const keys = this.#byPart.get(part);
    const [key] = keys ?? [];
    return keys?.size === 1 && key !== undefined ? this.whole(key) : null;
  }

  /** Several people have this given or family name. */
  isShared(part: string): boolean {
    return (this.#byPart.get(part)?.size ?? 0) > 1;
  }

  /** The person the document assigns the address to. */
  byEmail(email: string): KnownPerson | null {
    return this.whole(this.#byEmail.get(email) ?? '');
  }
}

/** "Acme" and "Acme Corp", in either order. */
function isShortFor(a: string, b: string): boolean {
  const [own, other] = [a.toLowerCase(), b.toLowerCase()];
  return own.startsWith(other) || other.startsWith(own);
}

type Position = Pick<ContextClues, 'role' | 'organization'>;

const wordsIn = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

/** Longer texts are no position, however few words they have. */
const maxRoleLength = 200;

/** At most seven words, one of them a job word. */
export function isRole(text: string): boolean {
  if (text.length > maxRoleLength) return false;
  const words = wordsIn(text);
  return words.length <= 7 && words.some((word) => roleWords.has(word));
}

/** Recognizable by its words: "Acme Corp", "University of Oxford", "DataSoft", or a known organization. */
export function isSurelyOrganization(name: string): boolean {
  const words = wordsIn(name);
  const [first = '', second] = words;
  if (!isCapitalized(name) || words.length > 6 || roleWords.has(name.toLowerCase())) return false;
  if (wordKind(words.join(' ')) === 'organization') return true;
  if (institutions.has(first) && second === 'of') return true;
  if (words.length === 1) return /\p{Ll}\p{Lu}/u.test(name) && organizationTails.test(name);
  return (
    organizationEndings.has(words.at(-1) ?? '') && !words.slice(0, -1).some((word) => roleWords.has(word))
  );
}

/** Plausible as an employer next to a name: no job word, place or given name. */
function mayBeOrganization(name: string): boolean {
  if (isSurelyOrganization(name)) return true;
  const words = wordsIn(name);
  // Acronyms are departments as often as companies: UX, SRE, PMO.
  if (!isCapitalized(name) || words.length > 4 || /^\p{Lu}{1,4}$/u.test(name)) return false;
  if (wordKind(words.join(' ')) === 'place' || isGivenName(words[0] ?? '')) return false;
  if (words.some((word) => roleWords.has(word) || departments.has(word) || projectEndings.has(word)))
    return false;
  return words.some((word) => !isEveryday(word));
}

/** Every word except connecting ones. */
const isCapitalized = (name: string): boolean =>
  /^\p{Lu}[\p{L}\p{M}\p{N}.'’&-]*(?: (?:(?:of|and|the|for|&|de|du|der|von) )*\p{Lu}[\p{L}\p{M}\p{N}.'’&-]*)*$/u.test(
    name,
  );

const separators = /\s*[,;|]\s*|\s+[-–—]\s+/;
const employedAt = /^(.*?)\s*(?:\bat|@|\bfrom)\s+(?:the\s+)?(\p{Lu}.*)$/u;
const employedOf = /^(.*)\s+(?:of|for)\s+(?:the\s+)?(\p{Lu}.*)$/u;

/** `text`: without its separator from the name. What is not an organization is a role. */
export function readPosition(text: string): Position {
  const parts = text.split(separators).filter((part) => part !== '');
  // "Engineering Lead, Acme, Berlin": a place is neither role nor employer.
  while (parts.length > 1 && wordKind(wordsIn(parts.at(-1) ?? '').join(' ')) === 'place') parts.pop();
  const [first = '', ...rest] = parts;
  const last = rest.at(-1);
  if (last === undefined) return readPart(first);
  if (mayBeOrganization(last) && isRole(first))
    return { role: parts.slice(0, -1).join(', '), organization: bare(last) };
  if (mayBeOrganization(first) && isRole(last)) return { role: rest.join(', '), organization: bare(first) };
  const at = readPart(last);
  if (at.organization !== undefined && at.role !== undefined)
    return { role: [...parts.slice(0, -1), at.role].join(', '), organization: at.organization };
  return { role: parts.join(', ') };
}

function readPart(text: string): Position {
  const [, worksAs = '', at = ''] = employedAt.exec(text) ?? [];
  const isPlace = wordKind(wordsIn(at).join(' ')) === 'place';
  if (at !== '' && isCapitalized(at) && !isPlace) return { ...roleOf(worksAs), organization: bare(at) };
  const [, before = '', of = ''] = employedOf.exec(text) ?? [];
  if (isRole(before) && mayBeOrganization(of)) return { role: before, organization: bare(of) };
  return mayBeOrganization(text) ? { organization: bare(text) } : roleOf(text);
}

const roleOf = (text: string): Position => (text === '' ? {} : { role: text });

const bare = (name: string): string => name.replace(/\.$/, '');

/** "(PM)", or ", our head of sales," with an optional employer. */
const behind =
  /^(?: \(([^()\n@]{2,80})\)|, (?:the |our )?([\p{L}\p{M} /&-]{2,60}?)(?=[,.;:\n)]| (?:and|for|who|said|will)\b)(?:, ([^,.;:()\n]{2,40})(?=[,.;:\n)]|$))?)/u;

/** "Ann Lee (PM, Acme)", "Ann Lee, our head of sales, …"; empty without a position. */
export function positionBehind(text: string, end: number): Position {
  const [, bracketed, apposed = '', next = ''] = behind.exec(text.slice(end, end + 120)) ?? [];
  if (bracketed !== undefined) {
    const position = readPosition(bracketed.trim());
    return position.role === undefined || isRole(position.role) ? position : {};
  }
  if (!isRole(apposed)) return {};
  const position = readPosition(apposed.trim());
  if (position.role === undefined || !isRole(position.role)) return {};
  return position.organization === undefined && isSurelyOrganization(next.trim())
    ? { ...position, organization: bare(next.trim()) }
    : position;
}
