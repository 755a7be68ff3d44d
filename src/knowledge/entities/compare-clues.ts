// What is known about an entity or mention (its profile), and how two profiles compare apart from their names.
import { getDomainWithoutSuffix } from 'tldts';
import type { ContextClues, EntityType } from '../reading/types.ts';
import { compareOrganizationNames, comparePersonNames, parseOrganizationName } from './compare-names.ts';
import {
  handleOf,
  mailProviders,
  plainWords,
  sharedMailboxes,
  statedGender,
  visibleName,
} from './normalize.ts';
import { editDistance, jaroWinkler } from './string-distance.ts';

export interface Profile {
  readonly type: EntityType;
  /** The first is the canonical name. */
  readonly names: readonly string[];
  /** Lower case. */
  readonly emails: readonly string[];
  readonly organizations: readonly string[];
  readonly roles: readonly string[];
  /** `field: value` or plain text; source identities are among them. */
  readonly notes: readonly string[];
  /** Normalized names of the entities it is mentioned with. */
  readonly coMentions: readonly string[];
}

/** Longer clues are cut to keep rows small. */
const maxClueLength = 500;
const maxNotes = 50;

const clean = (text: string | undefined): string | null => {
  const seen = text === undefined ? '' : visibleName(text.slice(0, maxClueLength));
  return plainWords(seen) === '' ? null : seen;
};

