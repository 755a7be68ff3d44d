// What is known of somebody or something, in a form that two can be compared in.
import type { ContextClues, EntityType } from '../ports.ts';
import { handleOf, plainWords, visibleName } from './normalize-name.ts';

export interface Profile {
  readonly type: EntityType;
  /** What it is called; the first is the one it goes by. */
  readonly names: readonly string[];
  /** In lower case. */
  readonly emails: readonly string[];
  readonly organizations: readonly string[];
  readonly roles: readonly string[];
  /** `field: value`, or plain words; identities that sources gave are among them. */
  readonly notes: readonly string[];
  /** Names of those it is mentioned with, in plain words. */
  readonly companions: readonly string[];
}

/** A longer clue than this is cut: it tells no more, and rows stay small. */
const longestClue = 500;
const mostNotes = 50;

const clean = (text: string | undefined): string | null => {
  const seen = text === undefined ? '' : visibleName(text.slice(0, longestClue));
  return plainWords(seen) === '' ? null : seen;
};

const addressPattern = /^[^\s@<>",;]+@[^\s@<>",;]+\.[^\s@<>",;.]+$/;

/** The address in lower case; null when it is none. */
export function readEmail(text: string | undefined): string | null {
  const address = text
    ?.trim()
    .replace(/^<|>$/g, '')
    .replace(/^mailto:/i, '')
    .toLowerCase();
  return address !== undefined && address.length <= 320 && addressPattern.test(address) ? address : null;
}

export interface CleanClues {
  readonly role: string | null;
  readonly organization: string | null;
  readonly email: string | null;
  readonly notes: readonly string[];
}

/** Identities are kept as notes: nobody but a source writes one. */
const identityField = 'source id: ';
const identityPattern = /^([^#]+)#([^#/]+)\/(.+)$/;

/** As a source knows somebody or something. */
export interface SourceIdentity {
  readonly source: string;
  readonly kind: string;
  readonly id: string;
}

export function identitiesOf(notes: readonly string[]): readonly SourceIdentity[] {
  return notes.flatMap((note) => {
    const [, source, kind, id] = identityPattern.exec(identityOf(note) ?? '') ?? [];
    return source === undefined || kind === undefined || id === undefined ? [] : [{ source, kind, id }];
  });
}

/** Null for any other note. */
export const identityOf = (note: string): string | null =>
  note.startsWith(identityField) ? note.slice(identityField.length) : null;

/** Clues as they may be kept: what a reader or a source wrote there can be anything. */
export function cleanClues(clues: ContextClues, name = ''): CleanClues {
  const given = (clues.notes ?? []).map(clean).filter((note) => note !== null && identityOf(note) === null);
  const identity = clues.identity === undefined ? null : clean(identityField + clues.identity);
  const notes = [...new Set([identity, ...given].slice(0, mostNotes))];
  return {
    role: clean(clues.role),
    organization: clean(clues.organization),
    email: readEmail(clues.email) ?? (handleOf(name) === null ? null : readEmail(name)),
    notes: notes.filter((note) => note !== null),
  };
}

export function profileOf(
  type: EntityType,
  names: readonly string[],
  clues: CleanClues,
  companions: readonly string[] = [],
): Profile {
  const listed = (value: string | null) => (value === null ? [] : [value]);
  return {
    type,
    names,
    emails: listed(clues.email),
    organizations: listed(clues.organization),
    roles: listed(clues.role),
    notes: clues.notes,
    companions,
  };
}

/** Notes of the form `field: value`, by field; the others under the empty field. */
export function fieldsOf(notes: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  for (const note of notes) {
    if (identityOf(note) !== null) continue;
    const [, field = '', value = note] = /^\s*([^:]{1,40}):\s*(.+)$/.exec(note) ?? [];
    const words = plainWords(value);
    if (words === '') continue;
    const key = plainWords(field);
    fields.set(key, [...(fields.get(key) ?? []), words]);
  }
  return fields;
}
