// Who is known in a document: everybody whom it introduces anywhere by a full name, an address or a line of attendees.
import type { ContextClues } from '../ports.ts';
import { sharedNames } from '../text/name-cues.ts';

export interface KnownPerson {
  readonly name: string;
  readonly clues: ContextClues;
}

interface Entry {
  name: string;
  email?: string;
  role?: string;
  organization?: string;
  /** Two of that name work in different places: of which of them a sentence speaks it has to say itself. */
  isTwo?: boolean;
}

/** More people than that are a telephone book. */
const mostPeople = 5_000;

export class Roster {
  readonly #people = new Map<string, Entry>();
  readonly #byPart = new Map<string, Set<string>>();
  readonly #byEmail = new Map<string, string>();
  /** The longest name in words. */
  longest = 1;

  /** What is said of somebody first holds; what is missing is filled in. */
  add(name: string, { email, role, organization }: ContextClues = {}): void {
    const clean = name.replaceAll(/\s+/g, ' ').replace(/^[\s'"’.-]+|[\s'"’-]+$/g, '');
    // Without the points of initials, as texts are read.
    const words = clean.toLowerCase().replaceAll('.', ' ').trim().split(/\s+/);
    if (clean === '' || words.length > 5 || words.some((word) => sharedNames.has(word))) return;
    const key = words.join(' ');
    const known = this.#people.get(key);
    if (!known && this.#people.size >= mostPeople) return;
    const entry = known ?? { name: clean };
    const isOther =
      organization !== undefined &&
      entry.organization !== undefined &&
      !isShortFor(organization, entry.organization);
    if (isOther) entry.isTwo = true;
    if (email !== undefined) {
      entry.email ??= email.toLowerCase();
      this.#byEmail.set(email.toLowerCase(), key);
    }
    if (role !== undefined) entry.role ??= role;
    if (organization !== undefined) entry.organization ??= organization;
    if (known) return;
    this.#people.set(key, entry);
    this.longest = Math.max(this.longest, words.length);
    // "A. Chen" is one of the Chens, and "A" nobody.
    if (words.length < 2 || words[0]?.length === 1) return;
    for (const part of [words[0] ?? '', words.at(-1) ?? ''])
      this.#byPart.set(part, (this.#byPart.get(part) ?? new Set()).add(key));
  }

  /** By the whole name, in lower case with single blanks. */
  whole(key: string): KnownPerson | null {
    const entry = this.#people.get(key);
    return entry ? asPerson(entry) : null;
  }

  /** By a given or a family name alone, if only one person is known by it. */
  byPart(part: string): KnownPerson | null {
    const keys = this.#byPart.get(part);
    const [key] = keys ?? [];
    return keys?.size === 1 && key !== undefined ? this.whole(key) : null;
  }

  /** Whose address it is, as the document says. */
  byEmail(email: string): KnownPerson | null {
    return this.whole(this.#byEmail.get(email) ?? '');
  }
}

/** "Acme" for "Acme Corp", either way round. */
function isShortFor(a: string, b: string): boolean {
  const [own, other] = [a.toLowerCase(), b.toLowerCase()];
  return own.startsWith(other) || other.startsWith(own);
}

const asPerson = ({ name, email, role, organization, isTwo }: Entry): KnownPerson => ({
  name,
  clues: isTwo
    ? {}
    : {
        ...(email === undefined ? {} : { email }),
        ...(role === undefined ? {} : { role }),
        ...(organization === undefined ? {} : { organization }),
      },
});
