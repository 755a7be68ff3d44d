// Who is known in a document: everybody whom it introduces anywhere by a full name, an address or a line of attendees.
import type { ContextClues } from '../../ports.ts';
import { sharedNames } from './name-cues.ts';

export interface KnownPerson {
  readonly name: string;
  readonly clues: ContextClues;
}

interface Entry {
  name: string;
  email?: string;
  role?: string;
  organization?: string;
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
    const words = clean.toLowerCase().split(' ');
    if (clean === '' || words.length > 5 || words.some((word) => sharedNames.has(word))) return;
    const key = words.join(' ');
    const known = this.#people.get(key);
    if (!known && this.#people.size >= mostPeople) return;
    const entry = known ?? { name: clean };
    if (email !== undefined) {
      entry.email ??= email.toLowerCase();
      this.#byEmail.set(email.toLowerCase(), key);
    }
    if (role !== undefined) entry.role ??= role;
    if (organization !== undefined) entry.organization ??= organization;
    if (known) return;
    this.#people.set(key, entry);
    this.longest = Math.max(this.longest, words.length);
    if (words.length < 2) return;
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

const asPerson = ({ name, email, role, organization }: Entry): KnownPerson => ({
  name,
  clues: {
    ...(email === undefined ? {} : { email }),
    ...(role === undefined ? {} : { role }),
    ...(organization === undefined ? {} : { organization }),
  },
});
