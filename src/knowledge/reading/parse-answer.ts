// Turns a model's answer into a reading: every field is validated, and names and quotes must occur in the text.
import type { Fields } from '../models/structured-output.ts';
import { fieldOf, isFields, plainKey } from '../models/structured-output.ts';
import type { ReadingTask } from './reader.ts';
import type {
  ActorRole,
  ContextClues,
  DroppedCount,
  EntityMention,
  EntityType,
  EventCategory,
  ReadEvent,
  Reading,
} from './types.ts';
import type { Place } from '../text/quotes.ts';
import { QuoteFinder, TextOccurrences, quoteRange } from '../text/quotes.ts';

/** More than a chunk can contain; entries beyond are dropped and counted. */
const mostMentions = 20_000;
const mostEvents = 2_000;

/** The lists of an answer; a bare list contains events or mentions. Null when it has neither. */
function answerLists(
  value: unknown,
): { readonly mentions: readonly unknown[]; readonly events: readonly unknown[] } | null {
  if (Array.isArray(value)) {
    const areEvents = value.some(
      (one) => isFields(one) && fieldOf(one, 'category', 'narrative') !== undefined,
    );
    return areEvents ? { mentions: [], events: value } : { mentions: value, events: [] };
  }
  if (!isFields(value)) return null;
  const inner = fieldOf(value, 'result', 'output', 'answer', 'data', 'response');
  const mentionKeys = ['mentions', 'entities', 'entity_mentions', 'people'];
  const eventKeys = ['events', 'event', 'semantic_events'];
  const hasLists = fieldOf(value, ...mentionKeys, ...eventKeys) !== undefined;
  if (!hasLists && inner !== undefined) return answerLists(inner);
  if (!hasLists) return fieldOf(value, 'category') === undefined ? null : { mentions: [], events: [value] };
  return { mentions: listField(value, ...mentionKeys), events: listField(value, ...eventKeys) };
}

/** Null when the answer is not a reading; unusable entries are counted in `dropped`. */
export function readAnswer(
  value: unknown,
  { chunk, document }: Pick<ReadingTask, 'chunk' | 'document'>,
): Reading | null {
  const lists = answerLists(value);
  if (!lists) return null;
  const notes = new Notes();
  const occurrences = new TextOccurrences(
    { title: document.title, foldedText: () => document.foldedText },
    chunk.text,
  );
  const finder = new QuoteFinder(chunk.text);
  const names = new Names();
  const mentions: EntityMention[] = [];
  for (const entry of notes.first(lists.mentions, mostMentions, 'mentions-too-many')) {
    const mention = readMention(entry, finder, occurrences, chunk, mentions.length, notes);
    if (!mention) continue;
    mentions.push(mention);
    names.add(mention);
  }
  const events = notes
    .first(lists.events, mostEvents, 'events-too-many')
    .flatMap((entry) => readEvent(entry, finder, chunk, names, notes) ?? []);
  return { method: 'model', mentions, events, dropped: notes.list() };
}

const longestName = 300;

/** Null when it is unusable, which is counted. */
function readMention(
  entry: unknown,
  finder: QuoteFinder,
  occurrences: TextOccurrences,
  { text, startChar }: ReadingTask['chunk'],
  index: number,
  notes: Notes,
): EntityMention | null {
  const fields: Fields = typeof entry === 'string' ? { name: entry } : isFields(entry) ? entry : {};
  const surface = textField(fields, longestName, 'name', 'surface_form', 'text', 'mention', 'entity', 'span');
  const canonical = textField(
    fields,
    longestName,
    'canonical_name',
    'canonical',
    'full_name',
    'canonical_suggestion',
  );
  if (surface === null && canonical === null) {
    notes.add('mention-without-name');
    return null;
  }
  const place =
    finder.find(surface ?? canonical ?? '') ?? (canonical === null ? null : finder.find(canonical));
  if (!place) {
    notes.add('mention-not-in-text');
    return null;
  }
  return {
    ref: `m${index + 1}`,
    surfaceForm: text.slice(place.start, place.end),
    canonicalSuggestion: canonical ?? text.slice(place.start, place.end),
    type: readType(fieldOf(fields, 'type', 'entity_type', 'kind', 'category', 'label')) ?? 'other',
    contextClues: cluesOf(fields, occurrences),
    startChar: startChar + place.start,
    endChar: startChar + place.end,
    confidence: shareField(fields, 0.85, 'confidence', 'score'),
    method: 'model',
  };
}

