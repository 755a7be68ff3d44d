// Fields as models write them: other names for a key, one value for a list, synonyms for a word.
import type { ActorRole, EntityType, EventCategory } from '../../ports.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const plainKey = (key: string): string => key.toLowerCase().replaceAll(/[^a-z]/g, '');

/** The first of these keys that is there, whatever its case, blanks and dashes. */
export function field(fields: Fields, ...keys: readonly string[]): unknown {
  for (const key of keys) if (fields[key] !== undefined) return fields[key];
  const wanted = new Set(keys.map(plainKey));
  for (const [key, value] of Object.entries(fields)) if (wanted.has(plainKey(key))) return value;
  return undefined;
}

/** One line of text, or null. */
export function textField(fields: Fields, longest: number, ...keys: readonly string[]): string | null {
  const value = field(fields, ...keys);
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const isNothing = line === '' || /^(?:null|none|n\/a|unknown|not specified|-)$/i.test(line);
  return isNothing ? null : line.slice(0, longest).toWellFormed();
}

/** A list; a single value is a list of one, nothing an empty one. */
export function listField(fields: Fields, ...keys: readonly string[]): readonly unknown[] {
  const value = field(fields, ...keys);
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null || value === '') return [];
  // {"alice": {…}, "bob": {…}}: the keys are names.
  if (isFields(value) && Object.values(value).every(isFields) && Object.keys(value).length > 0)
    return Object.entries(value).map(([name, one]) => ({ name, ...(one as Fields) }));
  return [value];
}

/** A share from 0 to 1; percentages and words are understood. */
export function shareField(fields: Fields, fallback: number, ...keys: readonly string[]): number {
  const value = field(fields, ...keys);
  const words: Readonly<Record<string, number>> = { high: 0.9, medium: 0.7, low: 0.4 };
  if (typeof value === 'string' && words[value.toLowerCase()] !== undefined)
    return words[value.toLowerCase()] ?? fallback;
  const number = typeof value === 'string' ? Number.parseFloat(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number < 0) return fallback;
  return Math.min(1, number > 1 ? number / 100 : number);
}

const synonyms = <Word extends string>(lists: Readonly<Record<Word, string>>): ReadonlyMap<string, Word> =>
  new Map(
    Object.entries<string>(lists).flatMap(([word, others]) =>
      [word, ...others.split(' ')].map((other) => [plainKey(other), word as Word] as const),
    ),
  );

const categories = synonyms<EventCategory>({
  Commitment:
    'action actionitem task promise todo deliverable assignment goal plan nextstep deadline obligation',
  Execution:
    'completion progress status update done implementation delivery achievement milestone action-completed accomplishment',
  Decision: 'agreement resolution choice approval conclusion determination selection',
  Collaboration: 'meeting coordination teamwork cooperation discussion communication',
  QualityRisk:
    'risk concern issue problem bug blocker quality incident warning threat defect quality_risk impediment',
  Feedback: 'request suggestion opinion comment review recommendation question complaint praise input',
  Change: 'modification revision adjustment amendment reschedule',
  Stakeholder: 'partner partnership customer external client investor announcement relationship',
});

const types = synonyms<EntityType>({
  person:
    'people human individual per pers employee user name personname fullname colleague contact man woman speaker author participant attendee stakeholder staff character',
  org: 'organization organisation company team department institution group vendor customer corporation business enterprise firm agency startup supplier partner competitor client university school bank government committee board division unit squad brand organizationname companyname',
  project:
    'initiative product program programme campaign workstream feature epic sprint release effort projectname',
  object:
    'thing tool system document software technology artifact service concept item application app platform api database model dataset file report device component hardware equipment topic resource framework library website metric',
  place:
    'location city country gpe loc site region address venue office building area state province facility fac geopoliticalentity locality street',
  other: 'misc miscellaneous event date unknown time money number quantity percent law norp none',
});

const roles = synonyms<ActorRole>({
  owner: 'lead responsible decider author assignee decisionmaker accountable initiator',
  contributor: 'participant member implementer worker collaborator executor helper actor',
  reviewer: 'approver checker evaluator critic',
  stakeholder: 'recipient customer affected informed sponsor requester audience',
  other: 'unknown mentioned',
});

const known =
  <Word>(words: ReadonlyMap<string, Word>) =>
  (value: unknown): Word | null => {
    // ["person"], "B-PER" and "person (engineer)" mean what their first known word means.
    const said: unknown = Array.isArray(value) ? value[0] : value;
    const text = typeof said === 'string' ? said.slice(0, 60) : '';
    for (const each of [text, ...text.split(/[^\p{L}]+/u)]) {
      const word = plainKey(each);
      const found =
        words.get(word) ?? words.get(word.replace(/s$/, '')) ?? words.get(word.replace(/ies$/, 'y'));
      if (found !== undefined) return found;
    }
    return null;
  };

/** Null for a word that means none of them. */
export const readCategory = known(categories);
export const readType = known(types);
export const readRole = known(roles);