const addressPattern = /^[^\s@<>",;]+@[^\s@<>",;]+\.[^\s@<>",;.]+$/;

/** The address in lower case; null when it is not an address. */
function parseEmail(text: string | undefined): string | null {
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

/** Identities are stored as notes with this prefix; only sources set them. */
const identityField = 'source id: ';
const identityPattern = /^([^#]+)#([^#/]+)\/(.+)$/;

/** Ids that sources assigned. */
const identitiesOf = (notes: readonly string[]) =>
  notes.flatMap((note) => {
    const [, source, kind, id] = identityPattern.exec(identityOf(note) ?? '') ?? [];
    return source === undefined ? [] : [{ source, kind, id }];
  });

/** Null for other notes. */
export const identityOf = (note: string): string | null =>
  note.startsWith(identityField) ? note.slice(identityField.length) : null;

/** The field of the note that keeps "Mr." and "Mrs.", which are not part of a name. */
export const honorificField = 'honorific';

/** Null without a form of address that states a gender. */
export const honorificNote = (name: string): string | null =>
  statedGender(name) === null ? null : `${honorificField}: ${visibleName(name).split(' ', 1)[0]}`;

/** The same from a mention about which nothing else is known: it may turn out to be of another person. */
const addressField = 'addressed as';

/** The form of address in a note of either kind; null in other notes. */
export function titleOf(note: string): string | null {
  const field = [honorificField, addressField].find((one) => note.startsWith(`${one}: `));
  return field === undefined ? null : note.slice(field.length + 2);
}

export const addressNote = (title: string): string => `${addressField}: ${title}`;

export const isAddressNote = (note: string): boolean => note.startsWith(`${addressField}: `);

/** The genders that the forms of address state. */
export const gendersOf = ({ notes }: Pick<Profile, 'notes'>): ReadonlySet<string> =>
  new Set(notes.flatMap((note) => statedGender(titleOf(note) ?? '') ?? []));

/** Clues as they are stored: readers and sources may provide anything. */
export function cleanClues(clues: ContextClues, name = '', surfaceForm = name): CleanClues {
  const given = (clues.notes ?? []).map(clean).filter((note) => note !== null && identityOf(note) === null);
  const identity = clues.identity === undefined ? null : clean(identityField + clues.identity);
  const honorific = honorificNote(name) ?? honorificNote(surfaceForm);
  const notes = [...new Set([identity, honorific, ...given].slice(0, maxNotes))];
  return {
    role: clean(clues.role),
    organization: clean(clues.organization),
    email: parseEmail(clues.email) ?? (handleOf(name) === null ? null : parseEmail(name)),
    notes: notes.filter((note) => note !== null),
  };
}

export function profileOf(
  type: EntityType,
  names: readonly string[],
  clues: CleanClues,
  coMentions: readonly string[] = [],
): Profile {
  const listed = (value: string | null) => (value === null ? [] : [value]);
  return {
    type,
    names,
    emails: listed(clues.email),
    organizations: listed(clues.organization),
    roles: listed(clues.role),
    notes: clues.notes,
    coMentions,
  };
}

/** Notes of the form `field: value` by field; others under the empty field. */
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

// Compares context: whether two with the same name can be one entity, and whether two with different names are.

export interface ClueComparison {
  readonly points: number;
  /** The non-negative points for what colleagues share: organization, role, co-mentions. */
  readonly colleaguePoints: number;
  /** Set: they are different, whatever their names. */
  readonly contradiction: string | null;
  /** The same source id: they are the same, whatever their names. */
  readonly hasSameIdentity: boolean;
  readonly hasSameEmail: boolean;
  /** A clue of its own, other than colleagues and role, is the same. */
  readonly isSupported: boolean;
  /** Identical long numbers and the like; two of them are never a coincidence. */
  readonly proofs: number;
  readonly reasons: readonly string[];
}

interface Finding {
  readonly points: number;
  readonly reason?: string;
  readonly contradiction?: string;
  readonly isSameEmail?: boolean;
  readonly isSameIdentity?: boolean;
  readonly isProof?: boolean;
}

const nothing: Finding = { points: 0 };

export function compareClues(a: Profile, b: Profile): ClueComparison {
  const employers = compareEmployers(a, b);
  const ofColleagues = [employers, compareRoles(a, b), compareCoMentions(a, b)];
  const findings = [compareIdentities(a, b), compareEmails(a, b), ...ofColleagues, ...compareFields(a, b)];
  const hasSameEmail = findings.some(({ isSameEmail }) => isSameEmail === true);
  const hasSameIdentity = findings.some(({ isSameIdentity }) => isSameIdentity === true);
  const contradiction =
    findings.find((finding) => finding.contradiction !== undefined)?.contradiction ?? null;
  return {
    points: findings.reduce((sum, { points }) => sum + points, 0),
    colleaguePoints: ofColleagues.reduce((sum, { points }) => sum + Math.max(0, points), 0),
    // One address is one person, also after a change of employer.
    contradiction: hasSameEmail || hasSameIdentity ? null : contradiction,
    hasSameIdentity,
    hasSameEmail,
    isSupported:
      hasSameEmail || hasSameIdentity || employers.points > 0 || findings.some(({ isProof }) => isProof),
    proofs: findings.filter(({ isProof }) => isProof).length,
    reasons: findings.flatMap(({ reason, contradiction: against }) => reason ?? against ?? []),
  };
}

/** More than everything else together. */
const identityPoints = 40;

/** Different kinds or different ids at one source contradict each other; ids of two sources cannot be compared. */
function compareIdentities(a: Profile, b: Profile): Finding {
  const own = identitiesOf(a.notes);
  const others = identitiesOf(b.notes);
  const pairs = own.flatMap((one) => others.map((other) => ({ one, other })));
  const isSame = pairs.some(
    ({ one, other }) => one.source === other.source && one.kind === other.kind && one.id === other.id,
  );
  if (isSame) return { points: identityPoints, reason: 'the same id at its source', isSameIdentity: true };
  const contradicting = pairs.find(
    ({ one, other }) => one.kind !== other.kind || one.source === other.source,
  );
  if (!contradicting) return nothing;
  const { one, other } = contradicting;
  return {
    points: -6,
    contradiction:
      one.kind === other.kind
        ? 'their source has different ids for them'
        : `one is a ${one.kind}, the other a ${other.kind}`,
  };
}

const localPart = (email: string): string => email.split('@')[0] ?? '';
const domainOf = (email: string): string => email.split('@')[1] ?? '';
const isPersonal = (email: string): boolean => !sharedMailboxes.has(localPart(email));

function compareEmails(a: Profile, b: Profile): Finding {
  const own = a.emails.filter(isPersonal);
  const others = b.emails.filter(isPersonal);
  if (own.length === 0 || others.length === 0) return nothing;
  if (own.some((email) => others.includes(email)))
    return { points: 6, reason: 'the same mail address', isSameEmail: true };
  // alice@ and alice.chen@ at one employer are one person; addresses of two employers are two people.
  const areAliases = own.some((email) => others.some((other) => mayShareMailbox(email, other)));
  return areAliases ? nothing : { points: -6, contradiction: 'they have different mail addresses' };
}

function mayShareMailbox(a: string, b: string): boolean {
  if (domainOf(a) !== domainOf(b) || isMailProvider(domainOf(a))) return false;
  const { relation } = comparePersonNames(a, b);
  return relation === 'part' || relation === 'initials';
}

/** The name below the public suffix: `acme` of mail.acme.co.uk. Null when there is none. */
const registeredName = (domain: string): string | null =>
  getDomainWithoutSuffix(domain, { allowPrivateDomains: true });

const isMailProvider = (domain: string): boolean =>
  mailProviders.has(domain) || mailProviders.has(registeredName(domain) ?? '');

/** The employers from clues and from email domains. */
function employersOf({ organizations, emails }: Profile): readonly string[] {
  const names = emails
    .map(domainOf)
    .filter((domain) => !isMailProvider(domain))
    .map((domain) => registeredName(domain) ?? '');
  return [...organizations, ...names].filter((name) => plainWords(name) !== '');
}

function compareEmployers(a: Profile, b: Profile): Finding {
  const own = employersOf(a);
  const others = employersOf(b);
  if (own.length === 0 || others.length === 0) return nothing;
  const pairs = own.flatMap((one) => others.map((other) => compareEmployerNames(one, other)));
  if (pairs.includes('same')) return { points: 2, reason: 'the same organization' };
  return pairs.includes('maybe')
    ? nothing
    : { points: -6, contradiction: 'they belong to different organizations' };
}

/** `maybe`: one may be a part or short form of the other. */
function compareEmployerNames(a: string, b: string): 'same' | 'maybe' | 'other' {
  if (compareOrganizationNames(a, b).points >= 4) return 'same';
  const [own, other] = [parseOrganizationName(a), parseOrganizationName(b)];
  if (compareOrganizationNames(a, b).points >= 2) return 'maybe';
  const [short = '', long = ''] = [own.base, other.base].sort((x, y) => x.length - y.length);
  // Acme and Acme Labs may be the same; Acme Foods and Acme Capital, or Blue Foods and Red Foods, are not.
  const compact = (text: string) => text.replaceAll(' ', '');
  return short.length >= 3 && compact(long).startsWith(compact(short)) ? 'maybe' : 'other';
}

function compareRoles(a: Profile, b: Profile): Finding {
  if (a.roles.length === 0 || b.roles.length === 0) return nothing;
  const others = b.roles.map(plainWords);
  const isShared = a.roles.map(plainWords).some((role) => others.includes(role));
  return isShared ? { points: 1, reason: 'the same role' } : { points: -0.5 };
}

function compareCoMentions(a: Profile, b: Profile): Finding {
  if (a.coMentions.length === 0 || b.coMentions.length === 0) return nothing;
  const others = new Set(b.coMentions);
  const shared = a.coMentions.filter((name) => others.has(name)).length;
  if (shared === 0) return nothing;
  return {
    points: Math.min(2, shared),
    reason: shared === 1 ? 'one co-mention in common' : `${shared} co-mentions in common`,
  };
}

/** The weight of seven digits. */
const proofPoints = 3.5;

/** Any other field: rarer values weigh more, long numbers most. */
function compareFields(a: Profile, b: Profile): readonly Finding[] {
  const own = fieldsOf(a.notes);
  const others = fieldsOf(b.notes);
  return [...own].flatMap(([field, values]): readonly Finding[] => {
    const theirs = others.get(field);
    if (theirs === undefined || field === honorificField || field === addressField) return [];
    if (field === '') {
      const shared = values.filter((value) => theirs.includes(value)).length;
      return shared === 0 ? [] : [{ points: Math.min(1.5, shared * 0.75), reason: 'the same note' }];
    }
    const best = Math.max(...values.flatMap((value) => theirs.map((other) => valuePoints(value, other))));
    return [
      { points: best, isProof: best >= proofPoints, ...(best > 0 ? { reason: `the same ${field}` } : {}) },
    ];
  });
}

function valuePoints(a: string, b: string): number {
  const weight = Math.min(weightOf(a), weightOf(b));
  if (a === b) return weight;
  const isNumber = /^[\p{N} ]+$/u.test(a) && /^[\p{N} ]+$/u.test(b);
  const isNear = isNumber
    ? a.length >= 4 && editDistance(a, b, 1) <= 1
    : jaroWinkler(a, b) >= 0.9 && Math.min(a.length, b.length) >= 4;
  if (isNear) return weight * 0.6;
  return -Math.min(weight, 3) * 0.6;
}

/** 0.3 for a word of two letters, 4 for eight digits. */
function weightOf(value: string): number {
  const digits = value.replaceAll(/\P{N}/gu, '').length;
  const letters = value.replaceAll(/\P{L}/gu, '').length;
  return Math.min(4, digits * 0.5 + letters * 0.15);
}