/** Clues decide comparisons of names, so each must occur in the document: the model's word is not enough. */
function cluesOf(fields: Fields, occurrences: TextOccurrences): ContextClues {
  const nested = fieldOf(fields, 'context_clues', 'context', 'attributes');
  const all: Fields = isFields(nested) ? { ...nested, ...fields } : fields;
  const role = textField(all, longestName, 'role', 'title', 'position');
  const organization = textField(
    all,
    longestName,
    'organization',
    'organisation',
    'company',
    'org',
    'employer',
  );
  const email = textField(all, 254, 'email', 'mail', 'e-mail', 'email_address');
  return {
    ...(role !== null && occurrences.has(role) ? { role } : {}),
    ...(organization !== null && occurrences.has(organization) ? { organization } : {}),
    ...(email !== null && /.@./.test(email) && occurrences.has(email) ? { email: email.toLowerCase() } : {}),
  };
}

const mostActors = 1_000;
const mostQuotes = 20;

/** Mentions by canonical name, by surface form, or by a unique part of the name. */
class Names {
  readonly #refs = new Map<string, string | null>();

  add({ ref, surfaceForm, canonicalSuggestion }: EntityMention): void {
    for (const name of [canonicalSuggestion, surfaceForm]) {
      const key = name.toLowerCase();
      if (!this.#refs.get(key)) this.#refs.set(key, ref);
    }
    const [first = '', ...rest] = canonicalSuggestion.toLowerCase().split(' ');
    const known = this.#refs.get(first);
    if (rest.length > 0 && known !== ref) this.#refs.set(first, known === undefined ? ref : known);
  }

  ref(name: string | null): string | null {
    return name === null ? null : (this.#refs.get(name.toLowerCase()) ?? null);
  }
}

/** Null when it is unusable, which is counted. */
function readEvent(
  entry: unknown,
  finder: QuoteFinder,
  chunk: ReadingTask['chunk'],
  names: Names,
  notes: Notes,
): ReadEvent | null {
  if (!isFields(entry)) {
    notes.add('event-no-object');
    return null;
  }
  const category = readCategory(fieldOf(entry, 'category', 'type', 'event_type', 'kind'));
  if (category === null) {
    notes.add('event-category-unknown');
    return null;
  }
  const { evidence, refused } = evidenceOf(entry, finder, chunk, notes);
  const [first] = evidence;
  if (!first) {
    notes.add('event-quote-not-in-text');
    return null;
  }
  notes.add('quote-not-in-text', refused);
  const subject = textField(entry, longestName, 'subject', 'topic', 'object', 'about');
  return {
    category,
    eventTime: timeOf(textField(entry, 40, 'event_time', 'time', 'date', 'due_date', 'when', 'timestamp')),
    narrative: textField(entry, 500, 'narrative', 'summary', 'description', 'event', 'text') ?? first.quote,
    subjectRef: names.ref(subject),
    subject,
    actors: actorsOf(entry, names, notes),
    evidence,
    confidence: shareField(entry, 0.8, 'confidence', 'score'),
  };
}

function evidenceOf(
  entry: Fields,
  finder: QuoteFinder,
  { text, startChar }: ReadingTask['chunk'],
  notes: Notes,
): { readonly evidence: ReadEvent['evidence']; readonly refused: number } {
  const given = listField(
    entry,
    'evidence',
    'evidence_quote',
    'quote',
    'quotes',
    'evidence_quotes',
    'source_quote',
  );
  const places = new Map<number, Place>();
  let refused = 0;
  for (const one of notes.first(given, mostQuotes, 'quotes-too-many')) {
    const quote = isFields(one) ? fieldOf(one, 'quote', 'text', 'evidence', 'span') : one;
    const place = typeof quote === 'string' ? finder.find(quote) : null;
    if (place) places.set(place.start, quoteRange(text, place));
    else refused += 1;
  }
  const evidence = [...places.values()].map(({ start, end }) => ({
    quote: text.slice(start, end),
    startChar: startChar + start,
    endChar: startChar + end,
  }));
  return { evidence, refused };
}

/** Actors without a mention are dropped. */
function actorsOf(entry: Fields, names: Names, notes: Notes): ReadEvent['actors'] {
  const found = new Map<string, ReadEvent['actors'][number]>();
  const given = listField(entry, 'actors', 'actor', 'participants', 'people', 'who');
  for (const one of notes.first(given, mostActors, 'actors-too-many')) {
    const name = isFields(one)
      ? textField(one, longestName, 'name', 'canonical_name', 'actor', 'ref', 'entity', 'person')
      : typeof one === 'string'
        ? one.trim()
        : null;
    const ref = names.ref(name);
    if (ref === null) notes.add('actor-not-mentioned');
    if (ref !== null && !found.has(ref))
      found.set(ref, {
        ref,
        role: (isFields(one) ? readRole(fieldOf(one, 'role', 'type')) : null) ?? 'contributor',
      });
  }
  return [...found.values()];
}

/** A date or timestamp between 1900 and 2200. */
function timeOf(text: string | null): Date | null {
  if (text === null || !/^\d{4}-\d{2}(?:-\d{2})?/.test(text)) return null;
  const date = new Date(text.length === 7 ? `${text}-01` : text);
  const year = date.getUTCFullYear();
  return Number.isNaN(year) || year < 1900 || year >= 2200 ? null : date;
}

class Notes {
  readonly #counts = new Map<DroppedCount['reason'], number>();

  add(reason: DroppedCount['reason'], count = 1): void {
    if (count > 0) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count);
  }

  /** The first entries up to the limit; the rest is counted. */
  first<T>(entries: readonly T[], most: number, reason: DroppedCount['reason']): readonly T[] {
    this.add(reason, entries.length - most);
    return entries.slice(0, most);
  }

  list(): readonly DroppedCount[] {
    return Array.from(this.#counts, ([reason, count]) => ({ reason, count }));
  }
}

/** One line of text, or null. */
function textField(fields: Fields, longest: number, ...keys: readonly string[]): string | null {
  const value = fieldOf(fields, ...keys);
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const isNothing = line === '' || /^(?:null|none|n\/a|unknown|not specified|-)$/i.test(line);
  return isNothing ? null : line.slice(0, longest).toWellFormed();
}

/** A list; a single value becomes a list of one, a missing one an empty list. */
function listField(fields: Fields, ...keys: readonly string[]): readonly unknown[] {
  const value = fieldOf(fields, ...keys);
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null || value === '') return [];
  // {"alice": {…}, "bob": {…}}: the keys are names.
  if (isFields(value) && Object.values(value).every(isFields) && Object.keys(value).length > 0)
    return Object.entries(value).map(([name, one]) => ({ name, ...(one as Fields) }));
  return [value];
}

/** A number from 0 to 1; percentages and words are converted. */
function shareField(fields: Fields, fallback: number, ...keys: readonly string[]): number {
  const value = fieldOf(fields, ...keys);
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
    // ["person"], "B-PER" and "person (engineer)": the first known word decides.
    const first: unknown = Array.isArray(value) ? value[0] : value;
    const text = typeof first === 'string' ? first.slice(0, 60) : '';
    for (const each of [text, ...text.split(/[^\p{L}]+/u)]) {
      const word = plainKey(each);
      const found =
        words.get(word) ?? words.get(word.replace(/s$/, '')) ?? words.get(word.replace(/ies$/, 'y'));
      if (found !== undefined) return found;
    }
    return null;
  };

/** Null for an unknown word. */
const readCategory = known(categories);
export const readType = known(types);
const readRole = known(roles);
